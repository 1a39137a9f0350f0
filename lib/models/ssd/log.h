/* SPDX-License-Identifier: MIT */
/*
 * The write log in a CXL-SSD's internal DRAM: lines of 64 bytes in the order in which they were
 * stored, found by an index. Its owner cleans it as a whole: all of its lines go to flash, those of
 * one page together. Entries from @firm on are loose: the journal does not have them. One thread at
 * a time.
 */
#ifndef ANNEX_HDM_SSD_LOG_H
#define ANNEX_HDM_SSD_LOG_H

#include <stdbool.h>
#include <stdint.h>

#define SSD_NO_ENTRY UINT32_MAX
#define SSD_NO_LINE UINT64_MAX

/*
 * struct ssd_log - @room: entries that fit; @n: that there are, with those that were stored again.
 * @live: those that were not.
 * @lines: number of the line of each entry; SSD_NO_LINE: it counts no more.
 * @index: entries + 1 by their lines, with open addressing; @mask: its size - 1.
 * @pages: live entries of each logical page.
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

/* ssd_log_init() - @bytes of lines, 64 to 1 << 37, of @pages pages of @page_lines lines each (0:
 * its owner does not ask for pages); false: out of memory. ssd_log_free() may follow that. */
bool ssd_log_init(struct ssd_log *l, uint64_t bytes, uint64_t pages, uint32_t page_lines);
void ssd_log_free(struct ssd_log *l);

/* ssd_log_find() - The newest entry of a line, SSD_NO_ENTRY. */
uint32_t ssd_log_find(const struct ssd_log *l, uint64_t line);

static inline char *ssd_log_data(const struct ssd_log *l, uint32_t entry)
{
	return l->data + (uint64_t)entry * 64;
}

/* ssd_log_has() - Whether lines of a page are in it. */
static inline bool ssd_log_has(const struct ssd_log *l, uint32_t page)
{
	return l->pages && l->pages[page];
}

/* ssd_log_put() - Append a line; the log must have room. *@again: it was there. Return: its bytes,
 * which the caller fills in. */
char *ssd_log_put(struct ssd_log *l, uint64_t line, bool *again);

/* ssd_log_drop() - A line counts no more. */
void ssd_log_drop(struct ssd_log *l, uint64_t line);

/* ssd_log_empty() - No entry counts any more. ssd_log_firm() - None is loose any more. */
void ssd_log_empty(struct ssd_log *l);
void ssd_log_firm(struct ssd_log *l);

#endif
