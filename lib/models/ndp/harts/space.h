/* SPDX-License-Identifier: MIT */
/*
 * The address space of a program in user mode: areas of pages. The host reserves as many addresses
 * in one piece, so that neighbouring areas are neighbours in the host too and become one.
 */
#ifndef ANNEX_NDP_HARTS_SPACE_H
#define ANNEX_NDP_HARTS_SPACE_H

#include "rv.h"

#define PAGE 4096ull
#define SPACE_TOP (1ull << 38)  /* no address reaches beyond */
#define SPACE_AREAS 65530u      /* at most, as Linux has it */
#define SPACE_MOST (4ull << 30) /* bytes that can be read or written, of all areas */

/**
 * struct rv_space - Areas by address. Neighbours differ in what may be done with them.
 * @base: host address of address 0.
 * @area: the areas.
 * @n: number of areas.
 * @room: areas that @area has memory for.
 * @bytes: bytes of areas that can be read or written.
 */
struct rv_space {
	char *base;
	struct rv_span *area;
	unsigned int n, room;
	uint64_t bytes;
};

static inline uint64_t page_up(uint64_t value)
{
	return (value + PAGE - 1) & ~(PAGE - 1);
}

int rv_space_create(struct rv_space *s);
void rv_space_destroy(struct rv_space *s);

/* rv_space_add() - New pages, zeroed. -EEXIST: something is there; -ENOMEM. */
int rv_space_add(struct rv_space *s, uint64_t va, uint64_t bytes, unsigned int prot);

/* rv_space_remove() - Unmap all pages of a range. -ENOMEM: too many areas. */
int rv_space_remove(struct rv_space *s, uint64_t va, uint64_t bytes);

/* rv_space_protect() - -ENOMEM: the range has holes, or there are too many areas or bytes. */
int rv_space_protect(struct rv_space *s, uint64_t va, uint64_t bytes, unsigned int prot);

/* rv_space_zero() - Give the memory of a range back; its pages read as zero. */
int rv_space_zero(struct rv_space *s, uint64_t va, uint64_t bytes);

/* rv_space_covers() - Whether the range has no holes. rv_space_is_free(): whether it is one. */
bool rv_space_covers(const struct rv_space *s, uint64_t va, uint64_t bytes);
bool rv_space_is_free(const struct rv_space *s, uint64_t va, uint64_t bytes);

/* rv_space_free() - The lowest address from @from on where @bytes fit; 0: below @to there is none.
 */
uint64_t rv_space_free(const struct rv_space *s, uint64_t from, uint64_t to, uint64_t bytes);

/* rv_space_find() - As rv_mem.find. */
int rv_space_find(void *ctx, uint64_t va, struct rv_span *span);

/* Copies between the two. -EFAULT: not all of it may be reached so. */
int rv_space_read(const struct rv_space *s, uint64_t va, void *to, uint64_t bytes);
int rv_space_write(const struct rv_space *s, uint64_t va, const void *from, uint64_t bytes);

#endif
