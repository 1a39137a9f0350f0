/* SPDX-License-Identifier: MIT */
/*
 * y = A x, A in CSR form. See graph.inc.
 *
 * Further argument: values of the entries.
 */
	.include "kernel.inc"
	.include "graph.inc"
	uses	x=13, f=1, v=5, scratchpad=48, args=48
	begins	ndp_body0
	rows
	ld	x12, 40(x3)
	sh2add	x12, x5, x12
1:	row
	vmv.v.i	v4, 0
	bltu	x10, x9, 3f
2:	gather
	vle32.v	v3, (x12)
	vfmacc.vv v4, v2, v3
	sub	x10, x10, x9
	sh2add	x7, x9, x7
	sh2add	x12, x9, x12
	bgeu	x10, x9, 2b
3:	vmsltu.vx v0, v1, x10
	gather	, v0.t
	vle32.v	v3, (x12), v0.t
	vfmacc.vv v4, v2, v3, v0.t
	sh2add	x7, x10, x7
	sh2add	x12, x10, x12
	add_up
	fsw	f0, 0(x6)
	addi	x6, x6, 4
	addi	x4, x4, -1
	bnez	x4, 1b
	ecall
