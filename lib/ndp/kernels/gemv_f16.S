/* SPDX-License-Identifier: MIT */
	.include "kernel.inc"
	.include "gemv.inc"
	gemv_kernel 16, m1, 1, vfwmacc.vv
