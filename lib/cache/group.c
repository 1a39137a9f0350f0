// SPDX-License-Identifier: MIT
/*
 * Groups of lines: what a warp does on a GPU with one match instruction, a small hash table does
 * here. Members that want the same line share one probe and one reference.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include "entry.h"
#include "miss.h"

#define TABLE (2 * ANNEX_GROUP)
#define RETRIES 16u /* groups that took each other's slots let go and begin again */

/* The different lines of up to ANNEX_GROUP members. */
struct group {
	uint64_t lines[ANNEX_GROUP];
	uint64_t at[ANNEX_GROUP]; /* their entries, once they are held */
	uint8_t of[ANNEX_GROUP];  /* for each member, which of them */
	unsigned int n;
};

static void distinct(struct group *g, const uint64_t *lines, unsigned int n)
{
	uint8_t table[TABLE] = {0}; /* index into lines, from 1 */

	g->n = 0;
	for (unsigned int i = 0; i < n; i++) {
		/* Fibonacci hashing: neighbours, the usual case, do not collide. */
		unsigned int h = (unsigned int)((lines[i] * 0x9e3779b97f4a7c15ull) >> 57);

		while (table[h] && g->lines[table[h] - 1] != lines[i])
			h = (h + 1) % TABLE;
		if (!table[h]) {
			g->lines[g->n] = lines[i];
			table[h] = (uint8_t)++g->n;
		}
		g->of[i] = (uint8_t)(table[h] - 1);
	}
}

/* Reference all lines of the group and read the missing ones. */
static int pin_distinct(struct annex_cache *c, struct group *g, unsigned int flags,
			uint64_t *failed)
{
	uint64_t missing[ANNEX_GROUP];
	unsigned int i, nmissing = 0;
	int err = 0;

	for (i = 0; i < g->n; i++) {
		struct annex_held held = annex_entry_hold(c, g->lines[i]);

		g->at[i] = held.at;
		if (held.word == ANNEX_LINE_CROWDED) {
			*failed = g->lines[i];
			err = annex_fill_crowded(c);
			break;
		}
		if (!(held.word & ANNEX_LINE_VALID))
			missing[nmissing++] = g->at[i];
	}
	if (!err && nmissing)
		err = annex_fill(c, missing, nmissing, flags, failed);
	for (unsigned int k = 0; err && k < i; k++)
		annex_entry_put(c, g->at[k]);
	annex_stat_add(c->shards, STAT_HITS, i - nmissing);
	annex_stat_add(c->shards, STAT_MISSES, nmissing);
	return err;
}

static int pin_chunk(struct annex_cache *c, const uint64_t *lines, unsigned int n,
		     unsigned int flags, void **data, uint64_t *failed)
{
	struct group g;
	int err;

	for (unsigned int i = 0; i < n; i++) {
		if (lines[i] >= c->nlines) {
			*failed = lines[i];
			return -ERANGE;
		}
	}
	distinct(&g, lines, n);
	err = pin_distinct(c, &g, flags, failed);
	if (err)
		return err;
	for (unsigned int i = 0; i < n; i++) {
		/* Relaxed: the reference keeps the slot, and its acquire came before. */
		uint64_t word = annex_atomic_load(&c->dir[g.at[g.of[i]]], ANNEX_RELAXED);

		data[i] = annex_slot_mem(c, annex_word_slot(word));
	}
	return 0;
}

static void unpin_chunk(struct annex_cache *c, const uint64_t *lines, unsigned int n,
			unsigned int flags)
{
	struct group g;

	distinct(&g, lines, n);
	for (unsigned int i = 0; i < g.n; i++)
		annex_cache_unpin(c, g.lines[i], flags);
}

static unsigned int chunk(unsigned int left)
{
	return left < ANNEX_GROUP ? left : ANNEX_GROUP;
}

static void unpin_some(struct annex_cache *c, const uint64_t *lines, unsigned int n,
		       unsigned int flags)
{
	for (unsigned int at = 0, k; at < n; at += k) {
		k = chunk(n - at);
		unpin_chunk(c, lines + at, k, flags);
	}
}

static int pin_all(struct annex_cache *c, const uint64_t *lines, unsigned int n, unsigned int flags,
		   void **data, uint64_t *failed)
{
	for (unsigned int at = 0, k; at < n; at += k) {
		int err;

		k = chunk(n - at);
		err = pin_chunk(c, lines + at, k, flags, data + at, failed);
		if (err) {
			unpin_some(c, lines, at, 0);
			return err;
		}
	}
	return 0;
}

int annex_pin_group(struct annex_cache *c, const uint64_t *lines, unsigned int n,
		    unsigned int flags, void **data, uint64_t *failed)
{
	int err;

	/*
	 * Lines that were zeroed for a group that then fails would hide the device's data: a
	 * group reads its lines.
	 */
	flags &= ~ANNEX_PIN_NEW;
	err = pin_all(c, lines, n, flags, data, failed);
	for (unsigned int i = 0; err == -EBUSY && i < RETRIES; i++) {
		sched_yield();
		err = pin_all(c, lines, n, flags, data, failed);
	}
	return err;
}

int annex_cache_pin_group(struct annex_cache *c, const uint64_t *lines, unsigned int n,
			  unsigned int flags, void **data)
{
	uint64_t failed = 0;
	int err = annex_pin_group(c, lines, n, flags, data, &failed);

	return err ? annex_fill_fail(c, failed, err) : 0;
}

void annex_cache_unpin_group(struct annex_cache *c, const uint64_t *lines, unsigned int n,
			     unsigned int flags)
{
	unpin_some(c, lines, n, flags);
}
