// SPDX-License-Identifier: MIT
/*
 * Array reads with everything cached, against the same reads of a plain array, and rows that span
 * lines against elements that do not. The plain array is
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

#define MOST 64u /* doublewords of an element */

struct arrays {
	struct annex_array a;
	const uint64_t *plain;
	uint64_t count;
	unsigned int words; /* of an element, */
	uint64_t first;     /* and the number of element 0's first among all */
};

/* A doubleword's value follows from its number, so that every sum can be checked. */
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
	static uint64_t idx[GROUPS * GROUP], out[GROUPS * GROUP * MOST];
	double timed = 0, start;
	uint64_t n = 0, wrong;

	do {
		for (unsigned int k = 0; k < GROUPS * GROUP; k++)
			idx[k] = random_next(&seed) % s->count;
		start = bench_seconds();
		for (unsigned int k = 0; k < GROUPS * GROUP; k += GROUP)
			gather(s, idx + k, out + k * s->words);
		timed += bench_seconds() - start;
		wrong = 0;
		for (unsigned int k = 0; k < GROUPS * GROUP * s->words; k++) {
			uint64_t at = idx[k / s->words] * s->words + k % s->words;

			wrong |= out[k] ^ value_of(s->first + at);
		}
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

/* Elements of @words doublewords over the same data, behind @first others. */
static struct arrays view(const struct arrays *s, unsigned int words, uint64_t first)
{
	struct arrays v = {.count = (s->count - first) / words, .words = words, .first = first};

	if (annex_array_init(&v.a, s->a.cache, first * 8, words * 8, v.count))
		bench_fail("%s", annex_last_error());
	return v;
}

void bench_array(const struct bench_ctx *ctx)
{
	double plain[BENCH_ROUNDS], spans[BENCH_ROUNDS], sums[BENCH_ROUNDS];
	double pg[BENCH_ROUNDS], ag[BENCH_ROUNDS], gathers[BENCH_ROUNDS];
	double eg[BENCH_ROUNDS], rg[BENCH_ROUNDS], rows[BENCH_ROUNDS];
	struct annex_dev *dev = bench_open(bench_smoke ? "mem:16M" : "mem:1G", NULL);
	struct annex_cache_opts opts = {.bytes = BYTES, .devs = &dev, .ndevs = 1};
	uint64_t expected = 0;
	struct annex_cache *cache;
	struct arrays s = {.count = BYTES / 8, .words = 1}, even, row;

	(void)ctx;
	if (annex_cache_create(&opts, &cache) || annex_array_init(&s.a, cache, 0, 8, s.count))
		bench_fail("%s", annex_last_error());
	fill(&s);
	for (uint64_t i = 0; i < s.count; i++)
		expected += value_of(i);
	even = view(&s, 64, 0);
	row = view(&s, 50, 16);
	for (unsigned int r = 0; r < bench_rounds; r++) {
		plain[r] = sum_rate(&s, sum_plain, expected);
		spans[r] = sum_rate(&s, sum_spans, expected);
		pg[r] = gather_rate(&s, r + 1, gather_plain);
		ag[r] = gather_rate(&s, r + 1, gather_array);
		eg[r] = gather_rate(&even, r + 1, gather_array);
		rg[r] = gather_rate(&row, r + 1, gather_array);
	}
	bench_ratios(sums, spans, plain, bench_rounds);
	bench_ratios(gathers, ag, pg, bench_rounds);
	bench_ratios(rows, rg, eg, bench_rounds);
	bench_series("plain array, sequential sum of 1 GiB", plain, bench_rounds, "GB/s", 0, 0);
	bench_series("cached array, spans of 4 KiB lines, the same sum", spans, bench_rounds,
		     "GB/s", 0, 0);
	bench_series("cached spans / plain array", sums, bench_rounds, "x", 0.95, 0);
	bench_series("plain array, random gathers of 64 over 1 GiB", pg, bench_rounds, "M/s", 0, 0);
	bench_series("cached array, the same gathers", ag, bench_rounds, "M/s", 0, 0);
	bench_series("cached gathers / plain gathers", gathers, bench_rounds, "x", 0.5, 0);
	bench_series("cached elements of 512 bytes, gathers of 64", eg, bench_rounds, "M/s", 0, 0);
	bench_series("cached rows of 400 bytes behind 128, the same", rg, bench_rounds, "M/s", 0,
		     0);
	bench_series("rows of 400 bytes / elements of 512", rows, bench_rounds, "x", 0.7, 0);
	if (annex_cache_destroy(cache))
		bench_fail("%s", annex_last_error());
	annex_dev_close(dev);
}
