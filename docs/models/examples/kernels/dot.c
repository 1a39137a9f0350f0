/* SPDX-License-Identifier: MIT */
/*
 * The dot product of int32 a and b, to be added to *sum: each unit sums in its scratchpad, and the
 * finalizer sums the units. The pool region is a.
 */
#include <stddef.h>
#include <riscv_vector.h>
#include <annex/ndp_kernel.h>

struct scratchpad {
	const int32_t *b;
	uint64_t n;
	int64_t *sum;
	uint64_t piece; /* numbers of a piece: 8 or 16 */
	/* The arguments end here. */
	int64_t partial;
};

ANNEX_KERNEL(18, 0, 20, sizeof(struct scratchpad), offsetof(struct scratchpad, partial))

ANNEX_KERNEL_BODY(0, piece, offset)
{
	struct scratchpad *pad = ANNEX_KERNEL_SCRATCHPAD;
	uint64_t first = offset / sizeof(int32_t), left = pad->n - first;
	const int32_t *a = piece, *b = pad->b + first;
	vint64m1_t sum = __riscv_vmv_s_x_i64m1(0, 1);

	if (left > pad->piece)
		left = pad->piece;
	for (size_t vl; left; left -= vl, a += vl, b += vl) {
		vl = __riscv_vsetvl_e32m2(left);
		vint64m4_t products = __riscv_vwmul_vv_i64m4(__riscv_vle32_v_i32m2(a, vl),
							     __riscv_vle32_v_i32m2(b, vl), vl);
		sum = __riscv_vredsum_vs_i64m4_i64m1(products, sum, vl);
	}
	__atomic_fetch_add(&pad->partial, __riscv_vmv_x_s_i64m1_i64(sum), __ATOMIC_RELAXED);
}

/* Every slot of the unit does this; the first one takes the sum, and the others find nothing. */
ANNEX_KERNEL_FINI(slots, slot)
{
	struct scratchpad *pad = ANNEX_KERNEL_SCRATCHPAD;
	int64_t partial = __atomic_exchange_n(&pad->partial, 0, __ATOMIC_RELAXED);

	if (partial)
		__atomic_fetch_add(pad->sum, partial, __ATOMIC_RELAXED);
}
