// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/array.h"
#include "core/log.h"
#include "log.h"

#define STRIKES 3 /* consecutive iterations with another time that change a kernel's usual time */

void annex_log_clear(struct iteration_log *log)
{
	for (uint32_t i = 0; i < log->n_kernels; i++)
		free(log->kernels[i].name);
	free(log->tensors);
	free(log->uses);
	free(log->kernels);
	free(log->slots);
	memset(log, 0, sizeof(*log));
}

/* The slot of a tensor's number, or the free slot for it. */
static uint32_t *slot_of(const struct iteration_log *log, uint64_t serial)
{
	uint32_t i = (uint32_t)(serial * 0x9e3779b97f4a7c15ull >> 32);

	for (;; i++) {
		uint32_t *slot = &log->slots[i & (log->slot_room - 1)];

		if (!*slot || log->tensors[*slot - 1].serial == serial)
			return slot;
	}
}

/* Keep at least twice as many slots as tensors. */
static int grow_slots(struct iteration_log *log)
{
	uint32_t room = log->slot_room ? 2 * log->slot_room : 256;
	uint32_t *slots;

	if (log->n_tensors < log->slot_room / 2)
		return 0;
	slots = calloc(room, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(log->slots);
	log->slots = slots;
	log->slot_room = room;
	for (uint32_t i = 0; i < log->n_tensors; i++)
		*slot_of(log, log->tensors[i].serial) = i + 1;
	return 0;
}

int64_t annex_log_tensor(struct iteration_log *log, const struct log_tensor *t)
{
	uint32_t *slot;

	if (grow_slots(log) || !array_grow(log->tensors, log->n_tensors, log->tensor_room))
		return -ENOMEM;
	slot = slot_of(log, t->serial);
	if (!*slot) {
		log->tensors[log->n_tensors] = *t;
		*slot = ++log->n_tensors;
	}
	return *slot - 1;
}

int annex_log_kernel(struct iteration_log *log, const char *name)
{
	struct log_kernel *k;

	if (!array_grow(log->kernels, log->n_kernels, log->kernel_room))
		return -ENOMEM;
	k = &log->kernels[log->n_kernels];
	*k = (struct log_kernel){.name = strdup(name ? name : ""), .first = log->n_uses};
	if (!k->name)
		return -ENOMEM;
	log->n_kernels++;
	log->open = true;
	return 0;
}

int annex_log_use(struct iteration_log *log, uint32_t tensor, uint32_t how)
{
	for (uint32_t i = log->kernels[log->n_kernels - 1].first; i < log->n_uses; i++)
		if (log->uses[i].tensor == tensor) {
			log->uses[i].how |= how;
			return 0;
		}
	if (!array_grow(log->uses, log->n_uses, log->use_room))
		return -ENOMEM;
	log->uses[log->n_uses++] = (struct log_use){tensor, how};
	return 0;
}

void annex_log_drop(struct iteration_log *log, uint32_t tensor)
{
	uint32_t i = log->kernels[log->n_kernels - 1].first;

	while (i < log->n_uses && log->uses[i].tensor != tensor)
		i++;
	if (i == log->n_uses)
		return;
	log->n_uses--;
	memmove(&log->uses[i], &log->uses[i + 1], (log->n_uses - i) * sizeof(*log->uses));
}

static uint32_t uses_end(const struct iteration_log *log, uint32_t k)
{
	return k + 1 < log->n_kernels ? log->kernels[k + 1].first : log->n_uses;
}

/* @open: the use @x may still get more bits. */
static bool use_alike(const struct iteration_log *a, const struct log_use *x,
		      const struct iteration_log *b, const struct log_use *y, bool open)
{
	const struct log_tensor *t = &a->tensors[x->tensor], *u = &b->tensors[y->tensor];

	return x->tensor == y->tensor && (open ? !(x->how & ~y->how) : x->how == y->how) &&
	       t->bytes == u->bytes && t->global == u->global;
}

bool annex_log_alike(const struct iteration_log *a, const struct iteration_log *b, uint32_t k)
{
	uint32_t n, from_a, from_b, n_b;
	bool open = a->open && k + 1 == a->n_kernels;

	if (k >= a->n_kernels || k >= b->n_kernels)
		return false;
	from_a = a->kernels[k].first;
	from_b = b->kernels[k].first;
	n = uses_end(a, k) - from_a;
	n_b = uses_end(b, k) - from_b;
	if (open ? n > n_b : n != n_b)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!use_alike(a, &a->uses[from_a + i], b, &b->uses[from_b + i], open))
			return false;
	return true;
}

bool annex_log_same(const struct iteration_log *a, const struct iteration_log *b)
{
	if (a->n_kernels != b->n_kernels)
		return false;
	for (uint32_t k = 0; k < a->n_kernels; k++)
		if (!annex_log_alike(a, b, k))
			return false;
	return true;
}

static void follow(struct log_kernel *k, const struct log_kernel *before, double drift)
{
	double was = (double)before->usual, is = (double)k->ns;
	bool longer = is > was * drift, shorter = was > is * drift;
	int sign = longer ? 1 : -1;

	k->usual = before->usual;
	k->seen = 2;
	/* Of the first two times, the smaller one was disturbed less. */
	if (before->seen < 2 && is < was)
		k->usual = k->ns;
	if (before->seen < 2 || (!longer && !shorter))
		return;
	k->strikes = (int8_t)(sign * before->strikes > 0 ? before->strikes + sign : sign);
	k->other = k->ns;
	if (abs(k->strikes) > 1 && longer == (before->other < k->ns))
		k->other = before->other;
	if (abs(k->strikes) < STRIKES)
		return;
	k->usual = k->other;
	k->strikes = 0;
}

