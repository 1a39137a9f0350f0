/* SPDX-License-Identifier: MIT */
/*
 * Shortest paths, one round: each edge relaxes the distance of its destination by that of its
 * source. The pool is the first quarter of the array of destinations: a micro-thread's offset is
 * the number of its first edge. Few edges improve a distance, and they do so one by one, by an
 * atomic minimum. A distance of all ones is infinite, and stays so after any addition.
 *
 * Arguments: sources, destinations, weights, number of edges, edges of a micro-thread, distances, a
 * word that is set to 1 if a distance has changed.
 */
	.include "kernel.inc"
	uses	x=13, f=0, v=12, scratchpad=56, args=56
	begins	ndp_body0
	lui	x3, SCRATCHPAD
	ld	x4, 24(x3)
	ld	x5, 32(x3)
	sub	x4, x4, x2
	minu	x4, x4, x5
	ld	x5, 0(x3)
	ld	x6, 8(x3)
	ld	x7, 16(x3)
	sh2add	x5, x2, x5
	sh2add	x6, x2, x6
	sh2add	x7, x2, x7
	ld	x8, 40(x3)
1:	vsetvli	x9, x4, e32, m2, ta, ma
	vle32.v	v2, (x5)
	vle32.v	v4, (x6)
	vle32.v	v6, (x7)
	vsll.vi	v2, v2, 2
	vluxei32.v v2, (x8), v2
	vsll.vi	v4, v4, 2
	vluxei32.v v8, (x8), v4
	vsaddu.vv v2, v2, v6
	vmsltu.vv v0, v2, v8
	vcpop.m	x10, v0
	bnez	x10, 3f
2:	sub	x4, x4, x9
	sh2add	x5, x9, x5
	sh2add	x6, x9, x6
	sh2add	x7, x9, x7
	bnez	x4, 1b
	ecall
3:	vcompress.vm v8, v2, v0
	vcompress.vm v10, v4, v0
	ld	x11, 48(x3)
	li	x12, 1
	sw	x12, 0(x11)
4:	vmv.x.s	x11, v8
	vmv.x.s	x12, v10
	vslide1down.vx v8, v8, x0
	vslide1down.vx v10, v10, x0
	zext.w	x12, x12
	add	x12, x12, x8
	amominu.w x0, x11, (x12)
	addi	x10, x10, -1
	bnez	x10, 4b
	j	2b
