/* SPDX-License-Identifier: MIT */
	.include "kernel.inc"
	.include "vadd.inc"
	vadd_kernel vadd.vv
