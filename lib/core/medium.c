// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <sys/mman.h>
#include "medium.h"

void *annex_medium_map(int fd, uint64_t bytes, uint64_t align, int flags)
{
	uintptr_t raw, start;
	char *room;

	if (align < ANNEX_MEDIUM_ALIGN)
		align = ANNEX_MEDIUM_ALIGN;
	room = mmap(NULL, bytes + align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		    0);
	if (room == MAP_FAILED)
		return NULL;
	raw = (uintptr_t)room;
	start = (raw + align - 1) & ~(uintptr_t)(align - 1);
	if (mmap((void *)start, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0) ==
	    MAP_FAILED) {
		munmap(room, bytes + align);
		return NULL;
	}
	if (start > raw)
		munmap(room, start - raw);
	if (raw + align > start)
		munmap((char *)start + bytes, raw + align - start);
	return (void *)start;
}
