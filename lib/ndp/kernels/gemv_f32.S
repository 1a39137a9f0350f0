/* SPDX-License-Identifier: MIT */
	.include "kernel.inc"
	.include "gemv.inc"
	gemv_kernel 32, m2, 2, vfmacc.vv
