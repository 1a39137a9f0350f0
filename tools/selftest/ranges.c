// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Ranges: pieces are taken, named, filled and freed; the range is opened anew; a process that has
 * pieces is killed. Pieces of others are never touched.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <annex/hdm.h>
#include "../cleanup.h"
#include "../uri.h"
#include "selftest.h"

#define PIECES 24u
#define STEPS 120u
#define MOST (128u << 10)
#define SHARE (4ull << 20) /* of a range, at most at once */

struct piece {
	unsigned char *at;
	uint64_t bytes, fill; /* the seed of what is in it */
	char name[ANNEX_HDM_NAME];
};

struct range {
	struct tally *t;
	struct annex_hdm *h;
	const char *uri;
	uint64_t seed, taken, names;
	unsigned char *want;
	struct piece piece[PIECES];
};

static int check(struct range *r, const struct piece *x)
{
	uint64_t from = x->fill;

	fill(&from, r->want, x->bytes);
	return tally_same(r->t, *x->name ? x->name : "a piece", 0, x->at, r->want, x->bytes);
}

static int take(struct range *r, struct piece *x)
{
	uint64_t align = 64u << pick(&r->seed, 7), from;
	void *at;
	int err;

	x->bytes = pick(&r->seed, pick(&r->seed, 2) ? MOST : 2000) + 1;
	x->fill = annex_random(&r->seed);
	x->name[0] = '\0';
	if (!pick(&r->seed, 3))
		snprintf(x->name, sizeof(x->name), "annex-selftest-%d-%llu", (int)getpid(),
			 (unsigned long long)r->names++);
	if (r->taken + x->bytes > SHARE)
		return 0;
	err = annex_hdm_alloc(r->h, x->bytes, align, *x->name ? x->name : NULL, &at);
	if (err == -ENOSPC || err == -EMFILE)
		return 0; /* others have it */
	if (err)
		return tally_call(r->t, err, "annex_hdm_alloc()");
	if ((uintptr_t)at % align)
		return tally_wrong(r->t, "a piece is not aligned to %llu bytes",
				   (unsigned long long)align);
	x->at = at;
	r->taken += x->bytes;
	from = x->fill;
	fill(&from, x->at, x->bytes);
	return 0;
}

static int give(struct range *r, struct piece *x)
{
	int err = check(r, x), freed;

	freed = tally_call(r->t, annex_hdm_free(r->h, x->at), "annex_hdm_free()");
	x->at = NULL;
	r->taken -= x->bytes;
	return err ? err : freed;
}

static int find(struct range *r, struct piece *x)
{
	struct annex_hdm_block b;
	int err = tally_call(r->t, annex_hdm_find(r->h, x->name, &b), x->name);

	if (!err)
		err = tally_value(r->t, x->name, 0, (int64_t)b.bytes, (int64_t)x->bytes);
	if (!err)
		x->at = annex_hdm_at(r->h, b.offset);
	return err ? err : check(r, x);
}

static int steps(struct range *r)
{
	int err = 0;

	for (unsigned int i = 0; i < STEPS && !err; i++) {
		struct piece *x = &r->piece[pick(&r->seed, PIECES)];

		if (!x->at)
			err = take(r, x);
		else if (pick(&r->seed, 2))
			err = give(r, x);
		else
			err = *x->name ? find(r, x) : check(r, x);
		r->t->operations++;
	}
	for (unsigned int i = 0; i < PIECES && !err; i++)
		if (r->piece[i].at)
			err = check(r, &r->piece[i]);
	return err;
}

/* Another process takes pieces, says so, and goes on until it is killed. */
static void child(const char *uri, int said)
{
	struct annex_hdm *h;
	void *at[16] = {NULL};

	if (annex_hdm_open(uri, NULL, &h))
		_exit(1);
	for (unsigned int i = 0;; i++) {
		void **p = &at[i % 16];

		annex_hdm_free(h, *p);
		*p = NULL;
		if (annex_hdm_alloc(h, 3000 * (i % 16 + 1), 0, NULL, p) && i < 16)
			_exit(1);
		if (i == 20 && write(said, "", 1) != 1)
			_exit(1);
	}
}

static int killed(struct range *r)
{
	char byte;
	ssize_t n;
	int ends[2], err = 0;
	pid_t pid;

	if (pipe(ends))
		return tally_wrong(r->t, "no pipe");
	pid = fork();
	if (!pid)
		child(r->uri, ends[1]);
	close(ends[1]);
	n = read(ends[0], &byte, 1);
	close(ends[0]);
	if (pid < 0 || n != 1)
		err = tally_wrong(r->t, "a second process could not take pieces");
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		r->t->faults++;
	}
	return err;
}

/* Named pieces are there as they were. Memory of each handle is not asked. */
static int reopen(struct range *r)
{
	int err;

	if (annex_hdm_traits(r->uri) & ANNEX_TRAIT_VOLATILE)
		return 0;
	annex_hdm_close(r->h);
	r->h = NULL;
	err = killed(r);
	if (!err)
		err = tally_call(r->t, annex_hdm_open(r->uri, NULL, &r->h), r->uri);
	for (unsigned int i = 0; i < PIECES && !err; i++) {
		struct piece *x = &r->piece[i];

		if (x->at && !*x->name)
			r->taken -= x->bytes;
		if (x->at && !*x->name)
			x->at = NULL;
		else if (x->at)
			err = find(r, x);
	}
	return err;
}

static int close_range_of(struct range *r, int err)
{
	for (unsigned int i = 0; i < PIECES && r->h; i++)
		if (r->piece[i].at && annex_hdm_free(r->h, r->piece[i].at) && !err)
			err = tally_wrong(r->t, "annex_hdm_free(): a piece cannot be freed");
	annex_hdm_close(r->h);
	free(r->want);
	return err;
}

static int live(struct range *r)
{
	int err = tally_call(r->t, annex_hdm_open(r->uri, NULL, &r->h), r->uri);

	if (!err && !r->want)
		err = tally_memory(r->t);
	if (!err)
		err = steps(r);
	if (!err)
		err = reopen(r);
	if (!err)
		err = steps(r);
	return close_range_of(r, err);
}

int selftest_ranges(const struct selftest *s, struct tally *t, uint64_t seed)
{
	struct range r = {.t = t, .uri = s->range, .seed = seed};
	char uri[ANNEX_URI_MAX];
	int err;

	if (!s->range) {
		if (path_uri(uri, "shm", s->hdm, "size=16M"))
			return tally_wrong(t, "%s: the path is too long", s->hdm);
		r.uri = uri;
	}
	/* Pieces with a name would stay in somebody's range: signals wait for the round's end. */
	cleanup_hold();
	r.want = malloc(MOST);
	err = live(&r);
	cleanup_release();
	return err;
}
