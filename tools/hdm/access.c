// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <annex/detail/atomic.h>
#include <annex/detail/clock.h>
#include <annex/detail/random.h>
#include "tools/common/error.h"
#include "tools/common/progress.h"
#include "access.h"

#define LINE 64u
#define LINE_WORDS (LINE / sizeof(uint64_t))
#define BLOCK 4096u
#define CHECK_EVERY 4096u /* random loads between two looks at the clock */

/*
 * struct job - A measurement.
 * @done: bytes, or loads, of all threads.
 * @stop: the chain is at its end.
 */
struct job {
	const struct memory *m;
	int (*work)(struct job *j, unsigned int id, unsigned int n);
	uint64_t end, done, round;
	double latency;
	uint32_t stop;
};

/* Word @i after round @round of stores. */
static uint64_t word_at(uint64_t i, uint64_t round)
{
	return (i + round) * 0x9e3779b97f4a7c15ull;
}

static int wrong(const struct memory *m, const char *what)
{
	return err_set(-EBADMSG, "%s: wrong data while %s", m->name, what);
}

/* The words of thread @id of @n. */
static uint64_t *slice(const struct memory *m, unsigned int id, unsigned int n, uint64_t *first,
		       uint64_t *words)
{
	uint64_t lines = m->bytes / LINE;

	*first = lines / n * id * LINE_WORDS;
	*words = (id + 1 == n ? lines - lines / n * id : lines / n) * LINE_WORDS;
	return (uint64_t *)(void *)m->buf + *first;
}

/* With the sum of word_at() over a run, checking costs no more than loading. */
static uint64_t sum_of(uint64_t first, uint64_t words, uint64_t round)
{
	uint64_t sum = words % 2 ? words * (first + round) + (words - 1) / 2 * words
				 : words * (first + round) + words / 2 * (words - 1);

	return sum * 0x9e3779b97f4a7c15ull;
}

static uint64_t load(const uint64_t *p, uint64_t words)
{
	uint64_t a = 0, b = 0, c = 0, d = 0;

	for (uint64_t i = 0; i < words; i += 4) {
		a += p[i];
		b += p[i + 1];
		c += p[i + 2];
		d += p[i + 3];
	}
	return a + b + c + d;
}

static int load_all(struct job *j, unsigned int id, unsigned int n)
{
	uint64_t first, words, *p = slice(j->m, id, n, &first, &words);

	if (load(p, words) != sum_of(first, words, j->round))
		return wrong(j->m, "loading");
	annex_atomic_add(&j->done, words * sizeof(*p), ANNEX_RELAXED);
	return 0;
}

static int store_all(struct job *j, unsigned int id, unsigned int n)
{
	uint64_t first, words, *p = slice(j->m, id, n, &first, &words);

	for (uint64_t i = 0; i < words; i++)
		p[i] = word_at(first + i, j->round);
	annex_atomic_add(&j->done, words * sizeof(*p), ANNEX_RELAXED);
	return 0;
}

/* The second half of each slice becomes like the first. */
static int copy_all(struct job *j, unsigned int id, unsigned int n)
{
	uint64_t first, words, *p = slice(j->m, id, n, &first, &words);
	uint64_t half = words / 2 / LINE_WORDS * LINE_WORDS;

	memcpy(p + half, p, half * sizeof(*p));
	annex_atomic_add(&j->done, half * sizeof(*p), ANNEX_RELAXED);
	return 0;
}

static int check_copy(struct job *j, unsigned int id, unsigned int n)
{
	uint64_t first, words, *p = slice(j->m, id, n, &first, &words);
	uint64_t half = words / 2 / LINE_WORDS * LINE_WORDS;

	return load(p + half, half) == sum_of(first, half, j->round) ? 0 : wrong(j->m, "a copy");
}

static int load_random(struct job *j, unsigned int id, unsigned int n)
{
	uint64_t *p = (uint64_t *)(void *)j->m->buf, words = j->m->bytes / sizeof(*p);
	uint64_t rng = annex_now() * (id + 1), n_done = 0;

	(void)n;
	do {
		uint64_t sum = 0, want = 0;

		for (unsigned int i = 0; i < CHECK_EVERY; i++) {
			uint64_t at = (uint64_t)((unsigned __int128)annex_random(&rng) * words >>
						 64);

			sum += p[at];
			want += at;
		}
		if (sum != word_at(want, CHECK_EVERY * j->round))
			return wrong(j->m, "loading at random");
		n_done += CHECK_EVERY;
	} while (annex_now() < j->end);
	annex_atomic_add(&j->done, n_done, ANNEX_RELAXED);
	return 0;
}

