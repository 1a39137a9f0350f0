// SPDX-License-Identifier: MIT
/*
 * What a touch of an absent page costs: host tier to device tier, a page at a time. Two threads
 * take turns in it, so it is measured on one processor; on several, where each turn wakes another
 * one, which some machines take long for, it stands beside two threads that do nothing else.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "tests/unit/random.h"
#include "migrate.h"

#define PAGES BENCH_SIZE(16384u, 256u)
#define ROUNDS BENCH_SIZE(3u, 1u)

/* Every page once, in random order. */
static void shuffle(uint32_t *order, uint64_t *state)
{
	for (uint32_t i = 0; i < PAGES; i++)
		order[i] = i;
	for (uint32_t i = PAGES - 1; i; i--) {
		uint32_t k = (uint32_t)(random_next(state) % (i + 1)), other = order[k];

		order[k] = order[i];
		order[i] = other;
	}
}

static void touch_all(const struct migrate_tensor *t, const uint32_t *order, double *us)
{
	for (uint32_t i = 0; i < PAGES; i++) {
		const volatile uint64_t *at = (void *)(t->p + (uint64_t)order[i] * ANNEX_MEM_PAGE);
		double start = bench_seconds();
		uint64_t word = *at;

		us[i] = (bench_seconds() - start) * 1e6;
		if (word != t->seed + order[i])
			bench_fail("wrong data in page %u", order[i]);
	}
}

static void measure(double *us)
{
	uint64_t bytes = (uint64_t)PAGES * ANNEX_MEM_PAGE, state = 1;
	struct annex_space_opts opts = {
		.device = bytes + bytes / 16, .host = bytes, .fault_bytes = ANNEX_MEM_PAGE};
	struct annex_space *s = migrate_space(&opts);
	uint32_t *order = calloc(PAGES, sizeof(*order));
	struct annex_space_stats st;
	struct migrate_tensor t;

	if (!order)
		bench_fail("no memory");
	migrate_alloc(s, &t, bytes, 1);
	migrate_fill(&t);
	for (unsigned int r = 0; r < ROUNDS; r++) {
		migrate_all(s, &t, 1, ANNEX_TIER_HOST);
		shuffle(order, &state);
		touch_all(&t, order, us + (size_t)r * PAGES);
	}
	migrate_verify(&t);
	annex_space_get_stats(s, &st);
	if (st.in != ROUNDS * bytes)
		bench_fail("%llu bytes came", (unsigned long long)st.in);
	annex_space_destroy(s);
	free(order);
}

struct pair {
	int ask, answer;
};

static void *answer(void *arg)
{
	const struct pair *p = arg;
	eventfd_t v;

	for (uint32_t i = 0; i < PAGES; i++)
		if (eventfd_read(p->ask, &v) || eventfd_write(p->answer, 1))
			bench_fail("eventfd");
	return NULL;
}

static void take_turns(double *us)
{
	struct pair p = {eventfd(0, EFD_CLOEXEC), eventfd(0, EFD_CLOEXEC)};
	pthread_t other;
	eventfd_t v;

	if (p.ask < 0 || p.answer < 0 || pthread_create(&other, NULL, answer, &p))
		bench_fail("no thread");
	for (uint32_t i = 0; i < PAGES; i++) {
		double start = bench_seconds();

		if (eventfd_write(p.ask, 1) || eventfd_read(p.answer, &v))
			bench_fail("eventfd");
		us[i] = (bench_seconds() - start) * 1e6;
	}
	pthread_join(other, NULL);
	close(p.ask);
	close(p.answer);
}

void migrate_faults(const struct bench_ctx *ctx)
{
	size_t n = ROUNDS * (size_t)PAGES;
	double *us = calloc(n, sizeof(*us));
	cpu_set_t all, one;

	(void)ctx;
	if (!us || sched_getaffinity(0, sizeof(all), &all))
		bench_fail("no memory");
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	measure(us);
	bench_figure("demand fault, 4 KiB, host tier to device tier, median", bench_median(us, n),
		     "us", 15, 1);
	bench_figure("99 of 100 take no longer than", us[n * 99 / 100], "us", 0, 0);
	take_turns(us);
	bench_figure("two threads that take turns, there", bench_median(us, PAGES), "us", 0, 0);
	sched_setaffinity(0, sizeof(all), &all);
	measure(us);
	bench_figure("the same fault on all processors", bench_median(us, n), "us", 0, 0);
	take_turns(us);
	bench_figure("two threads that take turns, there", bench_median(us, PAGES), "us", 0, 0);
	free(us);
}
