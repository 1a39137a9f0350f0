// SPDX-License-Identifier: MIT
/*
 * Reads and writes of many elements at once.
 *
 * A read of cached elements takes no references, which would cost two atomic operations each: it
 * notes where the line is, copies, and looks whether the line is still there (residence: slot and
 * version). The version counts claims in 18 bits; it would have to wrap exactly between the two
 * looks, during a quarter of a million reads of that one line, to fool us.
 */
#include <errno.h>
#include "array.h"
#include "element.h"
#include "miss.h"

/* Members that pass as a group: one bit each in a word. */
struct group {
	uint64_t word[ANNEX_GROUP];
	const uint64_t *state[ANNEX_GROUP];
	const char *at[ANNEX_GROUP];
};

static void touch(const struct group *g, unsigned int n)
{
	for (unsigned int k = 0; k < n; k++)
		if ((g->word[k] & (LINE_VALID | LINE_REFERENCED)) == LINE_VALID)
			annex_atomic_or((uint64_t *)g->state[k], LINE_REFERENCED, ANNEX_RELAXED);
}

/*
 * Three passes without branches, so that the misses of the processor's caches overlap: find all
 * words, copy all elements, look at all words again. Return: a bit for each member that was not
 * there, and whose copy is worth nothing.
 */
ELEMENT_INLINE ELEMENT_RACY uint64_t copy_cached(const struct annex_array *a, const uint64_t *idx,
						 unsigned int n, char *out, uint32_t elem)
{
	const struct annex_cache *c = a->cache;
	uint64_t all = LINE_VALID | LINE_REFERENCED, bad = 0;
	struct group g;

	for (unsigned int k = 0; k < n; k++) {
		uint64_t byte = a->base + idx[k] * elem;

		g.state[k] = &c->dir[byte >> c->line_shift];
		/* Acquire: pairs with annex_line_filled(). */
		g.word[k] = annex_atomic_load(g.state[k], ANNEX_ACQUIRE);
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
		bool moved = ((now ^ g.word[k]) & LINE_RESIDENCE) | (~now & LINE_VALID);

		bad |= (uint64_t)moved << k;
	}
	if (!(all & LINE_REFERENCED))
		touch(&g, n);
	return bad;
}

/* A copy of the loop for each common size, so that the copies are plain loads. */
ELEMENT_RACY static uint64_t gather_cached(const struct annex_array *a, const uint64_t *idx,
					   unsigned int n, char *out)
{
	switch (a->elem) {
	case 4:
		return copy_cached(a, idx, n, out, 4);
	case 8:
		return copy_cached(a, idx, n, out, 8);
	default:
		return copy_cached(a, idx, n, out, a->elem);
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
	int err = -EBUSY;

	if (n == 1 || n <= c->nslots / 2)
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

/* Move the members of a group whose bits are set. */
static int move_members(struct part *p, uint64_t members)
{
	unsigned int n = 0;

	for (; members; members &= members - 1, n++) {
		p->member[n] = (uint8_t)__builtin_ctzll(members);
		p->lines[n] = annex_array_byte(p->a, p->idx[p->member[n]]) >>
			      p->a->cache->line_shift;
	}
	return move_pinned(p, 0, n);
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

/* At most ANNEX_GROUP members, checked. */
static int gather_group(const struct annex_array *a, const uint64_t *idx, unsigned int n, char *out)
{
	uint64_t bad = gather_cached(a, idx, n, out);
	unsigned int missed = (unsigned int)__builtin_popcountll(bad);
	struct part p;

	annex_stat_add(a->cache->shards, STAT_HITS, n - missed);
	if (!missed)
		return 0;
	p.a = a;
	p.idx = idx;
	p.out = out;
	p.val = NULL;
	return move_members(&p, bad);
}

int annex_array_get(const struct annex_array *a, uint64_t i, void *out)
{
	if (__builtin_expect(i >= a->count, 0))
		return annex_array_out(a, i);
	annex_stat_add(a->cache->shards, STAT_BYTES_ASKED, a->elem);
	return gather_group(a, &i, 1, out);
}

int annex_array_gather(const struct annex_array *a, const uint64_t *idx, unsigned int n, void *out)
{
	for (unsigned int at = 0, k; at < n; at += k) {
		int err;

		k = n - at < ANNEX_GROUP ? n - at : ANNEX_GROUP;
		err = check(a, idx + at, k);
		if (!err)
			err = gather_group(a, idx + at, k, (char *)out + (size_t)at * a->elem);
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
