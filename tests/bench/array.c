// SPDX-License-Identifier: MIT
/*
 * Array reads with everything cached, against the same reads of a plain array. The plain array is
 * the very memory that the cache keeps its lines in: filled in order, the lines lie there in order.
 * Two arrays of a gigabyte at different addresses would differ from run to run by more than the
 * cost of the cache.
 */
#include <string.h>
#include <annex/array.h>
#include "tests/unit/random.h"
#include "bench.h"

#define GROUP 64u
#define GROUPS 64u /* between looks at the clock */
#define ROUND_S BENCH_SIZE(0.5, 0.01)
#define BYTES BENCH_SIZE(1ull << 30, 1ull << 24)

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

/* Summed bytes a second, in GB/s. */
static double sum_rate(const struct arrays *s, uint64_t (*sum)(const struct arrays *),
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
	return (double)(s->count * 8) * passes / (end - start) / 1e9;
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

/*
 * Gathered elements a second. The indices are drawn before and the values checked after, outside of
 * the time that counts.
 */
static double gather_rate(const struct arrays *s, uint64_t seed,
			  void (*gather)(const struct arrays *, const uint64_t *, uint64_t *))
{
	static uint64_t idx[GROUPS * GROUP], out[GROUPS * GROUP];
	double timed = 0, start;
	uint64_t n = 0, wrong;

	do {
		for (unsigned int k = 0; k < GROUPS * GROUP; k++)
			idx[k] = random_next(&seed) % s->count;
		start = bench_seconds();
		for (unsigned int k = 0; k < GROUPS * GROUP; k += GROUP)
			gather(s, idx + k, out + k);
		timed += bench_seconds() - start;
		wrong = 0;
		for (unsigned int k = 0; k < GROUPS * GROUP; k++)
			wrong |= out[k] ^ value_of(idx[k]);
		if (wrong)
			bench_fail("a gather brought wrong data");
		n += GROUPS * GROUP;
	} while (timed < ROUND_S);
	return (double)n / timed / 1e6;
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
	double plain[BENCH_ROUNDS], spans[BENCH_ROUNDS], sums[BENCH_ROUNDS];
	double pg[BENCH_ROUNDS], ag[BENCH_ROUNDS], gathers[BENCH_ROUNDS];
	struct annex_dev *dev = bench_open(bench_smoke ? "mem:16M" : "mem:1G", NULL);
	struct annex_cache_opts opts = {.bytes = BYTES, .devs = &dev, .ndevs = 1};
	uint64_t expected = 0;
	struct annex_cache *cache;
	struct arrays s = {.count = BYTES / 8};

	(void)ctx;
	if (annex_cache_create(&opts, &cache) || annex_array_init(&s.a, cache, 0, 8, s.count))
		bench_fail("%s", annex_last_error());
	fill(&s);
	for (uint64_t i = 0; i < s.count; i++)
		expected += value_of(i);
	for (unsigned int r = 0; r < bench_rounds; r++) {
		plain[r] = sum_rate(&s, sum_plain, expected);
		spans[r] = sum_rate(&s, sum_spans, expected);
		pg[r] = gather_rate(&s, r + 1, gather_plain);
		ag[r] = gather_rate(&s, r + 1, gather_array);
	}
	bench_ratios(sums, spans, plain, bench_rounds);
	bench_ratios(gathers, ag, pg, bench_rounds);
	bench_series("plain array, sequential sum of 1 GiB", plain, bench_rounds, "GB/s", 0, 0);
	bench_series("cached array, spans of 4 KiB lines, the same sum", spans, bench_rounds,
		     "GB/s", 0, 0);
	bench_series("cached spans / plain array", sums, bench_rounds, "x", 0.95, 0);
	bench_series("plain array, random gathers of 64 over 1 GiB", pg, bench_rounds, "M/s", 0, 0);
	bench_series("cached array, the same gathers", ag, bench_rounds, "M/s", 0, 0);
	bench_series("cached gathers / plain gathers", gathers, bench_rounds, "x", 0.5, 0);
	if (annex_cache_destroy(cache))
		bench_fail("%s", annex_last_error());
	annex_dev_close(dev);
}
