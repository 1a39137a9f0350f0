// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>
#include "log.h"

bool ssd_log_init(struct ssd_log *l, uint64_t bytes, uint64_t pages, uint32_t page_lines)
{
	uint64_t size = 2;

	l->room = (uint32_t)(bytes / 64);
	while (size < 2ull * l->room)
		size *= 2;
	l->mask = (uint32_t)(size - 1);
	l->page_lines = page_lines;
	l->lines = calloc(l->room, sizeof(*l->lines));
	l->data = malloc((size_t)l->room * 64);
	l->index = calloc(size, sizeof(*l->index));
	l->pages = pages ? calloc(pages, sizeof(*l->pages)) : NULL;
	return l->lines && l->data && l->index && (!pages || l->pages);
}

void ssd_log_free(struct ssd_log *l)
{
	free(l->lines);
	free(l->data);
	free(l->index);
	free(l->pages);
}

/* The slot of a line in the index: Fibonacci hashing. */
static uint32_t slot_of(const struct ssd_log *l, uint64_t line)
{
	uint32_t slot = (uint32_t)(line * 0x9e3779b97f4a7c15ull >> 32) & l->mask;

	while (l->index[slot] && l->lines[l->index[slot] - 1] != line)
		slot = (slot + 1) & l->mask;
	return slot;
}

uint32_t ssd_log_find(const struct ssd_log *l, uint64_t line)
{
	return l->index[slot_of(l, line)] - 1; /* 0 - 1: SSD_NO_ENTRY */
}

char *ssd_log_put(struct ssd_log *l, uint64_t line, bool *again)
{
	const uint32_t slot = slot_of(l, line), entry = l->n++;

	*again = l->index[slot];
	/* Void the older entry after the search of the index, which uses its line. */
	if (*again)
		l->lines[l->index[slot] - 1] = SSD_NO_LINE;
	else if (l->pages)
		l->pages[line / l->page_lines]++;
	l->live += !*again;
	l->index[slot] = entry + 1;
	l->lines[entry] = line;
	return ssd_log_data(l, entry);
}

/* Move later entries of the index up, so that no search ends at the gap. */
void ssd_log_drop(struct ssd_log *l, uint64_t line)
{
	uint32_t gap = slot_of(l, line);

	if (!l->index[gap])
		return;
	l->lines[l->index[gap] - 1] = SSD_NO_LINE;
	l->index[gap] = 0;
	l->live--;
	if (l->pages)
		l->pages[line / l->page_lines]--;
	for (uint32_t slot = (gap + 1) & l->mask; l->index[slot]; slot = (slot + 1) & l->mask) {
		uint32_t entry = l->index[slot];

		l->index[slot] = 0;
		l->index[slot_of(l, l->lines[entry - 1])] = entry;
	}
}

void ssd_log_empty(struct ssd_log *l)
{
	for (uint32_t i = 0; l->pages && i < l->n; i++)
		if (l->lines[i] != SSD_NO_LINE)
			l->pages[l->lines[i] / l->page_lines] = 0;
	memset(l->index, 0, ((size_t)l->mask + 1) * sizeof(*l->index));
	l->n = l->firm = l->live = 0;
}

void ssd_log_firm(struct ssd_log *l)
{
	l->firm = l->n;
}
