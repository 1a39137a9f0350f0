/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_HDM_SSD_RECORD_H
#define ANNEX_HDM_SSD_RECORD_H

#include "core/crc32c.h"
#include "file.h"

/*
 * struct ssd_record - The record of a flash page; zeroes before its first program.
 * @since: turn of the host's store.
 * @turn: turn of the program, later than @since for a copy by garbage collection.
 * @page: logical page; with SSD_DAMAGED: some bytes are not the stored ones. SSD_NO_PAGE: void.
 * @worn: erases of the block at the time of the program.
 * @sum: CRC-32C of the bytes.
 * @crc: CRC-32C of the members above and of the page's place.
 */
struct ssd_record {
	uint64_t since, turn;
	uint32_t page, worn;
	uint32_t sum, crc;
};

#define SSD_NO_PAGE UINT32_MAX
#define SSD_DAMAGED (1u << 31)

_Static_assert(sizeof(struct ssd_record) == SSD_RECORD, "as files have it");

static inline uint32_t ssd_record_crc(const struct ssd_record *r, uint32_t at)
{
	const uint64_t words[] = {r->since, r->turn, r->page | (uint64_t)r->worn << 32, at};

	return annex_crc32c(words, 4, r->sum);
}

static inline uint64_t ssd_record_at(const struct ssd_file *f, uint32_t at)
{
	return f->records + (uint64_t)at * sizeof(struct ssd_record);
}

static inline uint64_t ssd_page_at(const struct ssd_file *f, uint32_t at)
{
	return f->pages + (uint64_t)at * f->shape.g.page;
}

#endif
