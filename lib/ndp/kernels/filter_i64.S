/* SPDX-License-Identifier: MIT */
	.include "kernel.inc"
	.include "share.inc"
	.include "filter.inc"
	filter_kernel 64, 3, vle64.v
