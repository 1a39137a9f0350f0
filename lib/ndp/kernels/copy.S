/* SPDX-License-Identifier: MIT */
/*
 * Copy bytes between arrays that do not overlap. See share.inc.
 *
 * Further argument: to.
 */
	.include "kernel.inc"
	.include "share.inc"
	uses	x=10, f=0, v=8, scratchpad=40, args=40
	begins	ndp_body0
	vsetvli	x5, x0, e8, m8, ta, ma
	share	0
	mul	x4, x4, x5
	ld	x9, 32(x3)
	add	x9, x9, x4
	blt	x6, x5, 2f
1:	vle8.v	v0, (x8)
	add	x8, x8, x7
	vse8.v	v0, (x9)
	add	x9, x9, x7
	sub	x6, x6, x7
	bge	x6, x5, 1b
2:	blez	x6, 3f
	vsetvli	x0, x6, e8, m8, ta, ma
	vle8.v	v0, (x8)
	vse8.v	v0, (x9)
3:	ecall
