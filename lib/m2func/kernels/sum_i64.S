/* SPDX-License-Identifier: MIT */
/*
 * The sum of integers of 64 bits, as 64 bits that wrap (M2NDP figure 7): each thread adds what it
 * has found to its unit's sum in the scratchpad, and in the end each unit's is added to the result.
 * Whoever comes first takes it, and leaves nothing to the others.
 *
 * Arguments: see share.inc; then: result.
 */
	.include "kernel.inc"
	.include "share.inc"
	uses	x=10, f=0, v=12, scratchpad=48, args=40
	begins	ndp_body0
	vsetvli	x5, x0, e64, m4, ta, ma
	vmv.v.i	v8, 0
	share	3
	blez	x6, 2f
1:	minu	x9, x6, x5
	vsetvli	x0, x9, e64, m4, tu, ma
	vle64.v	v0, (x8)
	vadd.vv	v8, v8, v0
	sub	x6, x6, x7
	sh3add	x8, x7, x8
	bgtz	x6, 1b
	vsetvli	x5, x0, e64, m4, ta, ma
	vmv.s.x	v0, x0
	vredsum.vs v0, v8, v0
	vmv.x.s	x4, v0
	addi	x3, x3, 40
	amoadd.d x0, x4, (x3)
2:	ecall

	begins	ndp_fini
	lui	x3, SCRATCHPAD
	addi	x4, x3, 40
	amoswap.d x5, x0, (x4)
	beqz	x5, 1f
	ld	x4, 32(x3)
	amoadd.d x0, x5, (x4)
1:	ecall
