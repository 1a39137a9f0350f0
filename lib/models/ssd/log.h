/* SPDX-License-Identifier: MIT */
/*
 * The write log in a CXL-SSD's internal DRAM: lines of 64 bytes in the order of their stores, with
 * an index. The owner cleans the whole log at once: lines are written to flash page by page. The
 * journal does not have the entries from @firm on (loose). One thread at a time.
 */
#ifndef ANNEX_HDM_SSD_LOG_H
#define ANNEX_HDM_SSD_LOG_H

#include <stdbool.h>
#include <stdint.h>

#define SSD_NO_ENTRY UINT32_MAX
#define SSD_NO_LINE UINT64_MAX

/*
 * struct ssd_log - A log.
 * @room: entries that fit.
 * @n: number of entries, including superseded ones.
 * @firm: first loose entry.
 * @live: number of entries that are not superseded.
 * @lines: line number of each entry; SSD_NO_LINE: void.
 * @data: bytes of the entries.
 * @index: hash table of entries + 1 by line, with open addressing.
 * @mask: size of @index - 1.
 * @pages: live entries of each logical page.
 * @page_lines: lines of a page.
 */
struct ssd_log {
	uint32_t room, n, firm, live;
	uint64_t *lines;
	char *data;
	uint32_t *index;
	uint32_t mask;
	uint16_t *pages;
	uint32_t page_lines;
};

/* ssd_log_init() - Allocate @bytes, 64 to 1 << 37, for @pages pages of @page_lines lines each (0:
 * without ssd_log_has()). Return: false: out of memory, and ssd_log_free() is safe. */
bool ssd_log_init(struct ssd_log *l, uint64_t bytes, uint64_t pages, uint32_t page_lines);
void ssd_log_free(struct ssd_log *l);

/* ssd_log_find() - The newest entry of a line, or SSD_NO_ENTRY. */
uint32_t ssd_log_find(const struct ssd_log *l, uint64_t line);

static inline char *ssd_log_data(const struct ssd_log *l, uint32_t entry)
{
	return l->data + (uint64_t)entry * 64;
}

/* ssd_log_has() - Whether the log has lines of a page. */
static inline bool ssd_log_has(const struct ssd_log *l, uint32_t page)
{
	return l->pages && l->pages[page];
}

/*
 * ssd_log_put() - Append a line; the log must have room. *@again: it supersedes an entry. Return:
 * its bytes, for the caller to fill in.
 */
char *ssd_log_put(struct ssd_log *l, uint64_t line, bool *again);

/* ssd_log_drop() - Void a line. */
void ssd_log_drop(struct ssd_log *l, uint64_t line);

/* ssd_log_empty() - Drop all entries. ssd_log_firm() - The journal has all entries. */
void ssd_log_empty(struct ssd_log *l);
void ssd_log_firm(struct ssd_log *l);

#endif
