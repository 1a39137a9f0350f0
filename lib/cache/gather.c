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
#include "piece.h"
#include "cache.h"

#define AHEAD 256u /* pieces whose lines are read ahead together */

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

/* Up to ANNEX_GROUP pieces: one bit each in a word. */
struct batch {
	const struct annex_array *a;
	const uint64_t *idx;              /* of elements that are one piece each, */
	char *mem;                        /* and the caller's memory for them; */
	const struct annex_piece *pieces; /* or pieces of elements that span lines */
	unsigned int n;
};

/* @elem: bytes of an element, known to the compiler if they are usual; 0: it may span lines. */
ELEMENT_INLINE ANNEX_RACY struct annex_piece piece_at(const struct batch *b, unsigned int k,
						      uint32_t elem)
{
	if (!elem)
		return b->pieces[k];
	return (struct annex_piece){b->a->base + b->idx[k] * elem, b->mem + (size_t)k * elem, elem};
}

static struct annex_piece any_piece(const struct batch *b, unsigned int k)
{
	return piece_at(b, k, b->pieces ? 0 : b->a->elem);
}

/* The next pieces of a walk, in @pieces unless they are whole elements; none at its end. */
ELEMENT_INLINE int next(struct annex_walk *w, struct annex_piece *pieces, struct batch *b,
			bool even)
{
	unsigned int left = w->n - w->at;
	int n;

	if (even) {
		*b = (struct batch){w->a, w->idx + w->at, w->mem + (size_t)w->at * w->a->elem, NULL,
				    left < ANNEX_GROUP ? left : ANNEX_GROUP};
		w->at += b->n;
		return check(w->a, b->idx, b->n);
	}
	n = annex_walk_pieces(w, pieces, ANNEX_GROUP);
	*b = (struct batch){w->a, NULL, NULL, pieces, n < 0 ? 0 : (unsigned int)n};
	return n < 0 ? n : 0;
}

/* Where the pieces of a batch are. */
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
 * words, copy all pieces, look at all words again. Return: a bit for each piece that was not there,
 * and whose copy is worth nothing. @elem: as for piece_at().
 */
