// SPDX-License-Identifier: MIT
/*
 * ELF, System V ABI chapters 4 and 5, and the RISC-V ELF psABI.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>
#include "elf.h"
#include "core/log.h"

#define HEADERS 64u        /* most program headers */
#define SYMBOLS (1u << 16) /* most symbols, which are searched one by one */

static int check_ident(const unsigned char *ident, size_t bytes)
{
	if (bytes < sizeof(Elf64_Ehdr) || memcmp(ident, ELFMAG, SELFMAG) != 0)
		return annex_fail(-ENOEXEC, "not an ELF file");
	if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB)
		return annex_fail(-ENOEXEC, "not a 64-bit little-endian ELF file");
	if (ident[EI_VERSION] != EV_CURRENT)
		return annex_fail(-ENOEXEC, "ELF version %u", ident[EI_VERSION]);
	return 0;
}

static int check_header(const Elf64_Ehdr *h, size_t bytes)
{
	if (h->e_machine != EM_RISCV)
		return annex_fail(-ENOEXEC, "for machine %u, not RISC-V (%u)", h->e_machine,
				  EM_RISCV);
	if (h->e_type != ET_EXEC && h->e_type != ET_DYN)
		return annex_fail(-ENOEXEC, "not an executable");
	if (h->e_flags & EF_RISCV_RVE)
		return annex_fail(-ENOEXEC, "for the ABI of 16 registers (RVE)");
	if (h->e_phentsize != sizeof(Elf64_Phdr))
		return annex_fail(-EINVAL, "program headers of %u bytes", h->e_phentsize);
	if (!h->e_phnum || h->e_phnum > HEADERS)
		return annex_fail(h->e_phnum ? -E2BIG : -EINVAL, "%u program headers (1 to %u)",
				  h->e_phnum, HEADERS);
	if (h->e_phoff > bytes || bytes - h->e_phoff < h->e_phnum * sizeof(Elf64_Phdr))
		return annex_fail(-EINVAL, "program headers are beyond the end of the file");
	return 0;
}

static int add_segment(struct annex_elf *elf, const Elf64_Phdr *p, unsigned int index, size_t bytes)
{
	struct annex_elf_segment *s = &elf->segment[elf->nsegments];

	if (p->p_filesz > p->p_memsz)
		return annex_fail(-EINVAL, "segment %u: more in the file than in memory", index);
	if (p->p_offset > bytes || p->p_filesz > bytes - p->p_offset)
		return annex_fail(-EINVAL, "segment %u: beyond the end of the file", index);
	if (!p->p_memsz)
		return 0;
	if (p->p_vaddr >= ANNEX_ELF_TOP || p->p_memsz > ANNEX_ELF_TOP - p->p_vaddr)
		return annex_fail(-EINVAL, "segment %u: addresses beyond 0x%llx", index,
				  (ull)ANNEX_ELF_TOP);
	if (elf->nsegments && p->p_vaddr < elf->high)
		return annex_fail(-EINVAL,
				  "segment %u: overlaps the one before, or is out of order", index);
	if (elf->nsegments == ANNEX_ELF_SEGMENTS)
		return annex_fail(-E2BIG, "more than %d segments", ANNEX_ELF_SEGMENTS);
	*s = (struct annex_elf_segment){.va = p->p_vaddr,
					.bytes = p->p_memsz,
					.offset = p->p_offset,
					.file_bytes = p->p_filesz,
					.write = p->p_flags & PF_W,
					.execute = p->p_flags & PF_X};
	if (!elf->nsegments++)
		elf->low = s->va;
	elf->high = s->va + s->bytes;
	if (elf->high - elf->low > ANNEX_ELF_IMAGE)
		return annex_fail(-E2BIG, "takes more than %llu bytes of memory",
				  (ull)ANNEX_ELF_IMAGE);
	return 0;
}

static bool is_code(const struct annex_elf *elf, uint64_t va)
{
	for (unsigned int i = 0; i < elf->nsegments; i++)
		if (elf->segment[i].execute && va - elf->segment[i].va < elf->segment[i].bytes)
			return true;
	return false;
}

int annex_elf_parse(const void *file, size_t bytes, struct annex_elf *out)
{
	Elf64_Ehdr h;
	int err = check_ident(file, bytes);

	if (err)
		return err;
	memcpy(&h, file, sizeof(h));
	err = check_header(&h, bytes);
	*out = (struct annex_elf){.entry = h.e_entry, .pie = h.e_type == ET_DYN};
	for (unsigned int i = 0; i < h.e_phnum && !err; i++) {
		Elf64_Phdr p;

		memcpy(&p, (const char *)file + h.e_phoff + i * sizeof(p), sizeof(p));
		if (p.p_type == PT_INTERP)
			return annex_fail(-ENOEXEC, "needs a dynamic linker: link it with -static");
		if (p.p_type == PT_LOAD)
			err = add_segment(out, &p, i, bytes);
	}
	if (err)
		return err;
	if (!is_code(out, out->entry) || out->entry % 2)
		return annex_fail(-EINVAL, "begins at 0x%llx, where there is no code",
				  (ull)out->entry);
	return 0;
}

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
