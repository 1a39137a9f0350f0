// SPDX-License-Identifier: MIT
/*
 * ELF symbol tables, System V ABI chapter 4.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>
#include "core/log.h"
#include "symbol.h"

#define SYMBOLS (1u << 16) /* most symbols, which are searched one by one */

static bool inside(const Elf64_Shdr *s, size_t bytes)
{
	return s->sh_offset <= bytes && s->sh_size <= bytes - s->sh_offset;
}

static void section(const void *file, const Elf64_Ehdr *h, unsigned int i, Elf64_Shdr *out)
{
	memcpy(out, (const char *)file + h->e_shoff + i * sizeof(*out), sizeof(*out));
}

static int take(const void *file, size_t bytes, const Elf64_Shdr *table, const Elf64_Shdr *names,
		struct annex_symbols *out)
{
	if (!inside(table, bytes) || !inside(names, bytes) || names->sh_type != SHT_STRTAB ||
	    table->sh_entsize != sizeof(Elf64_Sym))
		return annex_fail(-EINVAL, "its table of symbols is broken");
	*out = (struct annex_symbols){.table = (const char *)file + table->sh_offset,
				      .names = (const char *)file + names->sh_offset,
				      .n = table->sh_size / sizeof(Elf64_Sym),
				      .names_bytes = names->sh_size};
	if (out->n > SYMBOLS)
		return annex_fail(-E2BIG, "more than %u symbols", SYMBOLS);
	return 0;
}

int annex_symbols_find_table(const void *file, size_t bytes, struct annex_symbols *out)
{
	Elf64_Shdr table, names;
	Elf64_Ehdr h;

	if (bytes < sizeof(h))
		return annex_fail(-ENOEXEC, "not an ELF file");
	memcpy(&h, file, sizeof(h));
	if (!h.e_shnum)
		return annex_fail(-ENOEXEC, "no symbols: it was stripped");
	if (h.e_shentsize != sizeof(table) || h.e_shoff > bytes ||
	    h.e_shnum > (bytes - h.e_shoff) / sizeof(table))
		return annex_fail(-EINVAL, "section headers are beyond the end of the file");
	for (unsigned int i = 0; i < h.e_shnum; i++) {
		section(file, &h, i, &table);
		if (table.sh_type != SHT_SYMTAB)
			continue;
		if (table.sh_link >= h.e_shnum)
			return annex_fail(-EINVAL, "its table of symbols has no names");
		section(file, &h, table.sh_link, &names);
		return take(file, bytes, &table, &names, out);
	}
	return annex_fail(-ENOEXEC, "no symbols: it was stripped");
}

bool annex_symbols_get(const struct annex_symbols *s, const char *name, uint64_t *value,
		       bool *absolute)
{
	size_t len = strlen(name) + 1;

	for (size_t i = 0; i < s->n; i++) {
		Elf64_Sym sym;

		memcpy(&sym, s->table + i * sizeof(sym), sizeof(sym));
		if (sym.st_shndx == SHN_UNDEF || sym.st_name > s->names_bytes ||
		    len > s->names_bytes - sym.st_name ||
		    memcmp(s->names + sym.st_name, name, len) != 0)
			continue;
		*value = sym.st_value;
		*absolute = sym.st_shndx == SHN_ABS;
		return true;
	}
	return false;
}