ELEMENT_INLINE ANNEX_RACY uint64_t copy_cached(const struct batch b, uint32_t elem, bool table)
{
	const struct annex_cache *c = b.a->cache;
	uint64_t all = ANNEX_LINE_VALID | ANNEX_LINE_REFERENCED, bad = 0;
	struct group g;

	for (unsigned int k = 0; k < b.n; k++) {
		uint64_t byte = piece_at(&b, k, elem).byte, line = byte >> c->line_shift;
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
	for (unsigned int k = 0; k < b.n; k++) {
		const struct annex_piece p = piece_at(&b, k, elem);

		if (elem)
			annex_element_load(p.mem, g.at[k], elem);
		else
			annex_bytes_copy(p.mem, g.at[k], p.len);
	}
	/* Acquire: the copies come before the second look. */
	annex_atomic_fence(ANNEX_ACQUIRE);
	for (unsigned int k = 0; k < b.n; k++) {
		/* After the copies, by the fence. */
		uint64_t now = annex_atomic_load(g.state[k], ANNEX_RELAXED);
		bool moved = ((now ^ g.word[k]) & ANNEX_LINE_RESIDENCE) | (~now & ANNEX_LINE_VALID);

		bad |= (uint64_t)moved << k;
	}
	if (!(all & ANNEX_LINE_REFERENCED))
		touch(&g, b.n);
	return bad;
}

/* A copy of the loop for each common size, so that the copies are plain loads. */
ANNEX_RACY static uint64_t elements_cached(const struct annex_array *a, const uint64_t *idx,
					   unsigned int n, char *mem)
{
	const struct batch b = {a, idx, mem, NULL, n};

	if (annex_is_table(a->cache))
		return copy_cached(b, a->elem, true);
	switch (a->elem) {
	case 4:
		return copy_cached(b, 4, false);
	case 8:
		return copy_cached(b, 8, false);
	default:
		return copy_cached(b, a->elem, false);
	}
}

ANNEX_RACY static uint64_t pieces_cached(const struct annex_array *a,
					 const struct annex_piece *pieces, unsigned int n)
{
	const struct batch b = {a, NULL, NULL, pieces, n};

	return annex_is_table(a->cache) ? copy_cached(b, 0, true) : copy_cached(b, 0, false);
}

/* Some pieces of a batch, and their lines. */
struct part {
	const struct batch *b;
	unsigned int flags; /* ANNEX_PIN_WRITE: scatter */
	uint8_t member[ANNEX_GROUP];
	uint64_t lines[ANNEX_GROUP];
};

static void move(const struct part *p, unsigned int k, void *line)
{
	struct annex_piece piece = any_piece(p->b, p->member[k]);
	char *at = (char *)line + (piece.byte & (p->b->a->cache->line - 1));
	bool write = p->flags & ANNEX_PIN_WRITE;

	if (p->b->pieces)
		annex_bytes_copy(write ? at : piece.mem, write ? piece.mem : at, piece.len);
	else if (write)
		annex_element_store(at, piece.mem, piece.len);
	else
		annex_element_load(piece.mem, at, piece.len);
}

/* Pieces [@from, @from + @n) with their lines pinned; halves, if so many cannot be held. */
static int move_pinned(const struct part *p, unsigned int from, unsigned int n)
{
	struct annex_cache *c = p->b->a->cache;
	void *data[ANNEX_GROUP];
	uint64_t failed;
	int err;

	err = annex_pin_group(c, p->lines + from, n, p->flags, data, &failed);
	if (err == -EBUSY && n > 1) {
		err = move_pinned(p, from, n / 2);
		return err ? err : move_pinned(p, from + n / 2, n - n / 2);
	}
	if (err)
		return annex_fill_fail(c, failed, err);
	for (unsigned int k = 0; k < n; k++)
		move(p, from + k, data[k]);
	annex_cache_unpin_group(c, p->lines + from, n, p->flags);
	return 0;
}

/* All @n pieces, in parts so large that all threads at this can hold theirs at once. */
static int move_parts(const struct part *p, unsigned int n)
{
	struct annex_cache *c = p->b->a->cache;
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

/* Move the pieces of a batch whose bits are set. */
static int move_members(const struct batch *b, uint64_t members, unsigned int flags)
{
	struct part p;
	unsigned int n = 0;

	p.b = b;
	p.flags = flags;
	for (; members; members &= members - 1, n++) {
		p.member[n] = (uint8_t)__builtin_ctzll(members);
		p.lines[n] = any_piece(b, p.member[n]).byte >> b->a->cache->line_shift;
	}
	return move_parts(&p, n);
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
	if (!annex_array_even(a))
		return annex_array_gather(a, &i, 1, out);
	if (__builtin_expect(i >= a->count, 0))
		return annex_array_out(a, i);
	annex_stat_add(a->cache->shards, STAT_BYTES_ASKED, a->elem);
	if (__builtin_expect(elements_cached(a, &i, 1, out) != 0, 0))
		return get_missed(a, i, out);
	annex_stat_add(a->cache->shards, STAT_HITS, 1);
	return 0;
}

/* A walk that runs before a gather. */
struct ahead {
	struct annex_walk w;
	unsigned int lead; /* pieces that it is in front */
};

/* Start reading for pieces that come later, as long as that is what gathering waits for. */
static void read_ahead(struct ahead *ahead)
{
	const struct annex_array *a = ahead->w.a;
	struct annex_piece pieces[ANNEX_GROUP];
	uint64_t lines[AHEAD];
	unsigned int n = 0;
	struct batch b;

	while (n <= AHEAD - ANNEX_GROUP && !next(&ahead->w, pieces, &b, annex_array_even(a)) && b.n)
		for (unsigned int k = 0; k < b.n; k++)
			lines[n++] = any_piece(&b, k).byte >> a->line_shift;
	annex_prefetch_lines(a->cache, lines, n);
	ahead->lead += n;
}

/* Pieces of a batch that were not cached; @w: the walk behind it. */
static __attribute__((noinline)) int gather_missed(struct batch b, struct annex_walk w,
						   uint64_t missed, struct ahead *ahead)
{
	if (!ahead->lead)
		ahead->w = w;
	if (ahead->lead + b.n <= AHEAD / 2)
		read_ahead(ahead);
	return move_members(&b, missed, 0);
}

ELEMENT_INLINE int gather(const struct annex_array *a, const uint64_t *idx, unsigned int n,
			  void *out, bool even)
{
	struct annex_walk w = {a, idx, out, n, 0, 0};
	struct annex_piece pieces[ANNEX_GROUP];
	struct ahead ahead;
	struct batch b;
	int err;

	ahead.lead = 0;
	while (!(err = next(&w, pieces, &b, even)) && b.n) {
		uint64_t missed = even ? elements_cached(a, b.idx, b.n, b.mem)
				       : pieces_cached(a, pieces, b.n);

		annex_stat_add(a->cache->shards, STAT_HITS,
			       b.n - (unsigned int)__builtin_popcountll(missed));
		ahead.lead -= ahead.lead < b.n ? ahead.lead : b.n;
		if (missed)
			err = gather_missed(b, w, missed, &ahead);
		if (err)
			return err;
	}
	if (!err)
		annex_stat_add(a->cache->shards, STAT_BYTES_ASKED, (uint64_t)n * a->elem);
	return err;
}

static __attribute__((noinline)) int gather_rows(const struct annex_array *a, const uint64_t *idx,
						 unsigned int n, void *out)
{
	return gather(a, idx, n, out, false);
}

int annex_array_gather(const struct annex_array *a, const uint64_t *idx, unsigned int n, void *out)
{
	return annex_array_even(a) ? gather(a, idx, n, out, true) : gather_rows(a, idx, n, out);
}

int annex_array_scatter(const struct annex_array *a, const uint64_t *idx, unsigned int n,
			const void *vals)
{
	struct annex_walk w = {a, idx, (char *)vals, n, 0, 0};
	struct annex_piece pieces[ANNEX_GROUP];
	int err = check(a, idx, n);
	struct batch b;

	while (!err && !(err = next(&w, pieces, &b, annex_array_even(a))) && b.n)
		err = move_members(&b, UINT64_MAX >> (ANNEX_GROUP - b.n), ANNEX_PIN_WRITE);
	if (!err)
		annex_stat_add(a->cache->shards, STAT_BYTES_ASKED, (uint64_t)n * a->elem);
	return err;
}
