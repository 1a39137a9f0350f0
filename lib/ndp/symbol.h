/* SPDX-License-Identifier: MIT */
/*
 * Symbols of an ELF file that annex_elf_parse() takes.
 */
#ifndef ANNEX_NDP_SYMBOL_H
#define ANNEX_NDP_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* struct annex_symbols - Its table, looked at and wholly inside of the file. */
struct annex_symbols {
	const char *table;
	const char *names;
	size_t n;
	size_t names_bytes;
};

/*
 * annex_symbols_find_table() - Find it. 0; -ENOEXEC (no symbols: the file was stripped); -EINVAL
 * (it contradicts itself); -E2BIG.
 */
int annex_symbols_find_table(const void *file, size_t bytes, struct annex_symbols *out);

/*
 * annex_symbols_get() - The value of @name; false: there is none. *@absolute tells a number from an
 * address.
 */
bool annex_symbols_get(const struct annex_symbols *s, const char *name, uint64_t *value,
		       bool *absolute);

#endif
