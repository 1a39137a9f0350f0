// SPDX-License-Identifier: MIT
/*
 * The benchmarks of the migration engine: migrate OUTPUT.json TOOL DIR
 * [rates|faults|small|train|policy]...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "migrate.h"

#define WAIT_MS 60000u

static const struct bench_group groups[] = {
	{"rates", migrate_rates}, {"faults", migrate_faults}, {"small", migrate_small},
	{"train", migrate_train}, {"policy", migrate_policy}, {NULL, NULL},
};

struct annex_store *migrate_store(const char *path, uint64_t bytes)
{
	struct annex_store *store;
	char uri[4300];

	snprintf(uri, sizeof(uri), "file:%s?size=%llu&direct=1", path, (unsigned long long)bytes);
	if (annex_store_open(uri, NULL, &store))
		bench_fail("%s", annex_last_error());
	return store;
}

struct annex_space *migrate_space(const struct annex_space_opts *opts)
{
	struct annex_space *s;

	if (annex_space_create(opts, &s))
		bench_fail("%s", annex_last_error());
	return s;
}

void migrate_alloc(struct annex_space *s, struct migrate_tensor *t, uint64_t bytes, uint64_t seed)
{
	void *p;

	if (annex_alloc(s, "bench", bytes, &p))
		bench_fail("%s", annex_last_error());
	*t = (struct migrate_tensor){p, bytes, seed};
}

/* Of the page at @at, how many bytes are the tensor's. */
static uint64_t part(const struct migrate_tensor *t, uint64_t at)
{
	return t->bytes - at < ANNEX_MEM_PAGE ? t->bytes - at : ANNEX_MEM_PAGE;
}

void migrate_fill(const struct migrate_tensor *t)
{
	for (uint64_t at = 0; at < t->bytes; at += ANNEX_MEM_PAGE) {
		uint64_t word = t->seed + at / ANNEX_MEM_PAGE, n = part(t, at);

		memset(t->p + at, (int)word, n);
		memcpy(t->p + at, &word, 8);
		memcpy(t->p + at + n - 8, &word, 8);
	}
}

void migrate_verify(const struct migrate_tensor *t)
{
	for (uint64_t at = 0; at < t->bytes; at += ANNEX_MEM_PAGE) {
		uint64_t word = t->seed + at / ANNEX_MEM_PAGE, n = part(t, at);

		if (memcmp(t->p + at, &word, 8) || memcmp(t->p + at + n - 8, &word, 8))
			bench_fail("tensor %llu: wrong data at %llu", (unsigned long long)t->seed,
				   (unsigned long long)at);
	}
}

double migrate_all(struct annex_space *s, const struct migrate_tensor *tensors, unsigned int n,
		   unsigned int tier)
{
	struct annex_move **moves = calloc(n, sizeof(struct annex_move *));
	double start = bench_seconds(), seconds;
	int err = moves ? 0 : -1;

	for (unsigned int i = 0; i < n && !err; i++) {
		const struct migrate_tensor *t = &tensors[i];

		err = tier == ANNEX_TIER_GPU ? annex_prefetch(s, t->p, t->bytes, 0, &moves[i])
					     : annex_pre_evict(s, t->p, t->bytes, tier, &moves[i]);
	}
	/* From the last, so that the thread sleeps once. */
	for (unsigned int i = n; i-- > 0 && !err;)
		err = annex_move_wait(moves[i], WAIT_MS);
	seconds = bench_seconds() - start;
	if (err)
		bench_fail("%s", annex_last_error());
	free(moves);
	return seconds;
}

void migrate_are(struct annex_space *s, const struct migrate_tensor *tensors, unsigned int n,
		 bool device)
{
	struct annex_mem_page page;

	for (unsigned int i = 0; i < n; i++)
		for (uint64_t at = 0; at < tensors[i].bytes; at += ANNEX_MEM_PAGE)
			if (annex_mem_lookup(s, tensors[i].p + at, &page) || page.device != device)
				bench_fail("tensor %u: byte %llu is %sin the device tier", i,
					   (unsigned long long)at, device ? "not " : "");
}

int main(int argc, char **argv)
{
	bench_command("make bench-migrate");
	bench_groups(groups, argc, argv);
	return 0;
}
