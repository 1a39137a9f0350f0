/* SPDX-License-Identifier: MIT */
/*
 * RISC-V executables: their segments and symbols. Every segment is verified to be within the file
 * and valid, so that loaders need no checks.
 */
#ifndef ANNEX_NDP_ELF_H
#define ANNEX_NDP_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ANNEX_ELF_SEGMENTS 16
#define ANNEX_ELF_TOP (1ull << 38)   /* limit of addresses */
#define ANNEX_ELF_IMAGE (1ull << 30) /* most bytes from the first segment to the end of the last */

/**
 * struct annex_elf - Segments in the order of their addresses, without overlaps.
 * @entry: address of the first instruction.
 * @low: address of the first byte of memory.
 * @high: address after the last byte.
 * @nsegments: number of segments.
 * @pie: it can be loaded elsewhere, at a distance of whole pages.
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
 * Return: 0; -ENOEXEC (not an executable of this kind); -EINVAL (inconsistent headers); -E2BIG.
 */
int annex_elf_parse(const void *file, size_t bytes, struct annex_elf *out);

/* struct annex_symbols - Its symbol table, verified to be within the file. */
struct annex_symbols {
	const char *table;
	const char *names;
	size_t n;
	size_t names_bytes;
};

/*
 * annex_symbols_find_table() - Find the table. 0; -ENOEXEC (no symbols: the file was stripped);
 * -EINVAL (inconsistent headers); -E2BIG.
 */
int annex_symbols_find_table(const void *file, size_t bytes, struct annex_symbols *out);

/*
 * annex_symbols_get() - The value of @name; false: no such symbol. *@absolute: the value is a
 * number and not an address.
 */
bool annex_symbols_get(const struct annex_symbols *s, const char *name, uint64_t *value,
		       bool *absolute);

#endif
