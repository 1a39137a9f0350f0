/* SPDX-License-Identifier: MIT */
/*
 * RISC-V executables: which bytes of a file go where. Every segment is checked to be inside of the
 * file and sane, so that the loader need not check again.
 */
#ifndef ANNEX_NDP_ELF_H
#define ANNEX_NDP_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ANNEX_ELF_SEGMENTS 16
#define ANNEX_ELF_TOP (1ull << 38)   /* no segment reaches beyond */
#define ANNEX_ELF_IMAGE (1ull << 30) /* bytes from the first segment to the last one's end */

/**
 * struct annex_elf - Segments in the order of their addresses, none of which overlap.
 * @entry: address of the first instruction.
 * @low: address of the first byte of memory.
 * @high: address behind the last byte.
 * @nsegments: number of segments.
 * @pie: it may be moved, by a multiple of a page.
 * @segment: the segments.
 */
struct annex_elf {
	uint64_t entry;
	uint64_t low, high;
	unsigned int nsegments;
	bool pie;
	struct annex_elf_segment {
		uint64_t va;
		uint64_t bytes;
		uint64_t offset;
		uint64_t file_bytes; /* the rest is zero */
		bool write, execute;
	} segment[ANNEX_ELF_SEGMENTS];
};

/*
 * annex_elf_parse() - Read the headers of a static executable (ET_EXEC, or ET_DYN that needs no
 * dynamic linker), whose @bytes are at @file.
 *
 * Return: 0; -ENOEXEC (not an executable of this kind); -EINVAL (it contradicts itself); -E2BIG.
 */
int annex_elf_parse(const void *file, size_t bytes, struct annex_elf *out);

#endif
