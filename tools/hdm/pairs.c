// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <annex/detail/atomic.h>
#include <annex/detail/clock.h>
#include <annex/detail/random.h>
#include "tools/common/error.h"
#include "pairs.h"

#define HELD 64u
#define CLOCK_EVERY 256u /* pairs between two looks at the clock */

struct job {
	struct annex_hdm *h;
	uint64_t end, done;
};

/* struct held - A piece, and what its first word is. */
struct held {
	uint64_t *p;
	uint64_t mark;
};

static int give(struct annex_hdm *h, struct held *x)
{
	int err = 0;

	if (x->p && *x->p != x->mark)
		return err_set(-EBADMSG, "a piece was given to two threads");
	if (h)
		err = annex_hdm_free(h, x->p);
	else
		free(x->p);
	x->p = NULL;
	return err ? err_lib(err, "a piece could not be freed") : 0;
}

static int take(struct annex_hdm *h, struct held *x, size_t bytes, uint64_t mark)
{
	void *p = NULL;
	int err;

	if (h)
		err = annex_hdm_alloc(h, bytes, 0, NULL, &p);
	else
		err = (p = malloc(bytes)) ? 0 : -ENOMEM;
	if (err)
		return h ? err_lib(err, "no piece of %zu bytes", bytes)
			 : err_set(err, "out of memory");
	x->p = p;
	x->mark = *x->p = mark;
	return 0;
}

static int work(void *ctx, unsigned int id, unsigned int n)
{
	struct job *j = ctx;
	struct held held[HELD] = {{NULL, 0}};
	uint64_t rng = id + 1, pairs = 0;
	int err = 0;

	(void)n;
	do {
		for (unsigned int i = 0; i < CLOCK_EVERY && !err; i++) {
			uint64_t r = annex_random(&rng);
			struct held *x = &held[r % HELD];

			err = give(j->h, x);
			if (!err)
				err = take(j->h, x, 64 + (r >> 8) % 1024, r);
		}
		pairs += CLOCK_EVERY;
	} while (!err && annex_now() < j->end);
	for (unsigned int i = 0; i < HELD; i++) {
		int last = give(j->h, &held[i]);

		err = err ? err : last;
	}
	annex_atomic_add(&j->done, pairs, ANNEX_RELAXED);
	return err;
}

int pairs_run(struct annex_hdm *h, struct pool *pool, double seconds, double *rate)
{
	uint64_t start = annex_now();
	struct job j = {.h = h, .end = start + (uint64_t)(seconds * 1e9)};
	int err = pool_run(pool, work, &j);

	*rate = (double)j.done * 1e9 / (double)(annex_now() - start);
	return err;
}
