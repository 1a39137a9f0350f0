// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <annex/detail/random.h>
#include <annex/device.h>
#include <annex/log.h>
#include <annex/provider.h>
#include "tools/common/error.h"
#include "tools/common/pool.h"
#include "selftest.h"

#define STEPS 300u /* of a thread */

/*
 * struct round - A round of a part.
 * @shadow: the bytes that should be on the storage; each thread has a share of them.
 * @buf: a buffer for each thread.
 * @pass: threads write their shares in order, then move at random, then check in order.
 * @lock: of @t.
 */
struct round {
	const struct medium *m;
	const char *uri;
	struct tally *t;
	unsigned char *shadow, *buf;
	enum { WRITE, MIX, CHECK } pass;
	pthread_mutex_t lock;
};

/* The first error stays. A lack of resources or features says nothing about the storage. */
static int stop(struct tally *t, int err)
{
	static const int lacks[] = {ENOMEM, EAGAIN, EMFILE, ENFILE, ENOSPC, EDQUOT, EOPNOTSUPP};
	const char *why = *err_text() ? err_text() : annex_last_error();

	if (!err || t->err)
		return err;
	snprintf(t->line, sizeof(t->line), "%s", *why ? why : annex_strerror(err));
	err_clear(); /* the report has the line */
	t->err = -EILSEQ;
	for (unsigned int i = 0; i < sizeof(lacks) / sizeof(lacks[0]); i++)
		if (err == -lacks[i])
			t->err = err;
	return err;
}

static void compare(struct tally *t, const unsigned char *got, const unsigned char *want,
		    uint64_t at, uint64_t n)
{
	uint64_t i = 0;

	t->bytes += n;
	while (i < n && got[i] == want[at + i])
		i++;
	if (i == n || t->err)
		return;
	t->err = -EILSEQ;
	snprintf(t->line, sizeof(t->line), "byte %llu is 0x%02x, not 0x%02x", (ull)at + i, got[i],
		 want[at + i]);
}

static int move(struct round *r, unsigned char *buf, uint64_t at, uint64_t n, bool write)
{
	int err;

	memcpy(buf, r->shadow + at, write ? n : 0);
	err = r->m->move(buf, at, n, write);
	pthread_mutex_lock(&r->lock);
	r->t->operations++;
	if (!stop(r->t, err) && !write)
		compare(r->t, buf, r->shadow, at, n);
	err = r->t->err;
	pthread_mutex_unlock(&r->lock);
	return err;
}

static int work(void *ctx, unsigned int id, unsigned int threads)
{
	struct round *r = ctx;
	uint64_t unit = r->m->unit, share = SELFTEST_AREA / threads, n = r->m->most;
	uint64_t steps = r->pass == MIX ? STEPS : share / n;
	uint64_t seed = (r->t->seed * SELFTEST_THREADS + id) * (CHECK + 1) + r->pass;
	int err = 0;

	for (uint64_t i = 0; i < steps && !err; i++) {
		uint64_t at = id * share + i * n;
		bool write = r->pass == MIX ? annex_random(&seed) & 1 : r->pass == WRITE;

		if (r->pass == MIX) {
			n = (annex_random(&seed) % (r->m->most / unit) + 1) * unit;
			at = id * share + annex_random(&seed) % ((share - n) / unit + 1) * unit;
		}
		for (uint64_t b = at / 8; write && b < (at + n) / 8; b++)
			((uint64_t *)r->shadow)[b] = annex_random(&seed);
		err = move(r, r->buf + (size_t)id * SELFTEST_MOST, at, n, write);
	}
	return err;
}

/* Have a device opened anew. After an error it may still write the buffers, which are lost. */
static int reopen(struct round *r)
{
	int err;

	if (r->m->range || r->m->alone || annex_dev_traits(r->uri) & ANNEX_TRAIT_VOLATILE)
		return 0;
	err = medium_close();
	if (!err)
		return r->m->open(r->uri, r->buf);
	r->buf = NULL;
	return err;
}

static void passes(struct round *r)
{
	struct pool *pool = NULL;
	int err = pool_create(r->m->alone ? 1 : SELFTEST_THREADS, &pool);

	for (r->pass = WRITE; r->pass <= CHECK && !err; r->pass++) {
		err = r->pass == CHECK ? medium_settle() : 0;
		if (!err && r->pass == CHECK)
			err = reopen(r);
		if (!err)
			err = pool_run(pool, work, r);
	}
	stop(r->t, err);
	pool_destroy(pool);
}

void selftest_round(const struct medium *m, const char *uri, struct tally *t)
{
	const struct annex_provider *pages = annex_provider_pages();
	struct round r = {.m = m, .uri = uri, .t = t, .lock = PTHREAD_MUTEX_INITIALIZER};
	int err;

	r.buf = pages->alloc(pages->ctx, SELFTEST_BUF, 4096);
	r.shadow = malloc(SELFTEST_AREA);
	err = r.buf && r.shadow ? m->open(uri, r.buf) : -ENOMEM;
	if (stop(t, err))
		t->err = err; /* nothing was compared */
	else
		passes(&r);
	if (!stop(t, medium_close()) && r.buf)
		pages->free(pages->ctx, r.buf, SELFTEST_BUF);
	free(r.shadow);
}
