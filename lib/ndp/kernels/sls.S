/* SPDX-License-Identifier: MIT */
/*
 * Sums of rows of a table (SparseLengthsSum): row i of the result is the sum of the rows with the
 * indices first[i] to first[i + 1] - 1, in their order. The pool is the result: many micro-threads
 * with little work each hide the latency of the table.
 *
 * Arguments: table, bytes of a row, indices, first, elements of a piece.
 */
	.include "kernel.inc"
	uses	x=14, f=0, v=2, scratchpad=40, args=40
	begins	ndp_body0
	lui	x3, SCRATCHPAD
	ld	x4, 8(x3)
	divu	x5, x2, x4
	mul	x6, x5, x4
	sub	x6, x2, x6
	ld	x7, 24(x3)
	sh2add	x7, x5, x7
	lwu	x8, 4(x7)
	lwu	x7, 0(x7)
	ld	x5, 16(x3)
	sh2add	x7, x7, x5
	sh2add	x8, x8, x5
	ld	x9, 0(x3)
	add	x9, x9, x6
	ld	x10, 32(x3)
1:	vsetvli	x11, x10, e32, m1, ta, ma
	vmv.v.i	v0, 0
	mv	x12, x7
	beq	x7, x8, 3f
2:	lwu	x13, 0(x12)
	addi	x12, x12, 4
	mul	x13, x13, x4
	add	x13, x13, x9
	vle32.v	v1, (x13)
	vfadd.vv v0, v0, v1
	bne	x12, x8, 2b
3:	vse32.v	v0, (x1)
	sub	x10, x10, x11
	sh2add	x1, x11, x1
	sh2add	x9, x11, x9
	bnez	x10, 1b
	ecall
