/* SPDX-License-Identifier: MIT */
/*
 * Layer normalization of each row: (x - mean) / sqrt(variance + epsilon) * gamma + beta. The
 * variance is computed from the differences to the mean, in a second pass. See rows.inc.
 *
 * Further arguments: gamma, beta, epsilon (a float).
 */
	.include "kernel.inc"
	.include "rows.inc"

/* f0: the sum of v4, divided by the number of columns in f1. v0 is overwritten. */
	.macro	mean
	vsetvli	x9, x0, e32, m4, ta, ma
	vmv.s.x	v0, x0
	vfredusum.vs v0, v4, v0
	vfmv.f.s f0, v0
	fdiv.s	f0, f0, f1
	.endm

	uses	x=13, f=4, v=12, scratchpad=72, args=72
	begins	ndp_body0
	rows
	fcvt.s.lu f1, x7

1:	mv	x8, x5
	mv	x10, x7
	vsetvli	x9, x0, e32, m4, ta, ma
	vmv.v.i	v4, 0
2:	vsetvli	x9, x10, e32, m4, tu, ma
	vle32.v	v0, (x8)
	vfadd.vv v4, v4, v0
	sub	x10, x10, x9
	sh2add	x8, x9, x8
	bnez	x10, 2b
	mean
	fmv.s	f2, f0

	mv	x8, x5
	mv	x10, x7
	vmv.v.i	v4, 0
3:	vsetvli	x9, x10, e32, m4, tu, ma
	vle32.v	v0, (x8)
	vfsub.vf v0, v0, f2
	vfmacc.vv v4, v0, v0
	sub	x10, x10, x9
	sh2add	x8, x9, x8
	bnez	x10, 3b
	mean
	flw	f3, 64(x3)
	fadd.s	f0, f0, f3
	fsqrt.s	f0, f0

	mv	x10, x7
	ld	x11, 48(x3)
	ld	x12, 56(x3)
4:	vsetvli	x9, x10, e32, m4, ta, ma
	vle32.v	v0, (x5)
	vle32.v	v4, (x11)
	vle32.v	v8, (x12)
	vfsub.vf v0, v0, f2
	vfdiv.vf v0, v0, f0
	vfmacc.vv v8, v0, v4
	vse32.v	v8, (x6)
	sub	x10, x10, x9
	sh2add	x5, x9, x5
	sh2add	x6, x9, x6
	sh2add	x11, x9, x11
	sh2add	x12, x9, x12
	bnez	x10, 4b
	addi	x4, x4, -1
	bnez	x4, 1b
	ecall
