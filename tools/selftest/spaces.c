// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Spaces: tensors with twins in ordinary memory, which are written, moved, held and compared while
 * the device tier has room for a part of them.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <annex/mem.h>
#include "selftest.h"

#define TENSORS 10u
#define MOST (400u << 10) /* bytes of a tensor */
#define LEAST 8200u       /* more than two pages */
#define STEPS 60u
#define FAILURES 8u /* more than a transfer is tried again by itself */
#define WAIT_MS 60000u

struct pair {
	char *p;
	char *plain;
	uint64_t bytes;
	bool held;
};

struct twins {
	struct tally *t;
	struct annex_store *store;
	struct annex_space *space;
	struct pair pair[TENSORS];
	char *copy;
	uint64_t seed;
};

/* A touch of bytes that cannot be read any more is a SIGSEGV; one that is never answered hangs. */
static sigjmp_buf lost;
static volatile sig_atomic_t touches;

static void on_signal(int sig)
{
	if (touches)
		siglongjmp(lost, sig);
	signal(sig, SIG_DFL);
}

static int touch(struct tally *t, char *to, const char *from, uint64_t bytes)
{
	int sig = sigsetjmp(lost, 1);

	if (!sig) {
		touches = 1;
		alarm(WAIT_MS / 1000);
		memcpy(to, from, bytes);
	}
	alarm(0);
	touches = 0;
	if (!sig)
		return 0;
	return tally_wrong(t,
			   sig == SIGALRM ? "a touch of a tensor was not answered for %u s"
					  : "bytes of a tensor cannot be read back (%u s)",
			   WAIT_MS / 1000);
}

static int compare(struct twins *w, struct pair *x)
{
	int err = touch(w->t, w->copy, x->p, x->bytes);

	return err ? err : tally_same(w->t, "a tensor", 0, w->copy, x->plain, x->bytes);
}

static int write_some(struct twins *w, struct pair *x)
{
	uint64_t at = pick(&w->seed, x->bytes), n = pick(&w->seed, x->bytes - at) + 1;

	fill(&w->seed, x->plain + at, n);
	w->t->bytes += n;
	return touch(w->t, x->p + at, x->plain + at, n);
}

/* @tier: where to; ANNEX_TIER_GPU: the device tier. */
static int move(struct twins *w, const struct pair *x, unsigned int tier)
{
	struct annex_move *m = NULL;
	int err = tier ? annex_pre_evict(w->space, x->p, x->bytes, tier, &m)
		       : annex_prefetch(w->space, x->p, x->bytes, 0, &m);

	return err ? err : annex_move_wait(m, WAIT_MS);
}

static int evict(struct twins *w, struct pair *x)
{
	unsigned int tier = pick(&w->seed, 2) ? ANNEX_TIER_SSD : ANNEX_TIER_HOST;
	int err = x->held ? 0 : move(w, x, tier);

	/* The host tier has room for a part only. */
	return err == -ENOSPC && tier == ANNEX_TIER_HOST ? 0 : tally_call(w->t, err, "an eviction");
}

static int prefetch(struct twins *w, struct pair *x)
{
	/* It would wait while all is held. */
	for (unsigned int i = 0; i < TENSORS; i++)
		if (w->pair[i].held && &w->pair[i] != x)
			return 0;
	return tally_call(w->t, move(w, x, ANNEX_TIER_GPU), "a prefetch");
}

static int hold(struct twins *w, struct pair *x)
{
	x->held = !x->held;
	return x->held ? tally_call(w->t, annex_hold(w->space, x->p), "annex_hold()")
		       : tally_call(w->t, annex_let_go(w->space, x->p), "annex_let_go()");
}

static int renew(struct twins *w, struct pair *x)
{
	int err = tally_call(w->t, annex_free(w->space, x->p), "annex_free()");

	free(x->plain);
	*x = (struct pair){.bytes = pick(&w->seed, MOST - LEAST) + LEAST};
	x->plain = calloc(1, x->bytes);
	if (!x->plain)
		return tally_memory(w->t);
	return err ? err
		   : tally_call(w->t, annex_alloc(w->space, "selftest", x->bytes, (void **)&x->p),
				"annex_alloc()");
}

