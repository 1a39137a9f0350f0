/* SPDX-License-Identifier: MIT */
/*
 * Set bytes to a value. See share.inc.
 *
 * Further argument: value.
 */
	.include "kernel.inc"
	.include "share.inc"
	uses	x=10, f=0, v=8, scratchpad=40, args=40
	begins	ndp_body0
	vsetvli	x5, x0, e8, m8, ta, ma
	share	0
	ld	x9, 32(x3)
	vmv.v.x	v0, x9
	blt	x6, x5, 2f
1:	vse8.v	v0, (x8)
	add	x8, x8, x7
	sub	x6, x6, x7
	bge	x6, x5, 1b
2:	blez	x6, 3f
	vsetvli	x0, x6, e8, m8, ta, ma
	vse8.v	v0, (x8)
3:	ecall
