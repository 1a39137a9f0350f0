// SPDX-License-Identifier: MIT
/*
 * Cells: a store becomes a call, its answer goes where the call was. M2NDP section III-B.
 */
#include <errno.h>
#include <string.h>
#include "core/futex.h"
#include "front.h"

#define LOOKS 16u      /* at a call that is torn: it may be in the middle of being stored */
#define REST_EVERY 32u /* passes between looks at slots that were never called in */

static char *cell_of(const struct ndp_front *f, uint32_t number)
{
	return f->region + m2_cells_at() + (uint64_t)number * f->layout.stride;
}

static void count(uint64_t *what)
{
	/* Relaxed: one thread counts, and who reads wants no more than the number. */
	annex_atomic_store(what, *what + 1, ANNEX_RELAXED);
}

static void put(struct ndp_cell *c, uint32_t seq, const struct annex_m2_answer *a)
{
	struct ndp_front *f = c->f;
	uint32_t stride = f->layout.stride;
	uint64_t payload[M2_WORDS], *word;
	char *cell = cell_of(f, c->number);

	memset(payload, 0, stride);
	memcpy(payload, a, sizeof(*a));
	m2_store(cell, stride, payload, m2_word(payload, stride / 8 - 1, seq, true));
	if (f->transport == ANNEX_M2_RING) {
		ndp_ring_post(f, c->number);
		return;
	}
	if (f->transport == ANNEX_M2_REGS)
		ndp_regs_done(f);
	word = m2_word_of(cell, stride);
	/* Sequentially consistent, as the store of the word: see m2_store(). */
	if (annex_atomic_load(&f->doors->sleepers, ANNEX_SEQ_CST))
		futex_rouse(m2_word_half(word), 1);
}

/*
 * The call of a cell has been carried out, or refused for good. Where every store is seen, the cell
 * is given back to the watching thread (release) after the answer is there, or that thread would
 * take the call for one that is repeated. Else before, so that who announces the next call is not
 * overlooked.
 */
static void settle(struct ndp_cell *c, const struct annex_m2_answer *a)
{
	bool seen = c->f->transport == ANNEX_M2_CELLS;
	uint32_t seq = c->seq;

	c->kept = *a;
	c->last = seq;
	if (seen)
		put(c, seq, a);
	annex_atomic_store(&c->busy, 0u, ANNEX_RELEASE);
	if (!seen)
		put(c, seq, a);
}

/* As ndp_done: here, or in a thread of the device. */
static void answered(void *ctx, const struct annex_m2_answer *a)
{
	struct ndp_cell *c = ctx;
	struct ndp_front *f = c->f;
	uint32_t function = c->number % ANNEX_M2_FUNCTIONS;

	if (a->value >= 0 && (function == ANNEX_M2_REGISTER || function == ANNEX_M2_UNREGISTER))
		ndp_front_tell(f);
	if (function == ANNEX_M2_LAUNCH && a->value > 0)
		/* Relaxed: the registers are looked at when this call is not busy any more. */
		annex_atomic_store(&f->instance, (uint64_t)a->value, ANNEX_RELAXED);
	settle(c, a);
}

/* It was no call: the answer says so, and the cell is as before. */
static bool refuse(struct ndp_cell *c, uint32_t seq, int why)
{
	const struct annex_m2_answer a = {.value = why, .addr = why == -EPROTO ? c->last : 0};

	put(c, seq, &a);
	return true;
}

static void attach(struct ndp_cell *c, uint32_t function, const uint64_t *payload)
{
	uint32_t words = c->f->layout.stride / 8 - 1;
	struct annex_m2_answer a = {0};
	struct annex_m2_attach asked;

	memcpy(&asked, payload, sizeof(asked));
	for (uint32_t i = sizeof(asked) / 8; i < words; i++)
		if (payload[i])
			a.value = -EINVAL;
	if (!a.value)
		a.value = ndp_front_attach(c->f, function, &asked);
	settle(c, &a);
}

static bool begin(struct ndp_cell *c, uint64_t word, const uint64_t *payload)
{
	static const struct annex_m2_answer taken = {.value = -EBUSY};
	struct ndp_front *f = c->f;
	uint32_t seq = (uint32_t)word, function = c->number % ANNEX_M2_FUNCTIONS;

	if (seq && seq == c->last) {
		count(&f->stats.repeated);
		put(c, seq, &c->kept);
		return true;
	}
	if (seq != m2_next(c->last)) {
		count(&f->stats.lost);
		return refuse(c, seq, -EPROTO);
	}
	count(&f->stats.calls);
	c->seq = seq;
	c->word = word;
	/* Relaxed: this thread alone looks at it before ndp_call() hands the cell on. */
	annex_atomic_store(&c->busy, 1u, ANNEX_RELAXED);
	if (function == ANNEX_M2_LAUNCH && f->transport == ANNEX_M2_REGS && ndp_regs_taken(f))
		settle(c, &taken);
	else if (f->opts.memory && (function == ANNEX_M2_ATTACH || function == ANNEX_M2_DETACH))
		attach(c, function, payload);
	else
		ndp_call(f->client, function, payload, f->layout.stride - sizeof(word), answered,
			 c);
	return true;
}

bool ndp_cell_look(struct ndp_front *f, uint32_t number)
{
	struct ndp_cell *c = &f->cell[number];
	char *cell = cell_of(f, number);
	uint32_t stride = f->layout.stride;
	uint64_t payload[M2_WORDS], word;

	for (unsigned int looks = 0;; looks++) {
		/*
		 * Acquires the payload from who stored the word; sequentially consistent, since it
		 * may be the last look before sleeping: see m2_store().
		 */
		word = annex_atomic_load(m2_word_of(cell, stride), ANNEX_SEQ_CST);
		/* Acquire: what settle() released. What is being answered wants another look. */
		if (annex_atomic_load(&c->busy, ANNEX_ACQUIRE))
			return word != c->word;
		if (!word || word & ANNEX_M2_ANSWER)
			return false;
		m2_load(cell, stride, payload);
		if (m2_word(payload, stride / 8 - 1, (uint32_t)word, false) == word)
			break;
		if (looks == LOOKS) {
			count(&f->stats.torn);
			return refuse(c, (uint32_t)word, -EBADMSG);
		}
		annex_pause();
	}
	return begin(c, word, payload);
}

bool ndp_cells_look(struct ndp_front *f, bool all)
{
	uint32_t cells = (all || !(f->pass++ % REST_EVERY) ? f->layout.slots : f->used) *
			 ANNEX_M2_FUNCTIONS;
	bool some = false;

	for (uint32_t i = 0; i < cells; i++) {
		if (!ndp_cell_look(f, i))
			continue;
		some = true;
		if (i / ANNEX_M2_FUNCTIONS >= f->used)
			f->used = i / ANNEX_M2_FUNCTIONS + 1;
	}
	return some;
}
