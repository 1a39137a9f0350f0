/* SPDX-License-Identifier: MIT */
/*
 * Bitmap of the rows of a column of fixed-width strings that begin with a prefix. The pool is the
 * bitmap. The first characters of all rows are compared, then the second characters, and so on.
 *
 * Arguments: column, rows, rows of a micro-thread, width, bytes of the prefix, the prefix (56).
 */
	.include "kernel.inc"
	uses	x=14, f=0, v=10, scratchpad=96, args=96
	begins	ndp_body0
	lui	x3, SCRATCHPAD
	ld	x4, 8(x3)
	ld	x5, 16(x3)
	slli	x6, x2, 3
	sub	x4, x4, x6
	minu	x4, x4, x5
	ld	x7, 24(x3)
	mul	x6, x6, x7
	ld	x5, 0(x3)
	add	x5, x5, x6
	ld	x8, 32(x3)
	addi	x3, x3, 40
	add	x8, x3, x8
	vsetvli	x13, x0, e8, m8, ta, ma
1:	minu	x6, x4, x13
	vsetvli	x0, x6, e8, m8, ta, ma
	vmset.m	v9
	mv	x9, x3
	mv	x10, x5
	beq	x9, x8, 3f
2:	vlse8.v	v0, (x10), x7
	lbu	x11, (x9)
	vmseq.vx v8, v0, x11
	vmand.mm v9, v9, v8
	addi	x9, x9, 1
	addi	x10, x10, 1
	bne	x9, x8, 2b
3:	vsm.v	v9, (x1)
	sub	x4, x4, x6
	mul	x12, x6, x7
	add	x5, x5, x12
	srli	x6, x6, 3
	add	x1, x1, x6
	bnez	x4, 1b
	ecall
