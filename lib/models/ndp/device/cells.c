// SPDX-License-Identifier: MIT
/*
 * Cells: a store becomes a call, its answer goes where the call was. M2NDP section III-B.
 */
#include <errno.h>
#include <string.h>
#include "core/futex.h"
#include "core/log.h"
#include "front.h"

#define LOOKS 16u /* at a call that is torn: it may be in the middle of being stored */
#define COLD 4u   /* cells that were not called lately, a look */
#define RECORD_WORDS (ANNEX_M2_KERNELS * sizeof(struct annex_m2_record) / 8)

static _Thread_local const struct ndp_front *watched;

void ndp_cells_watch(const struct ndp_front *f)
{
	watched = f;
}

void ndp_cells_tell(struct ndp_front *f)
{
	struct annex_m2_record all[ANNEX_M2_KERNELS];
	uint64_t words[RECORD_WORDS];
	uint64_t *to = (uint64_t *)(void *)(f->region + m2_records_at(&f->layout));

	ndp_records(f->client, all);
	memcpy(words, all, sizeof(all));
	/* Relaxed: the later store of the answer orders these words for the waiting thread. */
	for (unsigned int i = 0; i < RECORD_WORDS; i++)
		annex_atomic_store(&to[i], words[i], ANNEX_RELAXED);
}

static char *cell_of(const struct ndp_front *f, uint32_t number)
{
	return f->region + m2_cells_at() + (uint64_t)number * f->layout.stride;
}

static void count(uint64_t *what)
{
	/* Relaxed: one thread counts, and readers need only the number. */
	annex_atomic_store(what, *what + 1, ANNEX_RELAXED);
}

/* A host that sleeps on one of these cells. */
static void ring(struct ndp_front *f, const uint16_t *numbers, unsigned int n)
{
	uint32_t stride = f->layout.stride;

	annex_m2_fence();
	/* Sequentially consistent, with the answers that were stored before the fence: a thread
	 * counts itself as sleeping before it looks at its cell for the last time. */
	if (!annex_atomic_load(&f->doors->sleepers, ANNEX_SEQ_CST))
		return;
	for (unsigned int i = 0; i < n; i++)
		futex_rouse(m2_word_half(m2_word_of(cell_of(f, numbers[i]), stride)), 1, true);
}

void ndp_cells_ring(struct ndp_front *f)
{
	if (f->nunrung)
		ring(f, f->unrung, f->nunrung);
	f->nunrung = 0;
}

/* The watching thread looks for sleepers when it has nothing else to do. */
static void ring_later(struct ndp_front *f, uint32_t number)
{
	const uint16_t one = (uint16_t)number;

	if (watched != f) {
		ring(f, &one, 1);
		return;
	}
	if (f->nunrung == NDP_UNRUNG)
		ndp_cells_ring(f);
	f->unrung[f->nunrung++] = one;
}

static void store_answer(struct ndp_cell *c, uint32_t seq, const struct annex_m2_answer *a)
{
	struct ndp_front *f = c->f;
	uint32_t stride = f->layout.stride;
	uint64_t payload[M2_WORDS];
	char *cell = cell_of(f, c->number);

	memset(payload, 0, stride);
	memcpy(payload, a, sizeof(*a));
	annex_m2_store_cell(cell, stride, payload,
			    annex_m2_word(payload, stride / 8 - 1, seq, true));
	ring_later(f, c->number);
}

/*
 * The call of a cell has been carried out, or refused for good. The cell is given back to the
 * watching thread (release) after the answer is there, or that thread would take the call for one
 * that is repeated.
 */
static void settle(struct ndp_cell *c, const struct annex_m2_answer *a)
{
	c->kept = *a;
	c->last = c->seq;
	store_answer(c, c->seq, a);
	annex_atomic_store(&c->busy, 0u, ANNEX_RELEASE);
}

/* As ndp_done: here, or in a thread of the device. */
static void answered(void *ctx, const struct annex_m2_answer *a)
{
	struct ndp_cell *c = ctx;
	struct ndp_front *f = c->f;
	uint32_t function = c->number % ANNEX_M2_FUNCTIONS;

	if (a->value >= 0 && (function == ANNEX_M2_REGISTER || function == ANNEX_M2_UNREGISTER))
		ndp_cells_tell(f);
	settle(c, a);
}

/* It was no call: the answer says so, and the cell is as before. */
static bool refuse(struct ndp_cell *c, uint32_t seq, int why)
{
	const struct annex_m2_answer a = {.value = why, .addr = why == -EPROTO ? c->last : 0};

	store_answer(c, seq, &a);
	return true;
}

/*
 * ANNEX_M2_ATTACH and _DETACH: memory of a process, as the process itself names it. A guest's
 * driver cannot be asked. Return: 0, or a negative errno.
 */