static int steps(struct twins *w)
{
	static int (*const all[])(struct twins * w, struct pair * x) = {
		write_some, write_some, compare, compare, evict, evict, prefetch, hold, renew};
	int err = 0;

	for (unsigned int i = 0; i < TENSORS && !err; i++)
		err = renew(w, &w->pair[i]);
	for (unsigned int i = 0; i < STEPS && !err; i++) {
		struct pair *x = &w->pair[pick(&w->seed, TENSORS)];

		err = all[pick(&w->seed, sizeof(all) / sizeof(all[0]))](w, x);
		w->t->operations++;
	}
	for (unsigned int i = 0; i < TENSORS && !err; i++)
		err = compare(w, &w->pair[i]);
	return err;
}

static int open_space(struct twins *w, const char *uri, uint64_t device, uint64_t host)
{
	struct annex_space_opts opts = {.device = device,
					.host = host,
					.size = 2 * TENSORS * MOST,
					.stores = &w->store,
					.n_stores = 1,
					.checksum = true};
	int err = tally_call(w->t, annex_store_open(uri, NULL, &w->store), uri);

	if (err)
		return err;
	err = annex_space_create(&opts, &w->space);
	if (err == -EOPNOTSUPP)
		return tally_skip(w->t, "this kernel's userfaultfd is too old",
				  "use Linux 5.19 or later");
	return tally_call(w->t, err, "annex_space_create()");
}

static int close_space(struct twins *w, int err)
{
	for (unsigned int i = 0; i < TENSORS; i++)
		free(w->pair[i].plain);
	annex_space_destroy(w->space);
	if (annex_store_close(w->store) && !err)
		err = tally_wrong(w->t, "annex_store_close(): it is still used");
	return err;
}

/* Out, and in again: the failures that were injected are told, end, and lose nothing. */
static int failing(struct twins *w)
{
	struct pair *x = &w->pair[0];
	unsigned int told = 0;
	int err = renew(w, x);

	fill(&w->seed, x->plain, err ? 0 : x->bytes);
	if (!err)
		err = touch(w->t, x->p, x->plain, x->bytes);
	for (unsigned int i = 0; i < 2 && !err; i++) {
		for (unsigned int n = 0; n <= FAILURES; n++) {
			err = move(w, x, i ? ANNEX_TIER_GPU : ANNEX_TIER_SSD);
			told += err == -EIO;
			if (err != -EIO)
				break;
		}
		err = tally_call(w->t, err, i ? "a prefetch" : "an eviction");
	}
	w->t->faults += FAILURES;
	if (!err && !told)
		err = tally_wrong(w->t, "no move told of the commands that failed");
	return err ? err : compare(w, x);
}

/* One space, from its making to its end. @fault: "read", "write", or NULL. */
static int live(const struct selftest *s, struct tally *t, uint64_t *seed, const char *fault)
{
	struct twins w = {.t = t, .copy = malloc(MOST)};
	char uri[ANNEX_URI_MAX];
	int err = 0;

	w.seed = annex_random(seed);
	if (!w.copy)
		err = tally_memory(t);
	else if (fault)
		snprintf(uri, sizeof(uri), "mem:16M?fault=error,op=%s,count=%u", fault, FAILURES);
	else
		err = storage_uri(s, t, seed, "", uri);
	if (!err)
		err = open_space(&w, uri, 1u << 20, fault ? 0 : 1u << 20);
	if (!err && !t->skipped)
		err = fault ? failing(&w) : steps(&w);
	err = close_space(&w, err);
	free(w.copy);
	return err;
}

int selftest_spaces(const struct selftest *s, struct tally *t, uint64_t seed)
{
	static const char *const faults[] = {NULL, "read", "write"};
	const struct sigaction own = {.sa_handler = on_signal};
	struct sigaction segv, alrm;
	int err = 0;

	/* Before there is a space, which may hear of touches by a handler above this one. */
	sigaction(SIGSEGV, &own, &segv);
	sigaction(SIGALRM, &own, &alrm);
	for (unsigned int i = 0; i < 3 && !err && !t->skipped; i++)
		err = live(s, t, &seed, faults[i]);
	sigaction(SIGSEGV, &segv, NULL);
	sigaction(SIGALRM, &alrm, NULL);
	return err;
}
