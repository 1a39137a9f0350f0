/* SPDX-License-Identifier: MIT */
/*
 * The part of libnuma that lib/migrate uses, for machines without it: no node has memory.
 */
#ifndef ANNEX_TESTS_GPU_NUMAIF_H
#define ANNEX_TESTS_GPU_NUMAIF_H

#include <errno.h>

#define MPOL_BIND 2

static inline long mbind(void *ptr, unsigned long bytes, int mode, const unsigned long *nodes,
			 unsigned long bits, unsigned int flags)
{
	(void)ptr;
	(void)bytes;
	(void)mode;
	(void)nodes;
	(void)bits;
	(void)flags;
	errno = ENOSYS;
	return -1;
}

#endif
