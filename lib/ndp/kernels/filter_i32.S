/* SPDX-License-Identifier: MIT */
	.include "kernel.inc"
	.include "share.inc"
	.include "filter.inc"
	filter_kernel 32, 2, vle32.v
