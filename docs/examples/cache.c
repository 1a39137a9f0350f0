// SPDX-License-Identifier: MIT
/*
 * A cache and an array: a million numbers on a device, through a cache of 1 MiB. It overwrites the
 * first 8 MB of the device: cache mem:16M, cache 'file:/data/numbers?size=16M'
 */
#include <stdio.h>
#include <stdlib.h>
#include <annex/array.h>
#include <annex/device.h>

#define N 1000000u

static void must(int err)
{
	if (err)
		exit((fprintf(stderr, "cache: %s\n", annex_last_error()), 1));
}

/* Spans give the elements in the cache's own memory: for all of an array, the fastest way. */
static void fill(const struct annex_array *a)
{
	struct annex_span s;

	for (uint64_t i = 0; i < a->count; i += s.count) {
		must(annex_array_span(a, i, 0, ANNEX_PIN_WRITE | ANNEX_PIN_NEW, &s));
		for (uint64_t k = 0; k < s.count; k++)
			((uint64_t *)s.data)[k] = i + k;
		annex_array_span_end(a, &s); /* from here on the line may be evicted */
	}
}

static uint64_t sum(const struct annex_array *a)
{
	uint64_t total = 0;
	struct annex_span s;

	for (uint64_t i = 0; i < a->count; i += s.count) {
		must(annex_array_span(a, i, 0, 0, &s));
		for (uint64_t k = 0; k < s.count; k++)
			total += ((const uint64_t *)s.data)[k];
		annex_array_span_end(a, &s);
	}
	return total;
}

int main(int argc, char **argv)
{
	const uint64_t idx[] = {999999, 7, 500000}, three[] = {1, 2, 3};
	static struct annex_cache_opts opts; /* zeroes are defaults */
	struct annex_cache_stats stats;
	struct annex_cache *cache = NULL;
	struct annex_dev *dev = NULL;
	struct annex_array a;
	uint64_t out[3], old;

	if (argc != 2)
		return fputs("usage: cache URI\n", stderr), 2;
	must(annex_dev_open(argv[1], NULL, &dev));
	opts.bytes = 1 << 20;
	opts.devs = &dev;
	opts.ndevs = 1;
	must(annex_cache_create(&opts, &cache));
	must(annex_array_init(&a, cache, 0, sizeof(uint64_t), N));

	fill(&a);
	printf("sum %llu\n", (unsigned long long)sum(&a));
	/* A vector of indices, in any order: all lines that are missing are read at once. */
	must(annex_array_gather(&a, idx, 3, out));
	printf("gathered %llu %llu %llu\n", (unsigned long long)out[0], (unsigned long long)out[1],
	       (unsigned long long)out[2]);
	must(annex_array_scatter(&a, idx, 3, three));
	must(annex_array_add_u64(&a, 7, 40, &old)); /* atomic, as get and set are */
	must(annex_array_get(&a, 7, &out[0]));
	printf("%llu and 40 is %llu\n", (unsigned long long)old, (unsigned long long)out[0]);

	must(annex_cache_flush(cache, 0, UINT64_MAX)); /* on the medium, or an error here */
	annex_cache_get_stats(cache, &stats);
	printf("written back: %s\n", stats.bytes_written >= N * sizeof(uint64_t) ? "all" : "some");
	must(annex_cache_destroy(cache));
	must(annex_dev_close(dev));
	return 0;
}
