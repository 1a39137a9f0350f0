/* SPDX-License-Identifier: MIT */
/*
 * The sum of integers of 32 bits, as 64 bits that wrap (M2NDP figure 7): each thread adds its sum
 * to its unit's sum in the scratchpad, and in the end each unit's sum is added to the result. The
 * first thread of the finalizer takes it and leaves 0 for the others.
 *
 * Arguments: see share.inc; then: result.
 */
	.include "kernel.inc"
	.include "share.inc"
	.include "sum.inc"
	uses	x=10, f=0, v=16, scratchpad=48, args=40
	begins	ndp_body0
	vsetvli	x5, x0, e64, m8, ta, ma
	vmv.v.i	v8, 0
	vsetvli	x5, x0, e32, m4, ta, ma
	share	2
	blez	x6, 2f
1:	minu	x9, x6, x5
	vsetvli	x0, x9, e32, m4, tu, ma
	vle32.v	v0, (x8)
	vwadd.wv v8, v8, v0
	sub	x6, x6, x7
	sh2add	x8, x7, x8
	bgtz	x6, 1b
	vsetvli	x5, x0, e64, m8, ta, ma
	sums_up
