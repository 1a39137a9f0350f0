// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>
#include "core/least.h"
#include "piece.h"

#define LEAST 4096u /* bytes: smaller commands take a disk as long */
#define MARKS 2u

/* Commands of a round that may take longer than a mark allows. */
static const unsigned int allowed[MARKS] = {PIECE_ROUND / 2, PIECE_ROUND / 100};

static void resize(struct piece *p, uint64_t bytes)
{
	p->bytes = least(bytes / p->least * p->least, p->most);
	if (p->bytes < p->least)
		p->bytes = p->least;
	p->calm = 0;
}

void serve_piece_init(struct piece *p, uint64_t block, uint64_t most)
{
	*p = (struct piece){.least = block > LEAST ? block : LEAST, .most = most};
	resize(p, PIECE_START);
}

void serve_piece_alone(struct piece *p, uint64_t ns)
{
	p->alone[p->nalone++ % PIECE_ROUND] = ns;
}

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void begin_round(struct piece *p)
{
	uint64_t alone[PIECE_ROUND];

	memcpy(alone, p->alone, sizeof(alone));
	qsort(alone, PIECE_ROUND, sizeof(alone[0]), compare);
	for (unsigned int i = 0; i < MARKS; i++)
		p->mark[i] = (struct mark){.ns = alone[PIECE_ROUND - 1 - allowed[i]]};
	p->full = 0;
}

/* Whether a mark's commands are late: that of the median, or that of the 99th percentile. */
static bool is_late(const struct piece *p, unsigned int mark)
{
	return p->mark[mark].late > allowed[mark];
}

static bool any_late(const struct piece *p)
{
	return is_late(p, 0) || is_late(p, 1);
}

static bool is_early(const struct piece *p)
{
	return p->mark[0].longer <= allowed[0] && p->mark[1].longer <= allowed[1];
}

static uint64_t added(uint64_t alone, uint64_t ns)
{
	return ns > alone ? ns - alone : 0;
}

/* By how much the median is late; 0: it is not. */
static uint64_t lateness(struct piece *p)
{
	if (!is_late(p, 0))
		return 0;
	qsort(p->beside, PIECE_ROUND, sizeof(p->beside[0]), compare);
	return added(p->mark[0].ns, p->beside[PIECE_ROUND / 2]);
}

/* Whether a round of half the size, which is late still, is better than the one before. */
static bool helped(const struct piece *p, uint64_t by)
{
	if (by)
		return by <= p->before / 4 * 3;
	return p->before || p->mark[1].late <= p->late / 2;
}

static void shrink(struct piece *p)
{
	p->refused = p->bytes;
	resize(p, p->bytes / 2);
}

static void grow(struct piece *p)
{
	p->last = p->bytes < p->most ? DOUBLED : KEPT;
	resize(p, 2 * p->bytes);
}

/* A round has left the size as it was. */
static void stay(struct piece *p)
{
	if (++p->calm < PIECE_CALM)
		return;
	p->refused = 0;
	p->excused = false;
	grow(p);
}

/* A whole round was late. */
static void halve(struct piece *p, enum piece_last last)
{
	const uint64_t by = lateness(p);

	if (last == HALVED && !helped(p, by)) {
		resize(p, 2 * p->bytes);
		p->excused = true;
		return;
	}
	p->before = by;
	p->late = p->mark[1].late;
	p->last = p->bytes > p->least ? HALVED : KEPT;
	shrink(p);
}

static void end_round(struct piece *p)
{
	const enum piece_last last = p->last;
	const bool late = any_late(p), full = p->full > PIECE_ROUND / 2;

	p->n = 0;
	p->last = KEPT;
	if (late && last == DOUBLED)
		shrink(p);
	else if (late && !p->excused)
		halve(p, last);
	else if (!late && full && is_early(p) && (!p->refused || 2 * p->bytes < p->refused))
		grow(p);
	else if (late || full)
		stay(p);
}

void serve_piece_beside(struct piece *p, bool full, uint64_t ns)
{
	if (p->nalone < PIECE_ROUND)
		return;
	if (!p->n)
		begin_round(p);
	for (unsigned int i = 0; i < MARKS; i++) {
		struct mark *m = &p->mark[i];
		const uint64_t more = added(m->ns, ns);

		m->longer += more > m->ns / 2;
		m->late += more > m->ns;
	}
	p->beside[p->n++] = ns;
	p->full += full;
	if (p->n == PIECE_ROUND || (p->last == DOUBLED && any_late(p)))
		end_round(p);
}

bool serve_piece_turn(struct piece *p)
{
	if (++p->turns < (p->nalone < PIECE_ROUND ? PIECE_ALONE_UNKNOWN : PIECE_ALONE))
		return false;
	p->turns = 0;
	return true;
}
