/* SPDX-License-Identifier: MIT */
	.include "kernel.inc"
	.include "share.inc"
	.include "bitmap.inc"
	bitmap_kernel vand.vv
