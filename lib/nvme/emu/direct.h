/* SPDX-License-Identifier: MIT */
/*
 * Direct I/O (O_DIRECT): whether a file has it, and for which blocks.
 */
#ifndef ANNEX_EMU_DIRECT_H
#define ANNEX_EMU_DIRECT_H

#include <stdint.h>

#define EMU_DIRECT_WHY 160

/* struct emu_align - Alignments in bytes: of memory, and of offsets (0: there is no direct I/O). */
struct emu_align {
	uint32_t mem;
	uint32_t offset;
};

/*
 * annex_emu_direct_find() - The alignments of a file that is open with O_DIRECT. Return: 0, or the
 * negative errno of a read of its first block.
 */
int annex_emu_direct_find(int fd, struct emu_align *align);

/*
 * annex_emu_direct_fit() - Whether blocks of @asked bytes (0: of a size that suits) of a namespace
 * of @size bytes can be had by direct I/O. Returns 0 with the size of a block in *@block, or
 * -EINVAL or -EOPNOTSUPP with the cause and the mend in @why.
 */
int annex_emu_direct_fit(struct emu_align align, uint64_t size, uint32_t asked, uint32_t *block,
			 char why[EMU_DIRECT_WHY]);

#endif
