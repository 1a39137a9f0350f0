// SPDX-License-Identifier: MIT
/*
 * Traces in memory: adding to one, and checking that it does not contradict itself.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <annex/trace.h>
#include "core/array.h"
#include "core/log.h"
#include "label.h"

/* A trace as it grows; its users see the first member. */
struct build {
	struct annex_trace trace;
	uint32_t cap_tensors, cap_kernels, cap_uses;
	uint64_t bytes, ns;
	bool finished;
};

static const char *const role_names[ANNEX_ROLES] = {
	[ANNEX_ROLE_NONE] = "",
	[ANNEX_ROLE_WEIGHT] = "weight",
	[ANNEX_ROLE_GRADIENT] = "gradient",
	[ANNEX_ROLE_OPTIMIZER] = "optimizer",
	[ANNEX_ROLE_ACTIVATION] = "activation",
	[ANNEX_ROLE_INPUT] = "input",
	[ANNEX_ROLE_WORKSPACE] = "workspace",
};

const char *annex_role_name(unsigned int role)
{
	return role < ANNEX_ROLES ? role_names[role] : "";
}

static int no_memory(void)
{
	return annex_fail(-ENOMEM, "no memory for the trace");
}

/* How many bytes the character at @s has, or 0 if it is not UTF-8 (RFC 3629 section 4). */
static unsigned int utf8_length(const unsigned char *s)
{
	unsigned int n = *s < 0x80 ? 1 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : 4;

	if (n == 1)
		return 1;
	if (*s < 0xc2 || *s > 0xf4 || (*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f) ||
	    (*s == 0xf0 && s[1] < 0x90) || (*s == 0xf4 && s[1] > 0x8f))
		return 0;
	for (unsigned int i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

/* Files are UTF-8: with any other name the trace could be written, but not read again. */
static bool is_utf8(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned int n;

	for (; s && *s; s += n) {
		n = utf8_length(s);
		if (!n)
			return false;
	}
	return true;
}

static bool copy_text(const char *from, char **to)
{
	*to = from ? strdup(from) : NULL;
	return !from || *to;
}

int annex_trace_create(const char *model, const char *device, uint64_t batch,
		       struct annex_trace **trace)
{
	struct build *b;

	*trace = NULL;
	if (!is_utf8(model) || !is_utf8(device))
		return annex_fail(-EINVAL, "the name of the %s is not UTF-8",
				  is_utf8(model) ? "device" : "model");
	if (batch > INT64_MAX)
		return annex_fail(-EINVAL, "a batch of %llu is not a number that files hold",
				  (ull)batch);
	b = calloc(1, sizeof(*b));
	if (!b)
		return no_memory();
	b->trace.batch = batch;
	if (!copy_text(model, &b->trace.model) || !copy_text(device, &b->trace.device)) {
		annex_trace_free(&b->trace);
		return no_memory();
	}
	*trace = &b->trace;
	return 0;
}

void annex_trace_free(struct annex_trace *trace)
{
	if (!trace)
		return;
	for (uint32_t i = 0; i < trace->n_tensors; i++)
		free(trace->tensors[i].name);
	for (uint32_t i = 0; i < trace->n_kernels; i++)
		free(trace->kernels[i].name);
	free(trace->tensors);
	free(trace->kernels);
	free(trace->uses);
	free(trace->model);
	free(trace->device);
	free((struct build *)trace);
}

static int check_tensor(const struct build *b, const struct annex_tensor *t)
{
	uint32_t id = b->trace.n_tensors;

	if (b->finished)
		return annex_fail(-EINVAL, "tensor %u: the trace is finished", id);
	if (id == ANNEX_TRACE_MAX_TENSORS)
		return annex_fail(-E2BIG, "tensor %u: a trace has at most %u tensors", id,
				  ANNEX_TRACE_MAX_TENSORS);
	if (!t->bytes)
		return annex_fail(-EINVAL, "tensor %u: it has 0 bytes", id);
	if (t->bytes > ANNEX_TRACE_MAX_BYTES - b->bytes)
		return annex_fail(-E2BIG,
				  "tensor %u: with its %llu bytes, all tensors have more than %llu",
				  id, (ull)t->bytes, ANNEX_TRACE_MAX_BYTES);
	if (t->role >= ANNEX_ROLES)
		return annex_fail(-EINVAL, "tensor %u: there is no role %u", id, t->role);
	if (!is_utf8(t->name))
		return annex_fail(-EINVAL, "tensor %u: its name is not UTF-8", id);
	return 0;
}

int annex_trace_add_tensor(struct annex_trace *trace, const struct annex_tensor *t)
{
	struct build *b = (struct build *)trace;
	struct annex_tensor *mine;
	int err = check_tensor(b, t);

	if (err)
		return err;
	if (!array_grow(trace->tensors, trace->n_tensors, b->cap_tensors))
		return no_memory();
	mine = &trace->tensors[trace->n_tensors];
	*mine = *t;
	if (t->global)
		mine->birth = mine->death = ANNEX_KERNEL_NONE;
	if (!copy_text(t->name, &mine->name))
		return no_memory();
	b->bytes += t->bytes;
	return (int)trace->n_tensors++;
}

static int check_kernel(const struct build *b, const char *name, uint64_t ns, uint64_t uses)
{
	const struct annex_trace *t = &b->trace;
	char label[LABEL_SIZE];

	if (b->finished)
		return annex_fail(-EINVAL, "kernel %u: the trace is finished", t->n_kernels);
	if (!is_utf8(name))
		return annex_fail(-EINVAL, "kernel %u: its name is not UTF-8", t->n_kernels);
	kernel_label(label, t->n_kernels, name);
	if (t->n_kernels == ANNEX_TRACE_MAX_KERNELS)
		return annex_fail(-E2BIG, "%s: a trace has at most %u kernels", label,
				  ANNEX_TRACE_MAX_KERNELS);
	if (ns > ANNEX_TRACE_MAX_NS - b->ns)
		return annex_fail(-E2BIG, "%s: with its %llu ns, all kernels take more than %llu",
				  label, (ull)ns, ANNEX_TRACE_MAX_NS);
	if (uses > ANNEX_TRACE_MAX_USES - t->n_uses)
		return annex_fail(-E2BIG, "%s: with it, kernels name tensors more than %u times",
				  label, ANNEX_TRACE_MAX_USES);
	return 0;
}

static void append(struct annex_trace *t, const uint32_t *tensors, unsigned int n, uint32_t how)
{
	for (unsigned int i = 0; i < n; i++)
		t->uses[t->n_uses++] = (struct annex_use){tensors[i], how};
}

int annex_trace_add_kernel(struct annex_trace *trace, const char *name, uint64_t ns,
			   const uint32_t *in, unsigned int n_in, const uint32_t *out,
			   unsigned int n_out)
{
	struct build *b = (struct build *)trace;
	struct annex_kernel *mine;
	int err = check_kernel(b, name, ns, (uint64_t)n_in + n_out);

	if (err)
		return err;
	/* One more, which ends the uses of the last one. */
	if (!array_grow(trace->kernels, trace->n_kernels + 1, b->cap_kernels))
		return no_memory();
	for (uint32_t n = b->cap_uses; n <= (uint64_t)trace->n_uses + n_in + n_out; n = b->cap_uses)
		if (!array_grow(trace->uses, n, b->cap_uses))
			return no_memory();
	mine = &trace->kernels[trace->n_kernels];
	*mine = (struct annex_kernel){.ns = ns, .first = trace->n_uses};
	if (!copy_text(name, &mine->name))
		return no_memory();
	append(trace, in, n_in, ANNEX_USE_READ);
	append(trace, out, n_out, ANNEX_USE_WRITE);
	b->ns += ns;
	trace->n_kernels++;
	return 0;
}

int annex_trace_set_fault_ns(struct annex_trace *trace, uint64_t ns)
{
	const struct build *b = (struct build *)trace;
	uint32_t k = trace->n_kernels - 1;
	char label[LABEL_SIZE];

	if (b->finished || !trace->n_kernels)
		return annex_fail(-EINVAL, "a time with page faults, but no kernel to have it");
	kernel_label(label, k, trace->kernels[k].name);
	if (ns < trace->kernels[k].ns)
		return annex_fail(-EINVAL, "%s: %llu ns with page faults, but %llu ns without",
				  label, (ull)ns, (ull)trace->kernels[k].ns);
	if (ns > ANNEX_TRACE_MAX_NS)
		return annex_fail(-E2BIG, "%s: %llu ns with page faults are more than %llu", label,
				  (ull)ns, ANNEX_TRACE_MAX_NS);
	trace->kernels[k].fault_ns = ns;
	return 0;
}

/* Uses of a tensor: its first and last kernel, and the index of its last use. */
struct seen {
	uint32_t first, last, use;
};

/* Make one use of all uses of a tensor by a kernel; the rest moves up to @at. */
static int merge_kernel(struct annex_trace *t, uint32_t k, uint32_t end, struct seen *seen,
			uint32_t *at)
{
	struct annex_kernel *kernel = &t->kernels[k];
	uint32_t from = kernel->first;
	char label[LABEL_SIZE];

	kernel->first = *at;
	for (uint32_t i = from; i < end; i++) {
		uint32_t id = t->uses[i].tensor;

		if (id >= t->n_tensors)
			return annex_fail(-EINVAL, "%s: tensor %u does not exist (there are %u)",
					  kernel_label(label, k, kernel->name), id, t->n_tensors);
		if (seen[id].first == ANNEX_KERNEL_NONE) {
			seen[id].first = k;
		} else if (seen[id].last == k) {
			t->uses[seen[id].use].how |= t->uses[i].how;
			continue;
		}
		seen[id].last = k;
		seen[id].use = *at;
		t->uses[(*at)++] = t->uses[i];
	}
	return 0;
}

static int merge_uses(struct annex_trace *t, struct seen *seen)
{
	uint32_t at = 0;
	int err = 0;

	t->kernels[t->n_kernels] = (struct annex_kernel){.first = t->n_uses};
	for (uint32_t k = 0; k < t->n_kernels && !err; k++)
		err = merge_kernel(t, k, t->kernels[k + 1].first, seen, &at);
	t->n_uses = t->kernels[t->n_kernels].first = at;
	return err;
}

/* Whether birth and death of a tensor that is not global fit each other and its uses. */
static int check_life(const struct annex_trace *t, uint32_t id, const struct seen *seen)
{
	uint32_t birth = t->tensors[id].birth, death = t->tensors[id].death;
	bool born = birth != ANNEX_KERNEL_NONE, dies = death != ANNEX_KERNEL_NONE;
	char label[LABEL_SIZE];

	if ((born && birth >= t->n_kernels) || (dies && death >= t->n_kernels))
		return annex_fail(-EINVAL, "tensor %u: %s at kernel %u, but there are %u kernels",
				  id, born && birth >= t->n_kernels ? "born" : "dies",
				  born && birth >= t->n_kernels ? birth : death, t->n_kernels);
	if (born && dies && death < birth)
		return annex_fail(-EINVAL,
				  "tensor %u: dies at kernel %u before it is born at kernel %u", id,
				  death, birth);
	if (seen->first == ANNEX_KERNEL_NONE)
		return born == dies
			       ? 0
			       : annex_fail(-EINVAL, "tensor %u: %s, but no kernel uses it", id,
					    born ? "born and never dies"
						 : "dies and is never born");
	if (born && seen->first < birth)
		return annex_fail(
			-EINVAL, "tensor %u: used by %s before its birth at kernel %u", id,
			kernel_label(label, seen->first, t->kernels[seen->first].name), birth);
	if (dies && seen->last > death)
		return annex_fail(-EINVAL, "tensor %u: used by %s after its death at kernel %u", id,
				  kernel_label(label, seen->last, t->kernels[seen->last].name),
				  death);
	return 0;
}

/* A birth or death that follows from the uses is left out, so that equal traces look equal. */
static void drop_implied(struct annex_tensor *tensor, const struct seen *seen)
{
	if (tensor->birth == seen->first)
		tensor->birth = ANNEX_KERNEL_NONE;
	if (tensor->death == seen->last)
		tensor->death = ANNEX_KERNEL_NONE;
}

int annex_trace_finish(struct annex_trace *trace)
{
	struct build *b = (struct build *)trace;
	struct seen *seen;
	int err;

	if (b->finished)
		return annex_fail(-EINVAL, "the trace is finished already");
	if (!trace->n_kernels)
		return annex_fail(-EINVAL, "the trace has no kernels");
	seen = malloc((trace->n_tensors + 1ull) * sizeof(*seen));
	if (!seen)
		return no_memory();
	for (uint32_t i = 0; i < trace->n_tensors; i++)
		seen[i].first = seen[i].last = ANNEX_KERNEL_NONE;
	err = merge_uses(trace, seen);
	for (uint32_t i = 0; i < trace->n_tensors && !err; i++) {
		err = check_life(trace, i, &seen[i]);
		drop_implied(&trace->tensors[i], &seen[i]);
	}
	free(seen);
	b->finished = !err;
	return err;
}

/* FNV-1a, the bytes of each number from the lowest up. */
static uint64_t mix(uint64_t hash, uint64_t n)
{
	for (unsigned int i = 0; i < 8; i++)
		hash = (hash ^ (n >> 8 * i & 0xff)) * 0x100000001b3ull;
	return hash;
}

uint64_t annex_trace_hash(const struct annex_trace *trace)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	hash = mix(hash, trace->n_tensors);
	for (uint32_t i = 0; i < trace->n_tensors; i++) {
		const struct annex_tensor *t = &trace->tensors[i];

		hash = mix(hash, t->bytes);
		hash = mix(hash, (uint64_t)t->birth << 32 | t->death);
		hash = mix(hash, t->global);
	}
	hash = mix(hash, trace->n_kernels);
	for (uint32_t k = 0; k < trace->n_kernels; k++) {
		hash = mix(hash, trace->kernels[k].ns);
		hash = mix(hash, trace->kernels[k + 1].first);
	}
	for (uint32_t i = 0; i < trace->n_uses; i++)
		hash = mix(hash, (uint64_t)trace->uses[i].tensor << 32 | trace->uses[i].how);
	return hash;
}