/* One cycle through all lines, in no order that a processor could guess (Sattolo). */
static int make_chain(const struct memory *m, uint64_t lines)
{
	uint64_t *p = (uint64_t *)(void *)m->buf, rng = 1;
	uint32_t *to = malloc(lines * sizeof(*to));

	if (!to)
		return err_set(-ENOMEM, "out of memory");
	for (uint64_t i = 0; i < lines; i++)
		to[i] = (uint32_t)i;
	for (uint64_t i = lines - 1; i; i--) {
		uint64_t k = (uint64_t)((unsigned __int128)annex_random(&rng) * i >> 64);
		uint32_t other = to[k];

		to[k] = to[i];
		to[i] = other;
	}
	for (uint64_t i = 0; i < lines; i++)
		p[i * LINE_WORDS] = to[i];
	free(to);
	return 0;
}

static int follow(struct job *j, uint64_t lines)
{
	const uint64_t *p = (const uint64_t *)(void *)j->m->buf;
	uint64_t at = 0, steps = 0, start = annex_now();

	do {
		uint64_t left = lines;

		do
			at = p[at * LINE_WORDS];
		while (--left && at < lines);
		if (left || at)
			return wrong(j->m, "following pointers");
		steps += lines;
	} while (annex_now() < j->end);
	j->latency = (double)(annex_now() - start) / 1e9 / (double)steps;
	return 0;
}

/* The chain is in the first half; other threads load the second. */
static int chase(struct job *j, unsigned int id, unsigned int n)
{
	uint64_t lines = j->m->bytes / LINE / 2;
	const uint64_t *p = (const uint64_t *)(void *)j->m->buf + lines * LINE_WORDS;
	uint64_t words = lines * LINE_WORDS, want = sum_of(words, words, j->round);
	int err = 0;

	if (!id) {
		err = follow(j, lines);
		annex_atomic_store(&j->stop, 1u, ANNEX_RELAXED);
		return err;
	}
	while (!err && n > 1 && !annex_atomic_load(&j->stop, ANNEX_RELAXED))
		err = load(p, words) == want ? 0 : wrong(j->m, "loading");
	return err;
}

static int work(void *ctx, unsigned int id, unsigned int n)
{
	struct job *j = ctx;
	int err;

	do
		err = j->work(j, id, n);
	while (!err && j->work != chase && annex_now() < j->end);
	return err;
}

static int run(struct job *j, struct pool *pool, double seconds,
	       int (*fn)(struct job *, unsigned int, unsigned int), double *rate)
{
	uint64_t start = annex_now();
	int err;

	j->work = fn;
	j->done = j->stop = 0;
	j->end = start + (uint64_t)(seconds * 1e9);
	err = pool_run(pool, work, j);
	if (rate)
		*rate = (double)j->done * 1e9 / (double)(annex_now() - start);
	return err;
}

static int alone(void *ctx, unsigned int id, unsigned int n)
{
	(void)n;
	return id ? 0 : chase(ctx, 0, 1);
}

static int latencies(struct job *j, struct pool *pool, double seconds, struct access *out)
{
	int err = make_chain(j->m, j->m->bytes / LINE / 2);

	if (err)
		return err;
	j->end = annex_now() + (uint64_t)(seconds * 1e9);
	err = pool_run(pool, alone, j);
	out->latency = j->latency;
	if (!err && pool_threads(pool) > 1) {
		err = run(j, pool, seconds, chase, NULL);
		out->loaded = j->latency;
	}
	return err;
}

int access_run(const struct memory *m, struct pool *pool, double seconds, struct access *out)
{
	struct job j = {.m = m, .round = 1};
	int err = run(&j, pool, seconds, store_all, &out->store);

	*out = (struct access){.store = out->store};
	progress_update(1, 6, "measurements");
	if (!err)
		err = run(&j, pool, seconds, load_all, &out->load);
	progress_update(2, 6, "measurements");
	if (!err)
		err = run(&j, pool, seconds, load_random, &out->random);
	progress_update(3, 6, "measurements");
	if (!err)
		err = run(&j, pool, seconds, copy_all, &out->copy);
	if (!err)
		err = run(&j, pool, 0, check_copy, NULL);
	progress_update(4, 6, "measurements");
	j.round = 2;
	if (!err)
		err = run(&j, pool, 0, store_all, NULL);
	return err ? err : latencies(&j, pool, seconds, out);
}

int access_persist(const struct memory *m, struct annex_hdm *h, double seconds, struct persist *out)
{
	const uint32_t sizes[] = {LINE, BLOCK};
	uint64_t rng = 1;

	for (unsigned int k = 0; k < 2; k++) {
		uint64_t places = m->bytes / sizes[k], n = 0, start = annex_now(), now;

		do {
			uint64_t at = (uint64_t)((unsigned __int128)annex_random(&rng) * places >>
						 64);
			char *p = m->buf + at * sizes[k];
			int err;

			memset(p, (int)n, sizes[k]);
			err = annex_hdm_persist(h, p, sizes[k]);
			if (err)
				return err_lib(err, "%s", m->name);
			n++;
			now = annex_now();
		} while (now < start + (uint64_t)(seconds * 1e9));
		if (k)
			out->rate = (double)n * BLOCK * 1e9 / (double)(now - start);
		else
			out->line = (double)(now - start) / 1e9 / (double)n;
	}
	return 0;
}
