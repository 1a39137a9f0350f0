// SPDX-License-Identifier: MIT
/*
 * Reads and writes of many elements at once.
 *
 * A read of cached elements takes no references, which would cost two atomic operations each: it
 * notes where the line is, copies, and looks whether the line is still there (residence: slot and
 * version). The version counts claims in 18 bits; it would have to wrap exactly between the two
 * looks, during a quarter of a million claims with that one word, to fool us.
 */
#include <errno.h>
#include "element.h"
#include "entry.h"
#include "miss.h"
#include "cache.h"

#define AHEAD 256u /* members whose lines are read ahead together */

/* Members that pass as a group: one bit each in a word. */
struct group {
	uint64_t word[ANNEX_GROUP];
	const uint64_t *state[ANNEX_GROUP];
	const char *at[ANNEX_GROUP];
};

static void touch(const struct group *g, unsigned int n)
{
	for (unsigned int k = 0; k < n; k++)
		if ((g->word[k] & (ANNEX_LINE_VALID | ANNEX_LINE_REFERENCED)) == ANNEX_LINE_VALID)
			annex_atomic_or((uint64_t *)g->state[k], ANNEX_LINE_REFERENCED,
					ANNEX_RELAXED);
}

/*
 * Three passes without branches, so that the misses of the processor's caches overlap: find all
 * words, copy all elements, look at all words again. Return: a bit for each member that was not
 * there, and whose copy is worth nothing.
 */
ELEMENT_INLINE ANNEX_RACY uint64_t copy_cached(const struct annex_array *a, const uint64_t *idx,
					       unsigned int n, char *out, uint32_t elem, bool table)
{
	const struct annex_cache *c = a->cache;
	uint64_t all = ANNEX_LINE_VALID | ANNEX_LINE_REFERENCED, bad = 0;
	struct group g;

	for (unsigned int k = 0; k < n; k++) {
		uint64_t byte = a->base + idx[k] * elem, line = byte >> c->line_shift;
		uint64_t at = table ? annex_table_find(c, line, ENTRY_STEPS) : line;

		g.state[k] = &c->dir[at];
		/* Acquire: pairs with annex_line_filled(). */
		g.word[k] = annex_atomic_load(g.state[k], ANNEX_ACQUIRE);
		/* As long as this word's claim is the last, the entry is the line's. */
		if (table && annex_entry_line(c, at) != line)
			g.word[k] = 0;
		/* An absent line's slot number is 0: readable, and refused below. */
		g.at[k] = annex_slot_mem(c, annex_word_slot(g.word[k])) + (byte & (c->line - 1));
		__builtin_prefetch(g.at[k]);
		all &= g.word[k];
	}
	for (unsigned int k = 0; k < n; k++)
		annex_element_load(out + (size_t)k * elem, g.at[k], elem);
	for (unsigned int k = 0; k < n; k++) {
		/* After the copies, by their acquire. */
		uint64_t now = annex_atomic_load(g.state[k], ANNEX_RELAXED);
		bool moved = ((now ^ g.word[k]) & ANNEX_LINE_RESIDENCE) | (~now & ANNEX_LINE_VALID);

		bad |= (uint64_t)moved << k;
	}
	if (!(all & ANNEX_LINE_REFERENCED))
		touch(&g, n);
	return bad;
}

/* A copy of the loop for each common size, so that the copies are plain loads. */
ANNEX_RACY static uint64_t gather_cached(const struct annex_array *a, const uint64_t *idx,
					 unsigned int n, char *out)
{
	if (annex_is_table(a->cache))
		return copy_cached(a, idx, n, out, a->elem, true);
	switch (a->elem) {
	case 4:
		return copy_cached(a, idx, n, out, 4, false);
	case 8:
		return copy_cached(a, idx, n, out, 8, false);
	default:
		return copy_cached(a, idx, n, out, a->elem, false);
	}
}

/* Some members of a group, their lines, and what to do with the elements. */
struct part {
	const struct annex_array *a;
	const uint64_t *idx;
	char *out;       /* gather to here, */
	const char *val; /* or scatter from here */
	uint8_t member[ANNEX_GROUP];
	uint64_t lines[ANNEX_GROUP];
};

static void move(const struct part *p, unsigned int k, void *line)
{
	uint32_t elem = p->a->elem;
	uint64_t byte = annex_array_byte(p->a, p->idx[p->member[k]]);
	char *at = (char *)line + (byte & (p->a->cache->line - 1));
	size_t there = (size_t)p->member[k] * elem;

	if (p->out)
		annex_element_load(p->out + there, at, elem);
	else
		annex_element_store(at, p->val + there, elem);
}

/* Members [@from, @from + @n) with their lines pinned; halves, if so many cannot be held. */
static int move_pinned(const struct part *p, unsigned int from, unsigned int n)
{
	struct annex_cache *c = p->a->cache;
	unsigned int flags = p->out ? 0 : ANNEX_PIN_WRITE;
	void *data[ANNEX_GROUP];
	uint64_t failed;
	int err;

	err = annex_pin_group(c, p->lines + from, n, flags, data, &failed);
	if (err == -EBUSY && n > 1) {
		err = move_pinned(p, from, n / 2);
		return err ? err : move_pinned(p, from + n / 2, n - n / 2);
	}
	if (err)
		return annex_fill_fail(c, failed, err);
	for (unsigned int k = 0; k < n; k++)
		move(p, from + k, data[k]);
	annex_cache_unpin_group(c, p->lines + from, n, flags);
	return 0;
}

