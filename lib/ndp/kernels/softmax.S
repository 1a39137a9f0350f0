/* SPDX-License-Identifier: MIT */
/*
 * softmax of each row: exp(x - max), divided by the sum of these. See rows.inc.
 *
 * exp(x) is 2^k exp(r), where k is the integer nearest to x / ln 2, and |r| is at most half of ln
 * 2. k ln 2 is subtracted from x in two parts, so that no bits are lost. The series of exp(r) up to
 * r^6 is accurate to about the last bit of a float. Results below the smallest normal number are 0.
 */
	.include "kernel.inc"
	.include "rows.inc"

/* A term of the series, in a group of registers. */
	.macro	term reg, bits
	fconst	f0, \bits
	vfmv.v.f \reg, f0
	.endm

	uses	x=13, f=6, v=28, scratchpad=48, args=48
	begins	ndp_body0
	fconst	f1, 0x3fb8aa3b /* 1 / ln 2 */
	fconst	f2, 0x3f318000 /* ln 2, its upper bits */
	fconst	f3, 0xb95e8083 /* and the rest, which is negative */
	fconst	f4, 0xc2aeac50 /* ln of the smallest normal number */
	fconst	f5, 0xff800000 /* minus infinity */
	vsetvli	x9, x0, e32, m2, ta, ma
	term	v16, 0x3ab60b61 /* 1 / 6! */
	term	v18, 0x3c088889 /* 1 / 5! */
	term	v20, 0x3d2aaaab /* 1 / 4! */
	term	v22, 0x3e2aaaab /* 1 / 3! */
	term	v24, 0x3f000000 /* 1 / 2! */
	term	v26, 0x3f800000 /* 1 / 1! */
	rows

1:	mv	x8, x5
	mv	x10, x7
	vsetvli	x9, x0, e32, m2, ta, ma
	vfmv.v.f v2, f5
2:	vsetvli	x9, x10, e32, m2, tu, ma
	vle32.v	v4, (x8)
	vfmax.vv v2, v2, v4
	sub	x10, x10, x9
	sh2add	x8, x9, x8
	bnez	x10, 2b
	vsetvli	x9, x0, e32, m2, ta, ma
	vfmv.s.f v4, f5
	vfredmax.vs v4, v2, v4
	vfmv.f.s f0, v4

	mv	x8, x5
	mv	x10, x7
	mv	x11, x6
	li	x12, 127
	vmv.v.i	v2, 0
3:	vsetvli	x9, x10, e32, m2, tu, ma
	vle32.v	v4, (x8)
	vfsub.vf v4, v4, f0
	vfmul.vf v6, v4, f1
	vfcvt.x.f.v v6, v6
	vfcvt.f.x.v v8, v6
	vmv.v.v	v10, v4
	vfnmsac.vf v10, f2, v8
	vfnmsac.vf v10, f3, v8
	vmv.v.v	v12, v16
	vfmadd.vv v12, v10, v18
	vfmadd.vv v12, v10, v20
	vfmadd.vv v12, v10, v22
	vfmadd.vv v12, v10, v24
	vfmadd.vv v12, v10, v26
	vfmadd.vv v12, v10, v26
	vadd.vx	v6, v6, x12
	vsll.vi	v6, v6, 23
	vfmul.vv v12, v12, v6
	vmflt.vf v0, v4, f4
	vmerge.vim v12, v12, 0, v0
	vse32.v	v12, (x11)
	vfadd.vv v2, v2, v12
	sub	x10, x10, x9
	sh2add	x8, x9, x8
	sh2add	x11, x9, x11
	bnez	x10, 3b
	vsetvli	x9, x0, e32, m2, ta, ma
	vmv.s.x	v4, x0
	vfredusum.vs v4, v2, v4
	vfmv.f.s f0, v4
	mv	x5, x8

	mv	x10, x7
4:	vsetvli	x9, x10, e32, m2, ta, ma
	vle32.v	v4, (x6)
	vfdiv.vf v4, v4, f0
	vse32.v	v4, (x6)
	sub	x10, x10, x9
	sh2add	x6, x9, x6
	bnez	x10, 4b
	addi	x4, x4, -1
	bnez	x4, 1b
	ecall
