/* SPDX-License-Identifier: MIT */
/*
 * c[i] = a[i] + b[i] near the data, where the pool region is a, for a compiler without intrinsics:
 * vector instructions as inline assembly, for pieces of 32 bytes.
 */
#include <annex/ndp_kernel.h>

struct args {
	const int32_t *b;
	int32_t *c;
};

ANNEX_KERNEL(18, 0, 2, sizeof(struct args), sizeof(struct args))

ANNEX_KERNEL_BODY(0, piece, offset)
{
	const struct args *args = ANNEX_KERNEL_SCRATCHPAD;
	uint64_t first = offset / sizeof(int32_t);

	__asm__ volatile("vsetivli zero, 8, e32, m1, ta, ma\n\t"
			 "vle32.v v0, (%0)\n\t"
			 "vle32.v v1, (%1)\n\t"
			 "vadd.vv v0, v0, v1\n\t"
			 "vse32.v v0, (%2)"
			 :
			 : "r"(piece), "r"(args->b + first), "r"(args->c + first)
			 : "memory");
}
