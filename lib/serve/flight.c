// SPDX-License-Identifier: MIT
/*
 * Commands that the device has: the worker begins them, splits them into pieces while a priority
 * client is active, and ends them with their results.
 */
#include <errno.h>
#include "core/least.h"
#include "server.h"

#define FIRST_NS (100 * ANNEX_NSEC_PER_MSEC) /* how long a client counts as active */

/* There is room: the worker takes no more commands than there is room for results. */
void serve_put(struct peer *p, uint32_t tag, int result)
{
	p->cq[p->cq_tail++ % ANNEX_SERVE_ENTRIES] = (struct annex_serve_cqe){tag, result};
	if (result)
		p->part->told.failed++;
}

bool serve_beside_first(const struct annex_server *s, uint64_t now)
{
	return now - s->went_first < FIRST_NS;
}

/* Bytes that clients without priority may have in flight additionally. */
uint64_t serve_room(const struct annex_server *s, uint64_t now)
{
	const uint64_t most = serve_beside_first(s, now) ? s->piece.bytes : SERVE_BYTES_MAX;

	return !s->hold && s->load[0].bytes < most ? most - s->load[0].bytes : 0;
}

/* Whether the device has commands of clients without priority. */
bool serve_has_others(const struct annex_server *s)
{
	return s->load[0].bytes || s->load[0].unsized;
}

/* Choose the next piece, no larger than the room in the device. */
static void choose_piece(struct annex_server *s, struct flying *f, uint64_t now)
{
	f->waits = false;
	f->since = f->first ? s->looked : now;
	f->len = serve_has_length(&f->c) ? f->c.len : 0;
	if (!f->first) {
		f->len = least(f->len,
			       serve_beside_first(s, now) ? serve_room(s, now) : SERVE_BYTES_MAX);
		s->given++;
	}
	s->load[f->first].bytes += f->len;
}

void serve_begin(struct annex_server *s, struct peer *p, const struct annex_serve_sqe *c,
		 struct batch *b, uint64_t now)
{
	struct flying *f = &b->f[b->n];

	*f = (struct flying){
		.peer = p,
		.c = *c,
		.first = p->part->told.first,
		.slot = s->slot[--s->nslots],
		.beside = serve_has_others(s),
		.full = !serve_room(s, now),
		.given = s->given,
	};
	choose_piece(s, f, now);
	b->io[b->n++] = serve_describe(s, f);
	p->flying++;
	p->mem[c->mem].flying++;
	s->load[f->first].n++;
	s->load[f->first].unsized += !serve_has_length(c);
}

/* Whether no command of others was in flight beside a priority command. */
static bool ran_alone(const struct annex_server *s, const struct flying *f)
{
	return f->first && !f->beside && f->given == s->given;
}

/* A priority command has succeeded: its time decides the size of pieces. */
static void observe(struct annex_server *s, const struct flying *f, uint64_t now)
{
	if (!f->first || !serve_moves(&f->c))
		return;
	if (ran_alone(s, f))
		serve_piece_alone(&s->piece, now - f->since);
	else
		serve_piece_beside(&s->piece, f->full, now - f->since);
}

/* A command has ended, or could not begin. */
static void end_command(struct annex_server *s, const struct flying *f, int result)
{
	struct peer *p = f->peer;

	s->slot[s->nslots++] = f->slot;
	p->flying--;
	p->mem[f->c.mem].flying--;
	s->load[f->first].n--;
	s->load[f->first].bytes -= f->len;
	s->load[f->first].unsized -= !serve_has_length(&f->c);
	if (ran_alone(s, f))
		s->hold = false;
	if (!p->leaving)
		serve_put(p, f->c.tag, result);
	else if (!p->flying)
		serve_kick(s);
}

static void mark_dead(struct annex_server *s)
{
	if (!s->dead)
		annex_log(ANNEX_LOG_ERROR, "serve: %s is gone: all commands fail",
			  annex_dev_uri(s->dev));
	s->dead = true;
}

