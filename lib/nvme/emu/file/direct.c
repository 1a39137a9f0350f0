// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "file.h"

#define USUAL 4096u /* bytes of a block and alignment of memory where 512 do not suffice */

/*
 * Find out by trying: statx() has the alignment only since Linux 6.1, and not for all file systems.
 * A read with too small an alignment ends with -EINVAL. Any other error is not about direct I/O.
 */
static int try_align(int fd, struct emu_align *align)
{
	void *p = aligned_alloc(ANNEX_BLOCK_MAX, ANNEX_BLOCK_MAX);
	int err = p ? 0 : -ENOMEM;

	for (uint32_t n = ANNEX_BLOCK_MIN; !err && !align->offset && n <= ANNEX_BLOCK_MAX; n *= 2) {
		if (pread(fd, p, n, 0) >= 0)
			*align = (struct emu_align){n < USUAL ? n : USUAL, n};
		else if (errno != EINVAL && errno != EOPNOTSUPP)
			err = -errno;
	}
	free(p);
	return err;
}

int annex_emu_direct_find(int fd, struct emu_align *align)
{
#ifdef STATX_DIOALIGN
	struct statx stx;

	if (!statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &stx) && stx.stx_mask & STATX_DIOALIGN) {
		*align = (struct emu_align){stx.stx_dio_mem_align, stx.stx_dio_offset_align};
		return 0;
	}
#endif
	*align = (struct emu_align){0, 0};
	return try_align(fd, align);
}

int annex_emu_direct_fit(struct emu_align align, uint64_t size, bool readonly, uint32_t asked,
			 uint32_t *block, char why[EMU_DIRECT_WHY])
{
	uint32_t fit = align.offset <= 512 ? 512 : align.offset <= USUAL ? USUAL : align.offset;

	if (!align.offset) {
		snprintf(why, EMU_DIRECT_WHY, "the file system has none for it; use direct=0");
		return -EOPNOTSUPP;
	}
	if (align.offset > ANNEX_BLOCK_MAX || align.mem > USUAL) {
		snprintf(why, EMU_DIRECT_WHY,
			 "its alignment of %u bytes, and of %u in memory, is too large; use "
			 "direct=0",
			 align.offset, align.mem);
		return -EOPNOTSUPP;
	}
	if (asked && asked % align.offset) {
		snprintf(why, EMU_DIRECT_WHY,
			 "its alignment of %u bytes is larger than block=%u; use block=%u or "
			 "direct=0",
			 align.offset, asked, fit);
		return -EINVAL;
	}
	if (!readonly && size % align.offset) {
		snprintf(
			why, EMU_DIRECT_WHY,
			"its %llu bytes are not a multiple of its alignment of %u, which writes at "
			"its end need; use direct=0 or readonly=1",
			(unsigned long long)size, align.offset);
		return -EINVAL;
	}
	*block = asked ? asked : fit;
	return 0;
}
