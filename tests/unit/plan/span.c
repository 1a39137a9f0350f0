// SPDX-License-Identifier: MIT
/*
 * Spans and heaps against brute force.
 */
#include <stdlib.h>
#include <string.h>
#include "plan/policy/heap.h"
#include "plan/policy/span.h"
#include "plan_traces.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define MOST 70
#define HEAP 200

static uint64_t seed;

static int64_t slow_most(const int64_t *values, uint32_t n, uint32_t from, uint32_t len)
{
	int64_t most = INT64_MIN;

	for (uint32_t i = from; len--; i = i + 1 < n ? i + 1 : 0)
		most = values[i] > most ? values[i] : most;
	return most;
}

static uint32_t slow_last(const int64_t *values, uint32_t n, uint32_t from, uint32_t len,
			  int64_t least)
{
	uint32_t last = n;

	for (uint32_t i = from; len--; i = i + 1 < n ? i + 1 : 0)
		if (values[i] >= least)
			last = i;
	return last;
}

static int64_t random_value(void)
{
	return (int64_t)(random_next(&seed) >> random_below(&seed, 40) >> 8) -
	       (int64_t)(random_next(&seed) >> 8 >> random_below(&seed, 40));
}

static bool same_span(const struct span *s, const int64_t *values)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (span_at(s, i) != values[i])
			return false;
	for (int i = 0; i < 20; i++) {
		uint32_t from = random_below(&seed, s->n), len = random_below(&seed, s->n + 1);
		/* One that is there, or one more, or any. */
		int64_t least = random_below(&seed, 4)
					? values[random_below(&seed, s->n)] + random_below(&seed, 2)
					: random_value();

		if (span_most(s, from, len) != slow_most(values, s->n, from, len))
			return false;
		if (span_last(s, from, len, least) != slow_last(values, s->n, from, len, least))
			return false;
	}
	return span_most(s, 0, s->n) == slow_most(values, s->n, 0, s->n);
}

static void spans_add_and_find(void)
{
	seed = random_seed("spans");
	for (int round = 0; round < 300; round++) {
		uint32_t n = 1 + random_below(&seed, MOST);
		int64_t values[MOST];
		struct span s;
		bool same = true;

		for (uint32_t i = 0; i < n; i++)
			values[i] = round % 3 ? random_value() : 0;
		CU_ASSERT_EQUAL_FATAL(span_init(&s, n, round % 3 ? values : NULL), 0);
		for (int i = 0; i < 60 && same; i++) {
			uint32_t from = random_below(&seed, n), len = random_below(&seed, n + 1);
			int64_t value = random_value();

			span_add(&s, from, len, value);
			for (uint32_t k = from; len--; k = k + 1 < n ? k + 1 : 0)
				values[k] += value;
			same = same_span(&s, values);
		}
		CU_ASSERT(same);
		span_free(&s);
	}
}

static void spans_that_are_empty(void)
{
	struct span s;

	CU_ASSERT_EQUAL_FATAL(span_init(&s, 5, NULL), 0);
	CU_ASSERT_EQUAL(span_most(&s, 3, 0), INT64_MIN);
	CU_ASSERT_EQUAL(span_last(&s, 3, 0, INT64_MIN), 5);
	CU_ASSERT_EQUAL(span_last(&s, 3, 5, 0), 2);
	CU_ASSERT_EQUAL(span_last(&s, 3, 5, 1), 5);
	span_add(&s, 4, 0, 7);
	CU_ASSERT_EQUAL(span_most(&s, 0, 5), 0);
	span_add(&s, 4, 2, 7);
	CU_ASSERT_EQUAL(span_at(&s, 4), 7);
	CU_ASSERT_EQUAL(span_at(&s, 0), 7);
	CU_ASSERT_EQUAL(span_most(&s, 1, 3), 0);
	span_free(&s);
}

/* The first place, from the left or the right, of @bytes that are free; -1: none. */
static int slow_find(const bool *taken, uint64_t size, uint64_t bytes, bool high)
{
	for (uint64_t i = 0; i + bytes <= size; i++) {
		uint64_t at = high ? size - bytes - i : i, n = 0;

		while (n < bytes && !taken[at + n])
			n++;
		if (n == bytes)
			return (int)at;
	}
	return -1;
}

static uint64_t slow_largest(const bool *taken, uint64_t size)
{
	uint64_t most = 0, run = 0;

	for (uint64_t i = 0; i < size; i++) {
		run = taken[i] ? 0 : run + 1;
		most = run > most ? run : most;
	}
	return most;
}

struct held {
	uint64_t at, bytes;
};

/* Take a block at one end, as brute force would. */
static bool take(struct heap *h, bool *taken, uint64_t size, struct held *block)
{
	bool high = random_below(&seed, 2), got;
	int want;

	block->bytes = 1 + random_below(&seed, 1 + random_below(&seed, 40));
	want = slow_find(taken, size, block->bytes, high);
	got = high ? heap_take_high(h, block->bytes, &block->at)
		   : heap_take_low(h, block->bytes, &block->at);
	CU_ASSERT_EQUAL(got, want >= 0);
	if (!got)
		return false;
	CU_ASSERT_EQUAL_FATAL(block->at, (uint64_t)want);
	memset(taken + block->at, true, block->bytes);
	return true;
}

static void heap_round(uint64_t size, uint32_t most)
{
	struct held held[64];
	bool taken[HEAP] = {false};
	uint32_t n = 0;
	struct heap h;

	CU_ASSERT_EQUAL_FATAL(heap_init(&h, size, most), 0);
	for (int i = 0; i < 200; i++) {
		if (n < most && random_below(&seed, 2)) {
			n += take(&h, taken, size, &held[n]);
		} else if (n) {
			uint32_t x = random_below(&seed, n);

			memset(taken + held[x].at, false, held[x].bytes);
			heap_give(&h, held[x].at, held[x].bytes);
			held[x] = held[--n];
		}
		CU_ASSERT_EQUAL(heap_largest(&h), slow_largest(taken, size));
	}
	while (n--)
		heap_give(&h, held[n].at, held[n].bytes);
	CU_ASSERT_EQUAL(h.n, 1);
	CU_ASSERT_EQUAL(heap_largest(&h), size);
	heap_free(&h);
}

static void heaps_give_what_brute_force_gives(void)
{
	seed = random_seed("heaps");
	for (int round = 0; round < 300; round++)
		heap_round(1 + random_below(&seed, HEAP), 1 + random_below(&seed, 63));
}

UNIT_SUITE(span, {"spans add and find the most, and the last", spans_add_and_find},
	   {"empty spans, and around the end", spans_that_are_empty},
	   {"heaps give what brute force gives", heaps_give_what_brute_force_gives})
