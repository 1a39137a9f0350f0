// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "plan/trace/label.h"
#include "recompute.h"

#define NAME 80u /* bytes of a name */

/*
 * struct builder - State of recompute_trace().
 * @list: the tensors, in the order in which their kernels run again.
 * @of: of each tensor, its place in @list; NONE: it is kept.
 * @in: room for the tensors that a kernel reads, and writes.
 */
struct builder {
	const struct annex_trace *from;
	struct annex_trace *to;
	struct again *list;
	uint32_t n, *of;
	uint32_t *in, *out;
};

static int in_order(const void *a, const void *b)
{
	const struct again *x = a, *y = b;

	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return x->kernel != y->kernel ? (x->kernel < y->kernel ? -1 : 1)
				      : (x->tensor < y->tensor ? -1 : x->tensor > y->tensor);
}

/* The new number of kernel @k: kernels that run again before it come first. */
static uint32_t moved(const struct builder *b, uint32_t k)
{
	uint32_t low = 0, high = b->n;

	if (k == ANNEX_KERNEL_NONE)
		return k;
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (b->list[mid].to <= k)
			low = mid + 1;
		else
			high = mid;
	}
	return k + low;
}

static char *again_name(char *text, const char *name)
{
	if (!name)
		return NULL;
	snprintf(text, NAME, "%.*s again", whole_chars(name, NAME - 7), name);
	return text;
}

static int add_tensors(struct builder *b)
{
	char text[NAME];
	int rc = 0;

	for (uint32_t i = 0; i < b->from->n_tensors && rc >= 0; i++) {
		struct annex_tensor t = b->from->tensors[i];

		t.birth = moved(b, t.birth);
		t.death = b->of[i] == NONE ? moved(b, t.death) : ANNEX_KERNEL_NONE;
		rc = annex_trace_add_tensor(b->to, &t);
	}
	for (uint32_t k = 0; k < b->n && rc >= 0; k++) {
		struct annex_tensor t = b->from->tensors[b->list[k].tensor];

		t.name = again_name(text, t.name);
		t.birth = ANNEX_KERNEL_NONE;
		t.death = moved(b, t.death);
		rc = annex_trace_add_tensor(b->to, &t);
	}
	return rc < 0 ? rc : 0;
}

/* The id that kernel @k knows a tensor by. */
static uint32_t id_at(const struct builder *b, uint32_t tensor, uint32_t k)
{
	uint32_t at = b->of[tensor];

	return at != NONE && b->list[at].to <= k ? b->from->n_tensors + at : tensor;
}

/* Another result of a kernel that runs again, which nothing uses. */
static int add_unused(struct builder *b, uint32_t tensor, uint32_t *id)
{
	struct annex_tensor t = b->from->tensors[tensor];
	char text[NAME];
	int rc;

	t.name = again_name(text, t.name);
	t.birth = t.death = ANNEX_KERNEL_NONE;
	rc = annex_trace_add_tensor(b->to, &t);
	if (rc < 0)
		return rc;
	*id = (uint32_t)rc;
	return 0;
}

/* Kernel @k; @a: it runs again. */
static int add_kernel(struct builder *b, uint32_t k, const struct again *a)
{
	const struct annex_kernel *kernel = &b->from->kernels[k];
	uint32_t n, n_in = 0, n_out = 0;
	const struct annex_use *use = uses_of(b->from, k, &n);
	char text[NAME];
	int err = 0;

	for (; n-- && !err; use++) {
		uint32_t id = id_at(b, use->tensor, a ? a->to : k);

		if (use->how & ANNEX_USE_READ)
			b->in[n_in++] = id;
		if (!(use->how & ANNEX_USE_WRITE))
			continue;
		if (a && use->tensor != a->tensor)
			err = add_unused(b, use->tensor, &id);
		b->out[n_out++] = id;
	}
	if (!err)
		err = annex_trace_add_kernel(b->to,
					     a ? again_name(text, kernel->name) : kernel->name,
					     kernel->ns, b->in, n_in, b->out, n_out);
	if (!err && kernel->fault_ns)
		err = annex_trace_set_fault_ns(b->to, kernel->fault_ns);
	return err;
}

static int build(struct builder *b)
{
	uint32_t next = 0;
	int err = annex_trace_create(b->from->model, b->from->device, b->from->batch, &b->to);

	if (err)
		return err;
	err = add_tensors(b);
	for (uint32_t k = 0; k < b->from->n_kernels && !err; k++) {
		for (; next < b->n && b->list[next].to == k && !err; next++)
			err = add_kernel(b, b->list[next].kernel, &b->list[next]);
		if (!err)
			err = add_kernel(b, k, NULL);
	}
	return err ? err : annex_trace_finish(b->to);
}

int recompute_trace(const struct annex_vitality *v, const struct again *list, uint32_t n,
		    struct annex_trace **trace)
{
	const struct annex_trace *t = v->trace;
	struct builder b = {.from = t, .n = n};
	int err = -ENOMEM;

	b.list = malloc(((size_t)n + 1) * sizeof(*b.list));
	b.of = malloc(((size_t)t->n_tensors + 1) * sizeof(*b.of));
	b.in = malloc(((size_t)t->n_tensors + 1) * sizeof(*b.in));
	b.out = malloc(((size_t)t->n_tensors + 1) * sizeof(*b.out));
	if (b.list && b.of && b.in && b.out) {
		memcpy(b.list, list, n * sizeof(*list));
		qsort(b.list, n, sizeof(*b.list), in_order);
		memset(b.of, 0xff, ((size_t)t->n_tensors + 1) * sizeof(*b.of));
		for (uint32_t i = 0; i < n; i++)
			b.of[b.list[i].tensor] = i;
		err = build(&b);
	}
	free(b.list);
	free(b.of);
	free(b.in);
	free(b.out);
	if (err)
		annex_trace_free(b.to);
	else
		*trace = b.to;
	return err;
}
