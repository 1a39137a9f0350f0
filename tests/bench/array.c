// SPDX-License-Identifier: MIT
/*
 * Array reads with everything cached, against the same reads of a plain array. The plain array is
 * the very memory that the cache keeps its lines in: filled in order, the lines lie there in order.
 * Two arrays of a gigabyte differ by more than what is to be measured, from run to run, by where
 * they happen to lie.
 */
#include <string.h>
#include <annex/array.h>
#include "tests/unit/random.h"
#include "bench.h"

#define GROUP 64u
#define ROUND_S 0.5

struct arrays {
	struct annex_array a;
	const uint64_t *plain;
	uint64_t count;
};

/* An element's value follows from its index, so that every sum can be checked. */
static uint64_t value_of(uint64_t i)
{
	return i * 0x9e3779b97f4a7c15ull;
}

static uint64_t sum_plain(const struct arrays *s)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < s->count; i++)
		sum += s->plain[i];
	return sum;
}

static uint64_t sum_spans(const struct arrays *s)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < s->count;) {
		struct annex_span span;
		const uint64_t *p;

		if (annex_array_span(&s->a, i, 0, 0, &span))
			bench_fail("%s", annex_last_error());
		p = span.data;
		for (uint64_t k = 0; k < span.count; k++)
			sum += p[k];
		i += span.count;
		annex_array_span_end(&s->a, &span);
	}
	return sum;
}

static double seconds_a_pass(const struct arrays *s, uint64_t (*sum)(const struct arrays *),
			     uint64_t expected)
{
	double start = bench_seconds(), end;
	unsigned int passes = 0;

	do {
		if (sum(s) != expected)
			bench_fail("a sum over the array is wrong");
		passes++;
		end = bench_seconds();
	} while (end - start < ROUND_S);
	return (end - start) / passes;
}

static void gather_plain(const struct arrays *s, const uint64_t *idx, uint64_t *out)
{
	for (unsigned int k = 0; k < GROUP; k++)
		out[k] = s->plain[idx[k]];
}

static void gather_array(const struct arrays *s, const uint64_t *idx, uint64_t *out)
{
	if (annex_array_gather(&s->a, idx, GROUP, out))
		bench_fail("%s", annex_last_error());
}

/* Gathered elements a second; every value is checked. */
static double gather_rate(const struct arrays *s, uint64_t seed,
			  void (*gather)(const struct arrays *, const uint64_t *, uint64_t *))
{
	double start = bench_seconds(), end;
	uint64_t idx[GROUP], out[GROUP], n = 0;

	do {
		for (unsigned int r = 0; r < 64; r++) {
			uint64_t wrong = 0;

			for (unsigned int k = 0; k < GROUP; k++)
				idx[k] = random_next(&seed) % s->count;
			gather(s, idx, out);
			for (unsigned int k = 0; k < GROUP; k++)
				wrong |= out[k] ^ value_of(idx[k]);
			if (wrong)
				bench_fail("a gather brought wrong data");
		}
		n += 64 * GROUP;
		end = bench_seconds();
	} while (end - start < ROUND_S);
	return (double)n / (end - start);
}

static void fill(struct arrays *s)
{
	for (uint64_t i = 0; i < s->count;) {
		struct annex_span span;

		if (annex_array_span(&s->a, i, 0, ANNEX_PIN_WRITE | ANNEX_PIN_NEW, &span))
			bench_fail("%s", annex_last_error());
		for (uint64_t k = 0; k < span.count; k++)
			((uint64_t *)span.data)[k] = value_of(i + k);
		if (!i)
			s->plain = span.data;
		if (span.data != s->plain + i)
			bench_fail("the lines do not lie in order");
		i += span.count;
		annex_array_span_end(&s->a, &span);
	}
}

void bench_array(const struct bench_ctx *ctx)
{
	double plain[BENCH_ROUNDS], spans[BENCH_ROUNDS], pg[BENCH_ROUNDS], ag[BENCH_ROUNDS];
	struct annex_dev *dev = bench_open("mem:1G", NULL);
	struct annex_cache_opts opts = {.bytes = 1ull << 30, .devs = &dev, .ndevs = 1};
	uint64_t expected = 0;
	struct annex_cache *cache;
	struct arrays s = {.count = (1ull << 30) / 8};

	(void)ctx;
	if (annex_cache_create(&opts, &cache) || annex_array_init(&s.a, cache, 0, 8, s.count))
		bench_fail("%s", annex_last_error());
	fill(&s);
	for (uint64_t i = 0; i < s.count; i++)
		expected += value_of(i);
	for (unsigned int r = 0; r < BENCH_ROUNDS; r++) {
		plain[r] = seconds_a_pass(&s, sum_plain, expected);
		spans[r] = seconds_a_pass(&s, sum_spans, expected);
		pg[r] = gather_rate(&s, r + 1, gather_plain);
		ag[r] = gather_rate(&s, r + 1, gather_array);
	}
	bench_figure("plain array, sequential sum of 1 GiB",
		     1.073741824 / bench_median(plain, BENCH_ROUNDS), "GB/s", 0, 0);
	bench_figure("cached array, spans of 4 KiB lines, the same sum",
		     1.073741824 / bench_median(spans, BENCH_ROUNDS), "GB/s", 0, 0);
	bench_figure("cached spans / plain array",
		     bench_median(plain, BENCH_ROUNDS) / bench_median(spans, BENCH_ROUNDS), "x",
		     0.9, 0);
	bench_figure("plain array, random gathers of 64 over 1 GiB",
		     bench_median(pg, BENCH_ROUNDS) / 1e6, "M/s", 0, 0);
	bench_figure("cached array, the same gathers", bench_median(ag, BENCH_ROUNDS) / 1e6, "M/s",
		     0, 0);
	bench_figure("cached gathers / plain gathers",
		     bench_median(ag, BENCH_ROUNDS) / bench_median(pg, BENCH_ROUNDS), "x", 0.4, 0);
	if (annex_cache_destroy(cache))
		bench_fail("%s", annex_last_error());
	annex_dev_close(dev);
}
