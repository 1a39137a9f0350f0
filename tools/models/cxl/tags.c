// SPDX-License-Identifier: GPL-2.0-or-later
#include <stddef.h>
#include <stdlib.h>
#include "ram.h"
#include "tags.h"

bool tags_init(struct tags *t, uint64_t bytes, uint32_t ways)
{
	t->ways = ways;
	t->clock = 0;
	t->sets = 1;
	while (2 * t->sets * ways * RAM_LINE <= bytes)
		t->sets *= 2;
	t->tags = calloc(t->sets * ways, sizeof(*t->tags));
	return t->tags;
}

void tags_free(struct tags *t)
{
	free(t->tags);
}

struct tag *tags_victim(struct tags *t, uint64_t line, uint64_t now, uint64_t *until)
{
	struct tag *set = tags_set(t, line), *best = NULL;

	*until = UINT64_MAX;
	for (uint32_t i = 0; i < t->ways; i++) {
		if (!set[i].line)
			return &set[i];
		if (set[i].ready > now)
			*until = set[i].ready < *until ? set[i].ready : *until;
		else if (!best || set[i].used < best->used)
			best = &set[i];
	}
	return best;
}

void tags_put(struct tags *t, struct tag *victim, uint64_t line, uint64_t ready, bool whole)
{
	victim->line = line + 1;
	victim->ready = ready;
	victim->dirty = 0;
	victim->whole = whole;
	victim->used = ++t->clock;
}
