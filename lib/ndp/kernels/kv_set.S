/* SPDX-License-Identifier: MIT */
/*
 * SET: store the value of each request's key. Result: 0 if the key existed, 1 if it is new, 2 if
 * there is no room for it. See kv.inc.
 *
 * A new entry is written first and then inserted at the beginning of its chain, if that beginning
 * has not changed since the search. So the table needs no locks. Requests of a launch have
 * different keys.
 *
 * Further arguments: number of entries in use (a word in memory), number of entries, offset of the
 * first entry.
 */
	.include "kernel.inc"
	.include "kv.inc"
	uses	x=19, f=0, v=2, scratchpad=80, args=80
	begins	ndp_body0
	requests
1:	request
	li	x18, 0
2:	ld	x17, 0(x11)
	mv	x12, x17
	walk	found=6f, end=3f
3:	bnez	x18, 4f
	ld	x13, 56(x3)
	li	x14, 1
	amoadd.d x18, x14, (x13)
	ld	x14, 64(x3)
	bgeu	x18, x14, 10f
	sh1add	x18, x18, x18
	slli	x18, x18, 5
	ld	x13, 72(x3)
	add	x18, x18, x13
	add	x12, x18, x7
	sd	x8, 8(x12)
	sd	x9, 16(x12)
	sd	x10, 24(x12)
	mv	x13, x5
	addi	x14, x12, 32
	value
4:	add	x12, x18, x7
	sd	x17, 0(x12)
	fence	rw, w
5:	lr.d	x13, (x11)
	bne	x13, x17, 2b
	sc.d	x13, x18, (x11)
	bnez	x13, 5b
	li	x12, 1
	j	7f
6:	mv	x13, x5
	addi	x14, x12, 32
	value
	li	x12, 0
7:	answer	next=1b
10:	li	x14, -1
	amoadd.d x0, x14, (x13)
	li	x12, 2
	j	7b
