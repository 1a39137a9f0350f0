/* SPDX-License-Identifier: MIT */
/*
 * A step of PageRank: first the rank that each vertex passes along each of its edges, then the sum
 * that each vertex receives. Entries of a row are the vertices with an edge to it. Vertices without
 * outgoing edges pass no rank. See graph.inc; x is the rank passed per edge, and y the new ranks.
 *
 * Further arguments: ranks, numbers of outgoing edges, damping factor, and the rank of a vertex
 * without incoming edges (floats).
 */
	.include "kernel.inc"
	.include "graph.inc"
	uses	x=12, f=3, v=5, scratchpad=72, args=72
	begins	ndp_body0
	lui	x3, SCRATCHPAD
	ld	x4, 0(x3)
	ld	x5, 8(x3)
	srli	x6, x2, 2
	sub	x4, x4, x6
	minu	x4, x4, x5
	ld	x5, 40(x3)
	sh2add	x5, x6, x5
	ld	x7, 48(x3)
	sh2add	x7, x6, x7
	ld	x8, 24(x3)
	sh2add	x8, x6, x8
1:	vsetvli	x9, x4, e32, m1, ta, ma
	vle32.v	v1, (x5)
	vle32.v	v2, (x7)
	vmseq.vi v0, v2, 0
	vfcvt.f.xu.v v2, v2
	vfdiv.vv v1, v1, v2
	vmerge.vim v1, v1, 0, v0
	vse32.v	v1, (x8)
	sub	x4, x4, x9
	sh2add	x5, x9, x5
	sh2add	x7, x9, x7
	sh2add	x8, x9, x8
	bnez	x4, 1b
	ecall

	begins	ndp_body1
	rows
	flw	f1, 56(x3)
	flw	f2, 64(x3)
1:	row
	vmv.v.i	v4, 0
	bltu	x10, x9, 3f
2:	gather
	vfadd.vv v4, v4, v2
	sub	x10, x10, x9
	sh2add	x7, x9, x7
	bgeu	x10, x9, 2b
3:	vmsltu.vx v0, v1, x10
	gather	, v0.t
	vfadd.vv v4, v4, v2, v0.t
	sh2add	x7, x10, x7
	add_up
	fmadd.s	f0, f0, f1, f2
	fsw	f0, 0(x6)
	addi	x6, x6, 4
	addi	x4, x4, -1
	bnez	x4, 1b
	ecall
