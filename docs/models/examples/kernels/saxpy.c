/* SPDX-License-Identifier: MIT */
/* y = a * x + y near the data: y is the pool region, so a micro-thread has a piece of it. */
#include <stddef.h>
#include <riscv_vector.h>
#include <annex/ndp_kernel.h>

struct args {
	const float *x;
	uint64_t n;
	uint32_t piece; /* floats of a piece: 8 or 16 */
	float a;
};

ANNEX_KERNEL(18, 16, 12, sizeof(struct args), sizeof(struct args))

ANNEX_KERNEL_BODY(0, piece, offset)
{
	const struct args *args = ANNEX_KERNEL_SCRATCHPAD;
	uint64_t first = offset / sizeof(float), left = args->n - first;
	const float *x = args->x + first;
	float *y = piece;

	if (left > args->piece)
		left = args->piece;
	for (size_t vl; left; left -= vl, x += vl, y += vl) {
		vl = __riscv_vsetvl_e32m2(left);
		__riscv_vse32_v_f32m2(y,
				      __riscv_vfmacc_vf_f32m2(__riscv_vle32_v_f32m2(y, vl), args->a,
							      __riscv_vle32_v_f32m2(x, vl), vl),
				      vl);
	}
}
