/* SPDX-License-Identifier: MIT */
/*
 * The address space of a program in user mode: areas of pages, of anonymous memory of the host.
 */
#ifndef ANNEX_EMU_RV_SPACE_H
#define ANNEX_EMU_RV_SPACE_H

#include "rv.h"

#define PAGE 4096ull
#define SPACE_AREAS 256u
#define SPACE_MOST (4ull << 30) /* bytes, of all areas */

/* struct rv_space - Areas by address; what one has as bytes and address are multiples of a page. */
struct rv_space {
	struct rv_span area[SPACE_AREAS];
	unsigned int n;
	uint64_t bytes;
};

static inline uint64_t page_up(uint64_t value)
{
	return (value + PAGE - 1) & ~(PAGE - 1);
}

/* rv_space_add() - New pages, zeroed, of the host too. -EEXIST: something is there; -ENOMEM. */
int rv_space_add(struct rv_space *s, uint64_t va, uint64_t bytes, unsigned int prot);

/* rv_space_remove() - What there is of a range. -ENOMEM: too many areas. */
int rv_space_remove(struct rv_space *s, uint64_t va, uint64_t bytes);

/* rv_space_protect() - -ENOMEM: not all of it is there, or too many areas. */
int rv_space_protect(struct rv_space *s, uint64_t va, uint64_t bytes, unsigned int prot);

/* rv_space_free() - The lowest address from @from on where @bytes fit; 0: below @to there is none.
 */
uint64_t rv_space_free(const struct rv_space *s, uint64_t from, uint64_t to, uint64_t bytes);

/* rv_space_find() - As rv_mem.find. */
int rv_space_find(void *ctx, uint64_t va, struct rv_span *span);

/* Copies between the two. -EFAULT: not all of it may be reached so. */
int rv_space_read(const struct rv_space *s, uint64_t va, void *to, uint64_t bytes);
int rv_space_write(const struct rv_space *s, uint64_t va, const void *from, uint64_t bytes);

void rv_space_destroy(struct rv_space *s);

#endif