static int change_map(struct ndp_front *f, uint32_t function, const struct annex_m2_attach *asked)
{
	uint64_t va = asked->va & ~(uint64_t)(ANNEX_M2_PAGE - 1);
	unsigned int prot = (unsigned int)(asked->va - va);

	if (function == ANNEX_M2_DETACH)
		return prot || asked->offset
			       ? annex_fail(-EINVAL, "NDP: process %u detaches no such thing",
					    ndp_client_asid(f->client))
			       : ndp_client_unmap(f->client, va, asked->bytes);
	if (!prot || prot & ~3u || asked->offset % ANNEX_M2_PAGE ||
	    asked->offset > f->opts.memory_bytes || !asked->bytes ||
	    asked->bytes > f->opts.memory_bytes - asked->offset)
		return annex_fail(-EINVAL, "NDP: process %u: %llu bytes at %llu are not served",
				  ndp_client_asid(f->client), (ull)asked->bytes,
				  (ull)asked->offset);
	return ndp_client_map(f->client, va, f->opts.memory + asked->offset, asked->bytes, prot);
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
		a.value = change_map(c->f, function, &asked);
	settle(c, &a);
}

/* @bytes: of the payload. */
static bool start_call(struct ndp_cell *c, uint64_t word, const uint64_t *payload, uint32_t bytes)
{
	struct ndp_front *f = c->f;
	uint32_t seq = (uint32_t)word, function = c->number % ANNEX_M2_FUNCTIONS;

	if (seq && seq == c->last) {
		count(&f->stats.repeated);
		store_answer(c, seq, &c->kept);
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
	if (f->opts.memory && (function == ANNEX_M2_ATTACH || function == ANNEX_M2_DETACH))
		attach(c, function, payload);
	else
		ndp_call(f->client, function, payload, bytes, answered, c);
	return true;
}

/* Load a call from its cell, and the word of another cell. Return: words of the call; 0: torn. */
static unsigned int load_call(struct ndp_cell *c, uint64_t *all, uint64_t *word)
{
	struct ndp_front *f = c->f;
	uint32_t stride = f->layout.stride, function = c->number % ANNEX_M2_FUNCTIONS;
	unsigned int n = stride / 8 - 1, rest;

	*word = annex_m2_load_cell(cell_of(f, c->number), stride, all);
	rest = annex_m2_rest(function, all, stride);
	if (rest)
		annex_m2_load_rest(cell_of(f, c->number - function + ANNEX_M2_REST), stride,
				   all + n);
	n += rest;
	return annex_m2_word(all, n, (uint32_t)*word, false) == *word ? n : 0;
}

bool ndp_cell_look(struct ndp_front *f, uint32_t number)
{
	struct ndp_cell *c = &f->cell[number];
	uint64_t payload[M2_WORDS], seen, word;

	if (number % ANNEX_M2_FUNCTIONS == ANNEX_M2_REST)
		return false;
	for (unsigned int looks = 0;; looks++) {
		unsigned int n;

		/*
		 * Acquire: pairs with the caller's store of the word after the payload.
		 * Sequentially consistent, since it may be the last look before sleeping: see
		 * annex_m2_fence().
		 */
		seen = annex_atomic_load(m2_word_of(cell_of(f, number), f->layout.stride),
					 ANNEX_SEQ_CST);
		/* Acquire: what settle() released. A call being answered wants another look. */
		if (annex_atomic_load(&c->busy, ANNEX_ACQUIRE))
			return seen != c->word;
		if (!seen || seen & ANNEX_M2_ANSWER)
			return false;
		n = load_call(c, payload, &word);
		if (n)
			return start_call(c, word, payload, n * 8);
		if (looks == LOOKS) {
			count(&f->stats.torn);
			return refuse(c, (uint32_t)seen, -EBADMSG);
		}
		annex_pause();
	}
}

static void warm(struct ndp_front *f, uint32_t number)
{
	struct ndp_cell *c = &f->cell[number];

	if (c->hot || f->nhot == NDP_HOT)
		return;
	c->hot = true;
	f->hot[f->nhot++] = (uint16_t)number;
}

void ndp_cells_cool(struct ndp_front *f)
{
	while (f->nhot)
		f->cell[f->hot[--f->nhot]].hot = false;
	f->at = 0;
}

/* Look at a few of all cells, so that a busy caller cannot starve a new one. */
static bool look_at_cold(struct ndp_front *f)
{
	for (unsigned int i = 0; i < COLD; i++) {
		uint32_t number = f->cold;

		f->cold = f->cold + 1 < m2_cells(&f->layout) ? f->cold + 1 : 0;
		if (!ndp_cell_look(f, number))
			continue;
		warm(f, number);
		return true;
	}
	return false;
}

bool ndp_cells_look(struct ndp_front *f)
{
	if (look_at_cold(f))
		return true;
	for (unsigned int i = 0; i < f->nhot; i++) {
		uint32_t number = f->hot[f->at];

		f->at = f->at + 1 < f->nhot ? f->at + 1 : 0;
		if (ndp_cell_look(f, number))
			return true;
	}
	return false;
}

bool ndp_cells_look_at_all(struct ndp_front *f)
{
	bool some = false;

	for (uint32_t i = 0; i < m2_cells(&f->layout); i++) {
		if (!ndp_cell_look(f, i))
			continue;
		warm(f, i);
		some = true;
	}
	return some;
}
