/* SPDX-License-Identifier: MIT */
/*
 * GET: the value of each request's key. Result: 1, or 0 if there is no such key. See kv.inc.
 */
	.include "kernel.inc"
	.include "kv.inc"
	uses	x=17, f=0, v=2, scratchpad=56, args=56
	begins	ndp_body0
	requests
1:	request
	ld	x12, 0(x11)
	walk	found=2f, end=3f
2:	addi	x13, x12, 32
	mv	x14, x5
	value
	li	x12, 1
3:	answer	next=1b
