/* SPDX-License-Identifier: MIT */
/*
 * Symbols of an ELF file that annex_elf_parse() accepts.
 */
#ifndef ANNEX_NDP_SYMBOL_H
#define ANNEX_NDP_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
