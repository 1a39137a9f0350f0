/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_NDP_CLIENT_LOAD_H
#define ANNEX_NDP_CLIENT_LOAD_H

#include <annex/m2func.h>
#include "ndp/elf.h"

/*
 * struct m2_program - A kernel in an ELF file, parsed.
 * @elf: its segments.
 * @image: head of its image.
 * @needs: resources that it needs.
 * @base: offset in the image of the byte at @elf.low.
 */
struct m2_program {
	struct annex_elf elf;
	struct annex_m2_image image;
	struct annex_m2_needs needs;
	uint32_t base;
};

/* annex_m2_program_read() - 0; -ENOEXEC, -EINVAL, -E2BIG. */
int annex_m2_program_read(const void *file, size_t bytes, struct m2_program *out);

/* annex_m2_program_place() - Write the image to @to, which has room for @p->image.bytes. */
void annex_m2_program_place(const struct m2_program *p, const void *file, char *to);

#endif
