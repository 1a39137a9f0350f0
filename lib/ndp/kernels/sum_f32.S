/* SPDX-License-Identifier: MIT */
/*
 * The sum of floats, added up as doubles. Each thread stores its sum in an array, and one thread
 * adds these up in order: the result depends on the data and the number of threads, but not on
 * their order.
 *
 * Arguments: see share.inc; then: sums, of which there are as many as threads; result.
 */
	.include "kernel.inc"
	.include "share.inc"
	uses	x=10, f=1, v=16, scratchpad=48, args=48
	begins	ndp_body0
	vsetvli	x5, x0, e64, m8, ta, ma
	vmv.v.i	v8, 0
	vsetvli	x5, x0, e32, m4, ta, ma
	share	2
	blez	x6, 2f
1:	minu	x9, x6, x5
	vsetvli	x0, x9, e32, m4, tu, ma
	vle32.v	v0, (x8)
	vfwadd.wv v8, v8, v0
	sub	x6, x6, x7
	sh2add	x8, x7, x8
	bgtz	x6, 1b
2:	vsetvli	x5, x0, e64, m8, ta, ma
	vmv.s.x	v0, x0
	vfredusum.vs v0, v8, v0
	vfmv.f.s f0, v0
	ld	x5, 32(x3)
	sh3add	x5, x4, x5
	fsd	f0, (x5)
	ecall

	begins	ndp_fini
	bnez	x2, 2f
	lui	x3, SCRATCHPAD
	ld	x4, 16(x3)
	ld	x5, 32(x3)
	vsetvli	x6, x0, e64, m8, ta, ma
	vmv.s.x	v0, x0
1:	vsetvli	x6, x4, e64, m8, ta, ma
	vle64.v	v8, (x5)
	vfredosum.vs v0, v8, v0
	sub	x4, x4, x6
	sh3add	x5, x6, x5
	bnez	x4, 1b
	vfmv.f.s f0, v0
	ld	x5, 40(x3)
	fsd	f0, (x5)
2:	ecall
