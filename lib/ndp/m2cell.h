/* SPDX-License-Identifier: MIT */
/*
 * Cells of M2func (annex/m2wire.h): their offsets, and how both sides store and load them.
 */
#ifndef ANNEX_NDP_M2CELL_H
#define ANNEX_NDP_M2CELL_H

#include <stdbool.h>
#include <annex/detail/atomic.h>
#include <annex/m2wire.h>

#define M2_WORDS (ANNEX_M2_STRIDE_MAX / 8)

/* struct m2_layout - Layout of a region with @kernels records. */
struct m2_layout {
	uint32_t stride;
	uint32_t slots;
	uint32_t kernels;
};

/* annex_m2_layout_right() - Whether the protocol allows this stride and number of slots. */
bool annex_m2_layout_right(const struct m2_layout *l);

static inline uint64_t m2_cells_at(void)
{
	return ANNEX_M2_PAGE;
}

static inline uint32_t m2_cells(const struct m2_layout *l)
{
	return l->slots * ANNEX_M2_FUNCTIONS;
}

static inline uint64_t m2_records_at(const struct m2_layout *l)
{
	return m2_cells_at() + (uint64_t)m2_cells(l) * l->stride;
}

static inline uint64_t m2_doors_at(const struct m2_layout *l)
{
	uint64_t end = m2_records_at(l) + l->kernels * sizeof(struct annex_m2_record);

	return (end + ANNEX_M2_PAGE - 1) / ANNEX_M2_PAGE * ANNEX_M2_PAGE;
}

static inline uint64_t m2_bytes(const struct m2_layout *l)
{
	return m2_doors_at(l) + sizeof(struct annex_m2_doors);
}

/* m2_next() - The number after @seq, which is never 0. */
static inline uint32_t m2_next(uint32_t seq)
{
	return seq + 1 ? seq + 1 : 1;
}

static inline uint64_t *m2_word_of(char *cell, uint32_t stride)
{
	return (uint64_t *)(void *)(cell + stride - sizeof(uint64_t));
}

/* m2_word_half() - The half of a word that an answer changes, for futexes. */
static inline uint32_t *m2_word_half(uint64_t *word)
{
	return (uint32_t *)word + 1;
}

/* annex_m2_word() - The word for a payload of @n words. */
uint64_t annex_m2_word(const uint64_t *payload, unsigned int n, uint32_t seq, bool answer);

/*
 * annex_m2_rest() - Number of words of a launch's arguments in the slot's cell ANNEX_M2_REST,
 * because they do not fit in its own cell, with @payload.
 */
unsigned int annex_m2_rest(uint32_t function, const uint64_t *payload, uint32_t stride);

/*
 * annex_m2_store_cell() - Store the payload first and the word last, by as few instructions as
 * possible: one if a vector register has the size of the cell.
 * annex_m2_store_rest() - Store a cell without a word, before the word of another cell.
 * annex_m2_fence() - Order a store before the check whether the other side sleeps.
 */
void annex_m2_store_cell(char *cell, uint32_t stride, const uint64_t *payload, uint64_t word);
void annex_m2_store_rest(char *cell, uint32_t stride, const uint64_t *words);
void annex_m2_fence(void);

/*
 * annex_m2_load_cell() - Load the word, and all bytes of the cell to @all, by as few instructions
 * as possible. The checksum detects a concurrent store by the other side. annex_m2_load_rest() -
 * Load a cell without a word.
 */
uint64_t annex_m2_load_cell(const char *cell, uint32_t stride, uint64_t *all);
void annex_m2_load_rest(const char *cell, uint32_t stride, uint64_t *words);

#endif
