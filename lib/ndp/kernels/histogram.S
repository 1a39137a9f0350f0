/* SPDX-License-Identifier: MIT */
/*
 * Number of values in each bin: bin i begins at low + (i << shift). Each unit counts in its
 * scratchpad, with an additional bin for values outside of all bins. In the end threads draw
 * numbers of bins until there are no more, and add their unit's counts to the result.
 *
 * Arguments: see share.inc; then: low, shift, bins, counts (64 bits each).
 * Scratchpad after them: the next number to draw; counts of 32 bits, of up to 4096 bins.
 */
	.include "kernel.inc"
	.include "share.inc"
	uses	x=14, f=0, v=4, scratchpad=16464, args=64
	begins	ndp_body0
	vsetvli	x5, x0, e32, m1, ta, ma
	share	2
	blez	x6, 3f
	vid.v	v2
	ld	x10, 32(x3)
	ld	x11, 40(x3)
	ld	x12, 48(x3)
	addi	x3, x3, 72
	vmv.v.x	v3, x12
1:	minu	x9, x6, x5
	vsetvli	x0, x9, e32, m1, ta, ma
	vle32.v	v1, (x8)
	vsetvli	x0, x5, e32, m1, ta, ma
	vmsltu.vx v0, v2, x9
	vsub.vx	v1, v1, x10
	vsrl.vx	v1, v1, x11
	vminu.vx v1, v1, x12
	vmerge.vvm v1, v3, v1, v0
	vsll.vi	v1, v1, 2
	vadd.vx	v1, v1, x3
	mv	x9, x5
	li	x4, 1
2:	vmv.x.s	x13, v1
	vslide1down.vx v1, v1, x0
	amoadd.w x0, x4, (x13)
	vmv.x.s	x13, v1
	vslide1down.vx v1, v1, x0
	amoadd.w x0, x4, (x13)
	vmv.x.s	x13, v1
	vslide1down.vx v1, v1, x0
	amoadd.w x0, x4, (x13)
	vmv.x.s	x13, v1
	vslide1down.vx v1, v1, x0
	amoadd.w x0, x4, (x13)
	addi	x9, x9, -4
	bnez	x9, 2b
	sub	x6, x6, x7
	sh2add	x8, x7, x8
	bgtz	x6, 1b
3:	ecall

	begins	ndp_fini
	lui	x3, SCRATCHPAD
	ld	x4, 48(x3)
	ld	x5, 56(x3)
	addi	x6, x3, 64
	li	x7, 1
1:	amoadd.d x8, x7, (x6)
	bgeu	x8, x4, 2f
	sh2add	x9, x8, x3
	lwu	x9, 72(x9)
	sh3add	x8, x8, x5
	amoadd.d x0, x9, (x8)
	j	1b
2:	ecall