/* All @n members, in parts so large that all threads at this can hold theirs at once. */
static int move_parts(const struct part *p, unsigned int n)
{
	struct annex_cache *c = p->a->cache;
	/* Relaxed: an estimate; a thread that is wrong finds the cache busy and halves. */
	uint32_t groups = annex_atomic_add(&c->groups, 1, ANNEX_RELAXED) + 1;
	uint32_t part = c->nslots / 4 / groups;
	int err = 0;

	if (part < 1)
		part = 1;
	for (unsigned int at = 0; at < n && !err; at += part)
		err = move_pinned(p, at, n - at < part ? n - at : part);
	annex_atomic_sub(&c->groups, 1, ANNEX_RELAXED);
	return err;
}

/* Move the members of a group whose bits are set. */
static int move_members(struct part *p, uint64_t members)
{
	unsigned int n = 0;

	for (; members; members &= members - 1, n++) {
		p->member[n] = (uint8_t)__builtin_ctzll(members);
		p->lines[n] = annex_array_byte(p->a, p->idx[p->member[n]]) >>
			      p->a->cache->line_shift;
	}
	return move_parts(p, n);
}

static int check(const struct annex_array *a, const uint64_t *idx, unsigned int n)
{
	bool out = false;

	for (unsigned int k = 0; k < n; k++)
		out |= idx[k] >= a->count;
	for (unsigned int k = 0; out && k < n; k++)
		if (idx[k] >= a->count)
			return annex_array_out(a, idx[k]);
	return 0;
}

/* The members of a checked group that gather_cached() did not find. */
static int gather_missed(const struct annex_array *a, const uint64_t *idx, uint64_t missed,
			 char *out)
{
	struct part p;

	p.a = a;
	p.idx = idx;
	p.out = out;
	p.val = NULL;
	return move_members(&p, missed);
}

/* An element that gather_cached() did not find. One line needs no group. */
static int get_missed(const struct annex_array *a, uint64_t i, void *out)
{
	struct annex_cache *c = a->cache;
	uint64_t byte = annex_array_byte(a, i), line = byte >> c->line_shift;
	void *data;
	int err = annex_cache_pin(c, line, 0, &data);

	if (err)
		return err;
	annex_element_load(out, (char *)data + (byte & (c->line - 1)), a->elem);
	annex_cache_unpin(c, line, 0);
	return 0;
}

int annex_array_get(const struct annex_array *a, uint64_t i, void *out)
{
	if (__builtin_expect(i >= a->count, 0))
		return annex_array_out(a, i);
	annex_stat_add(a->cache->shards, STAT_BYTES_ASKED, a->elem);
	if (__builtin_expect(gather_cached(a, &i, 1, out) != 0, 0))
		return get_missed(a, i, out);
	annex_stat_add(a->cache->shards, STAT_HITS, 1);
	return 0;
}

/* Start reading for members that come later, as long as that is what gathering waits for. */
static void read_ahead(const struct annex_array *a, const uint64_t *idx, unsigned int n)
{
	uint64_t lines[AHEAD];
	unsigned int lines_n = 0;

	for (unsigned int k = 0; k < n; k++)
		if (idx[k] < a->count)
			lines[lines_n++] = annex_array_byte(a, idx[k]) >> a->cache->line_shift;
	annex_prefetch_lines(a->cache, lines, lines_n);
}

int annex_array_gather(const struct annex_array *a, const uint64_t *idx, unsigned int n, void *out)
{
	unsigned int ahead = 0; /* members before it have been read ahead or gathered */

	for (unsigned int at = 0, k; at < n; at += k) {
		char *to = (char *)out + (size_t)at * a->elem;
		uint64_t missed;
		int err;

		k = n - at < ANNEX_GROUP ? n - at : ANNEX_GROUP;
		err = check(a, idx + at, k);
		if (err)
			return err;
		missed = gather_cached(a, idx + at, k, to);
		annex_stat_add(a->cache->shards, STAT_HITS,
			       k - (unsigned int)__builtin_popcountll(missed));
		if (!missed)
			continue;
		if (ahead < at + k)
			ahead = at + k;
		if (ahead < n && ahead - at <= AHEAD / 2) {
			unsigned int more = n - ahead < AHEAD ? n - ahead : AHEAD;

			read_ahead(a, idx + ahead, more);
			ahead += more;
		}
		err = gather_missed(a, idx + at, missed, to);
		if (err)
			return err;
	}
	annex_stat_add(a->cache->shards, STAT_BYTES_ASKED, (uint64_t)n * a->elem);
	return 0;
}

int annex_array_scatter(const struct annex_array *a, const uint64_t *idx, unsigned int n,
			const void *vals)
{
	int err = check(a, idx, n);
	struct part p;

	p.a = a;
	p.out = NULL;
	for (unsigned int at = 0, k; at < n && !err; at += k) {
		k = n - at < ANNEX_GROUP ? n - at : ANNEX_GROUP;
		p.idx = idx + at;
		p.val = (const char *)vals + (size_t)at * a->elem;
		err = move_members(&p, k < ANNEX_GROUP ? (1ull << k) - 1 : UINT64_MAX);
	}
	if (!err)
		annex_stat_add(a->cache->shards, STAT_BYTES_ASKED, (uint64_t)n * a->elem);
	return err;
}
