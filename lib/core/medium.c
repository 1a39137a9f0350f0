// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include "medium.h"

#define TRIES 16

/* Where there were @bytes free a moment ago, at a multiple of @align; NULL: nowhere. */
static void *find_room(uint64_t bytes, uint64_t align)
{
	uintptr_t room = (uintptr_t)mmap(NULL, bytes + align, PROT_NONE,
					 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if ((void *)room == MAP_FAILED)
		return NULL;
	munmap((void *)room, bytes + align);
	return (void *)((room + align - 1) & ~(uintptr_t)(align - 1));
}

/*
 * The place is only a wish. A mapping that replaces another one (MAP_FIXED) takes that away even
 * when it fails, as it does with MAP_SYNC on most media; other threads get the addresses then, and
 * giving them back would take away theirs.
 */
void *annex_medium_map(int fd, uint64_t bytes, uint64_t align, int flags)
{
	if (align < ANNEX_MEDIUM_ALIGN)
		align = ANNEX_MEDIUM_ALIGN;
	for (int i = 0; i < TRIES; i++) {
		void *room = find_room(bytes, align), *p;

		if (!room)
			return NULL;
		p = mmap(room, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
		if (p == MAP_FAILED)
			return NULL;
		if (!((uintptr_t)p & (align - 1)))
			return p;
		/* Another thread was faster. */
		munmap(p, bytes);
	}
	errno = EAGAIN;
	return NULL;
}