void annex_log_follow(struct iteration_log *log, const struct iteration_log *before, double drift)
{
	for (uint32_t i = 0; i < log->n_kernels; i++) {
		struct log_kernel *k = &log->kernels[i];

		k->usual = k->ns;
		k->seen = 1;
		if (before)
			follow(k, &before->kernels[i], drift);
	}
}

static void *copy_of(const void *from, size_t bytes)
{
	void *to = malloc(bytes + 1);

	if (to && bytes)
		memcpy(to, from, bytes);
	return to;
}

int annex_log_copy(struct iteration_log *to, const struct iteration_log *from)
{
	uint32_t n = 0;

	*to = (struct iteration_log){.n_tensors = from->n_tensors,
				     .tensor_room = from->n_tensors,
				     .n_uses = from->n_uses,
				     .use_room = from->n_uses};
	to->tensors = copy_of(from->tensors, from->n_tensors * sizeof(*to->tensors));
	to->uses = copy_of(from->uses, from->n_uses * sizeof(*to->uses));
	to->kernels = copy_of(from->kernels, from->n_kernels * sizeof(*to->kernels));
	while (to->kernels && n < from->n_kernels &&
	       (to->kernels[n].name = strdup(from->kernels[n].name)))
		n++;
	to->n_kernels = to->kernel_room = n;
	if (to->tensors && to->uses && to->kernels && n == from->n_kernels)
		return 0;
	annex_log_clear(to);
	return annex_fail(-ENOMEM, "exec: no memory for a record");
}

static int add_traced(struct iteration_log *to, const struct annex_trace *trace, uint32_t k)
{
	int err = annex_log_kernel(to, trace->kernels[k].name);

	if (err)
		return err;
	to->kernels[k].usual = to->kernels[k].ns = trace->kernels[k].ns;
	to->kernels[k].seen = 2;
	for (uint32_t i = trace->kernels[k].first; i < trace->kernels[k + 1].first && !err; i++)
		err = annex_log_use(to, trace->uses[i].tensor, trace->uses[i].how);
	return err;
}

int annex_log_from_trace(struct iteration_log *to, const struct annex_trace *trace)
{
	int err = 0;

	memset(to, 0, sizeof(*to));
	for (uint32_t i = 0; i < trace->n_tensors && !err; i++) {
		const struct annex_tensor *t = &trace->tensors[i];
		const struct log_tensor tensor = {.serial = i + 1,
						  .bytes = t->bytes,
						  .any = !t->global,
						  .global = t->global,
						  .stays = t->death != ANNEX_KERNEL_NONE};

		err = annex_log_tensor(to, &tensor) < 0 ? -ENOMEM : 0;
	}
	for (uint32_t k = 0; k < trace->n_kernels && !err; k++)
		err = add_traced(to, trace, k);
	to->open = false;
	if (err)
		annex_log_clear(to);
	return err ? annex_fail(err, "exec: no memory for a record") : 0;
}

static int add_kernel(const struct iteration_log *log, uint32_t k, bool usual,
		      struct annex_trace *trace)
{
	uint32_t first = log->kernels[k].first, end = uses_end(log, k), n_in = 0, n_out = 0;
	uint32_t *ids = malloc(2 * (end - first + 1) * sizeof(*ids));
	uint32_t *in = ids, *out = ids + (end - first + 1);
	int err;

	if (!ids)
		return -ENOMEM;
	for (uint32_t i = first; i < end; i++) {
		if (log->uses[i].how & ANNEX_USE_READ)
			in[n_in++] = log->uses[i].tensor;
		if (log->uses[i].how & ANNEX_USE_WRITE)
			out[n_out++] = log->uses[i].tensor;
	}
	err = annex_trace_add_kernel(trace, log->kernels[k].name,
				     usual ? log->kernels[k].usual : log->kernels[k].ns, in, n_in,
				     out, n_out);
	free(ids);
	return err;
}

int annex_log_trace(const struct iteration_log *log, bool usual, struct annex_trace **out)
{
	struct annex_trace *trace;
	int err = annex_trace_create("recorded", "device tier", 0, &trace);

	if (err)
		return err;
	for (uint32_t i = 0; i < log->n_tensors && !err; i++) {
		struct annex_tensor t = {.bytes = log->tensors[i].bytes,
					 .birth = ANNEX_KERNEL_NONE,
					 .death = ANNEX_KERNEL_NONE,
					 .global = log->tensors[i].global};
		int id;

		if (log->tensors[i].stays)
			t.death = log->n_kernels - 1;
		id = annex_trace_add_tensor(trace, &t);
		err = id < 0 ? id : 0;
	}
	for (uint32_t k = 0; k < log->n_kernels && !err; k++)
		err = add_kernel(log, k, usual, trace);
	if (!err)
		err = annex_trace_finish(trace);
	if (err)
		annex_trace_free(trace);
	else
		*out = trace;
	return err;
}