/* Submit commands, for which there is room. Return: as annex_qp_submit(). */
static int submit(struct annex_server *s, const struct annex_io *io, unsigned int n,
		  uint64_t *tokens)
{
	int got = annex_qp_submit(s->qp, io, n, tokens, 0);

	if (got == -EIO && !annex_dev_recover(s->dev, s->qp, UINT64_MAX))
		got = annex_qp_submit(s->qp, io, n, tokens, 0);
	if (got == -ENODEV || got == -EIO)
		mark_dead(s);
	return got;
}

/* Commands that the device does not take fail. */
void serve_submit(struct annex_server *s, struct batch *b)
{
	uint64_t tokens[SERVE_BATCH];
	int got;

	if (!b->n)
		return;
	got = submit(s, b->io, b->n, tokens);
	for (unsigned int i = 0; i < b->n; i++) {
		if ((int)i >= got) {
			end_command(s, &b->f[i], got < 0 ? got : -EIO);
			continue;
		}
		b->f[i].token = tokens[i];
		s->flying[s->nflying++] = b->f[i];
	}
	b->n = 0;
}

static bool goes_on(const struct flying *f)
{
	return serve_has_length(&f->c) && f->len < f->c.len && !f->peer->leaving;
}

/* A piece has ended, and the next one waits. */
static void advance(struct annex_server *s, struct flying *f)
{
	s->load[f->first].bytes -= f->len;
	f->c.pos += f->len;
	f->c.offset += f->len;
	f->c.len -= f->len;
	f->len = 0;
	f->waits = true;
}

/* Submit the next piece of a command, whose slot is kept. */
static int go_on(struct annex_server *s, struct flying *f, uint64_t now)
{
	struct annex_io io;
	int got;

	choose_piece(s, f, now);
	io = serve_describe(s, f);
	got = s->dead ? -ENODEV : submit(s, &io, 1, &f->token);
	if (got == 1)
		return -EINPROGRESS;
	return got < 0 ? got : -EIO;
}

/* The result of a piece. Recovery ends a late command, and takes a while. */
static int outcome(struct annex_server *s, const struct flying *f, uint64_t now)
{
	const uint64_t limit = annex_dev_timeout_ms(s->dev) * ANNEX_NSEC_PER_MSEC;
	struct annex_result res;
	int rc = annex_qp_collect(s->qp, f->token, &res);

	if (rc == -EINPROGRESS && now - f->since > limit) {
		annex_log(ANNEX_LOG_WARNING, "serve: %s: a command is late", annex_dev_uri(s->dev));
		if (annex_dev_recover(s->dev, s->qp, f->token) == -ENODEV)
			mark_dead(s);
		rc = annex_qp_collect(s->qp, f->token, &res);
	}
	return rc ? rc : annex_nvme_errno(res.status);
}

/* Return: the result of a command; -EINPROGRESS: it has not ended. */
static int progress(struct annex_server *s, struct flying *f, uint64_t now)
{
	if (!f->waits) {
		int rc = outcome(s, f, now);

		if (rc || !goes_on(f))
			return rc;
		advance(s, f);
	}
	if (f->peer->leaving)
		return -ECANCELED;
	return serve_room(s, now) ? go_on(s, f, now) : -EINPROGRESS;
}

/* Take all results. */
bool serve_reap(struct annex_server *s)
{
	const uint64_t now = annex_now(), given = s->given;
	bool any = false;

	annex_qp_help(s->qp);
	for (unsigned int i = 0; i < s->nflying;) {
		struct flying *f = &s->flying[i];
		int rc = progress(s, f, now);

		if (rc == -EINPROGRESS) {
			i++;
			continue;
		}
		any = true;
		if (!rc)
			observe(s, f, now);
		end_command(s, f, rc);
		s->flying[i] = s->flying[--s->nflying];
	}
	return any || given != s->given;
}
