// SPDX-License-Identifier: MIT
/*
 * The program as a static ELF of two segments: text, and the block.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "fuzz.h"

#define PAGE 4096u

static int write_at(FILE *f, uint64_t at, const void *from, size_t bytes)
{
	return fseek(f, (long)at, SEEK_SET) || fwrite(from, 1, bytes, f) != bytes ? -1 : 0;
}

int rv_write_elf(struct rv_gen *g, const char *path)
{
	uint64_t data_at = (PAGE + g->bytes + PAGE - 1) / PAGE * PAGE, bytes = rv_block_bytes(g);
	Elf64_Ehdr head = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_EXEC,
		.e_machine = EM_RISCV,
		.e_version = EV_CURRENT,
		.e_entry = RV_TEXT + g->start,
		.e_phoff = sizeof(head),
		.e_flags = 5, /* compressed instructions, doubles in registers */
		.e_ehsize = sizeof(head),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
		.e_shentsize = sizeof(Elf64_Shdr),
	};
	Elf64_Phdr parts[2] = {
		{PT_LOAD, PF_R | PF_X, PAGE, RV_TEXT, RV_TEXT, g->bytes, g->bytes, PAGE},
		{PT_LOAD, PF_R | PF_W, data_at, RV_DATA, RV_DATA, bytes, bytes, PAGE},
	};
	uint8_t *block = malloc(bytes);
	FILE *f = fopen(path, "wb");
	int err = -1;

	if (block && f) {
		rv_pools(g, block);
		err = write_at(f, 0, &head, sizeof(head)) ||
		      write_at(f, sizeof(head), parts, sizeof(parts)) ||
		      write_at(f, PAGE, g->text, g->bytes) || write_at(f, data_at, block, bytes);
	}
	if (f && (fclose(f) || chmod(path, 0755))) /* qemu refuses others */
		err = -1;
	free(block);
	return err;
}
