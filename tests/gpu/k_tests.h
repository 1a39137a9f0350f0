/* SPDX-License-Identifier: MIT */
/*
 * Kernels of the device tests: threads carry out the operations of a list and store each result.
 */
#ifndef ANNEX_TESTS_GPU_K_TESTS_H
#define ANNEX_TESTS_GPU_K_TESTS_H

#include "tools/gpu/k_lines.h"

#define TEST_KERNELS(X)                                                                            \
	X(ops, ops, 2)                                                                             \
	X(tickets, ops, 2)                                                                         \
	X(stamp, stamp, 2)

enum test_kernel {
	TEST_KERNEL_BASE = GPU_KERNEL_END - 1,
#define X(name, args, blocks) TEST_KERNEL_##name,
	TEST_KERNELS(X)
#undef X
};

enum test_kind { TEST_GET, TEST_SET, TEST_ADD, TEST_TICKET, TEST_PREFETCH, TEST_SPAN, TEST_KINDS };

/*
 * struct test_op - An operation on element @i with @value: set it, or add. Afterwards @value is the
 * element read (before an addition; of a span, its last one), and @err the errno.
 */
struct test_op {
	uint64_t i;
	uint64_t value;
	uint32_t kind;
	int32_t err;
};

struct gpu_args_ops {
	struct annex_gpu_array a; /* elements of 4 or 8 bytes */
	struct test_op *ops;
	uint64_t n;
};

/* Words of pattern @was, or (0) zeroes, become words of pattern @is. */
struct gpu_args_stamp {
	uint64_t *words;
	uint64_t count;
	uint64_t was, is;
	struct gpu_result *r;
};

static inline ANNEX_HD int test_add(const struct annex_gpu_array *a, struct test_op *op)
{
	uint32_t old = 0;
	int err;

	if (a->elem_shift == 3)
		return annex_gpu_add64(a, op->i, op->value, &op->value);
	err = annex_gpu_add32(a, op->i, (uint32_t)op->value, &old);
	op->value = old;
	return err;
}

/* The last element up to the end of the line, through a reference that is held. */
static inline ANNEX_HD int test_hold(const struct annex_gpu_array *a, uint32_t lanes,
				     struct test_op *op)
{
	struct annex_gpu_span s;
	int err = annex_gpu_span(a, lanes, op->i, 0, 0, &s);

	if (err)
		return err;
	op->value = a->elem_shift == 3 ? ((const uint64_t *)s.data)[s.count - 1]
				       : ((const uint32_t *)s.data)[s.count - 1];
	annex_gpu_span_end(a, &s);
	return 0;
}

/*
 * A line at a time, and all lanes that want it together: lanes that are done wait for the others of
 * their warp, and must hold nothing meanwhile.
 */
static inline ANNEX_HD int test_span(const struct annex_gpu_array *a, struct test_op *op)
{
	uint64_t line = (a->base + (op->i << a->elem_shift)) >> a->line_shift;
	uint32_t left = annex_warp_active();
	bool done = false;
	int err = 0;

	while (!done) {
		uint64_t next = annex_warp_shfl(left, line, annex_warp_first(left));
		uint32_t group = annex_warp_ballot(left, line == next);

		done = line == next;
		if (done)
			err = test_hold(a, group, op);
		annex_warp_sync(left);
		left &= ~group;
	}
	return err;
}

static inline ANNEX_HD int test_ticket(const struct annex_gpu_array *a, struct test_op *op)
{
	struct annex_gpu_ticket t;
	int err = annex_gpu_start(a, op->i, &t);

	op->value = 0;
	return err ? err : annex_gpu_finish(a, &t, &op->value);
}

/* One operation a thread at a time; what the lanes of a warp do at once differs. */
static inline ANNEX_HD void gpu_body_ops(const struct gpu_args_ops *a, struct gpu_thread t)
{
	for (uint64_t k = t.id; k < a->n; k += t.count) {
		struct test_op op = a->ops[k];

		switch (op.kind) {
		case TEST_GET:
			op.value = 0;
			op.err = annex_gpu_get(&a->a, op.i, &op.value);
			break;
		case TEST_SET:
			op.err = annex_gpu_set(&a->a, op.i, &op.value);
			break;
		case TEST_ADD:
			op.err = test_add(&a->a, &op);
			break;
		case TEST_TICKET:
			op.err = test_ticket(&a->a, &op);
			break;
		case TEST_PREFETCH:
			op.err = annex_gpu_prefetch(&a->a, op.i);
			break;
		default:
			op.err = test_span(&a->a, &op);
			break;
		}
		a->ops[k] = op;
	}
}

static inline ANNEX_HD void gpu_body_stamp(const struct gpu_args_stamp *a, struct gpu_thread t)
{
	uint64_t wrong = 0, done = 0;

	for (uint64_t k = t.id; k < a->count; k += t.count, done++) {
		wrong += a->words[k] != (a->was ? gpu_pattern(a->was, k) : 0);
		a->words[k] = gpu_pattern(a->is, k);
	}
	/* Relaxed: read when the kernel has ended. */
	annex_local_add(&a->r->done, done, ANNEX_RELAXED);
	annex_local_add(&a->r->wrong, wrong, ANNEX_RELAXED);
}

#define TEST_OPEN 4u /* tickets that a thread has at once */

/* Reads begun early and collected later, in another order. */
static inline ANNEX_HD void gpu_body_tickets(const struct gpu_args_ops *a, struct gpu_thread t)
{
	for (uint64_t k = t.id; k < a->n; k += t.count * TEST_OPEN) {
		struct annex_gpu_ticket open[TEST_OPEN];

		for (uint32_t j = 0; j < TEST_OPEN; j++) {
			uint64_t at = k + j * t.count;

			if (at < a->n)
				a->ops[at].err = annex_gpu_start(&a->a, a->ops[at].i, &open[j]);
		}
		for (uint32_t j = TEST_OPEN; j--;) {
			uint64_t at = k + j * t.count, value = 0;

			if (at >= a->n || a->ops[at].err)
				continue;
			a->ops[at].err = annex_gpu_finish(&a->a, &open[j], &value);
			a->ops[at].value = value;
		}
	}
}

#endif
