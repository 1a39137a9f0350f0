// SPDX-License-Identifier: MIT
/*
 * Sums, and time above a line, against brute force.
 */
#include "plan_traces.h"
#include "plan/policy/sum.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define MOST 70

static uint64_t seed;

static int64_t slow_before(const int64_t *values, uint32_t at)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < at; i++)
		sum += values[i];
	return sum;
}

static uint32_t slow_reach(const int64_t *values, uint32_t n, int64_t most)
{
	uint32_t reach = 0;

	while (reach < n && slow_before(values, reach + 1) <= most)
		reach++;
	return reach;
}

/* Many are nothing: what ends at one of them ends at all. */
static int64_t random_value(void)
{
	return random_below(&seed, 3)
		       ? 0
		       : (int64_t)(random_next(&seed) >> 7 >> random_below(&seed, 57));
}

static bool same_sum(const struct sum *s, const int64_t *values)
{
	for (uint32_t i = 0; i <= s->n; i++) {
		int64_t sum = slow_before(values, i), most = sum + random_below(&seed, 3) - 1;

		if (sum_before(s, i) != sum || (i < s->n && sum_at(s, i) != values[i]) ||
		    sum_reach(s, most) != slow_reach(values, s->n, most))
			return false;
	}
	return sum_reach(s, INT64_MAX) == s->n;
}

static void sums_add_and_reach(void)
{
	seed = random_seed("sums");
	for (int round = 0; round < 500; round++) {
		uint32_t n = 1 + random_below(&seed, MOST);
		int64_t values[MOST];
		struct sum s;
		bool same;

		for (uint32_t i = 0; i < n; i++)
			values[i] = round % 4 ? random_value() >> 6 : 0;
		CU_ASSERT_EQUAL_FATAL(sum_init(&s, n, values), 0);
		same = same_sum(&s, values);
		for (int i = 0; i < 30 && same; i++) {
			uint32_t at = random_below(&seed, n);
			int64_t value = random_value() >> 6;

			sum_add(&s, at, value - values[at]);
			values[at] = value;
			same = same_sum(&s, values);
		}
		CU_ASSERT(same);
		sum_free(&s);
	}
}

static int64_t slow_above(const int64_t *height, const uint64_t *start, uint32_t n, uint32_t from,
			  uint32_t to)
{
	int64_t ns = 0;

	for (uint32_t i = from; i < to; i++) {
		uint32_t k = i < n ? i : i - n;

		if (height[k] > 0)
			ns += (int64_t)(start[k + 1] - start[k]);
	}
	return ns;
}

static bool same_above(const struct above *a, const int64_t *height, const uint64_t *start,
		       uint32_t n)
{
	for (int i = 0; i < 20; i++) {
		uint32_t from = random_below(&seed, n), to = from + random_below(&seed, n + 1);

		if (above_ns(a, from, to) != slow_above(height, start, n, from, to))
			return false;
	}
	return above_ns(a, n, 0) == 0 && above_ns(a, 0, n) == slow_above(height, start, n, 0, n);
}

static void what_falls_crosses_once(void)
{
	seed = random_seed("above");
	for (int round = 0; round < 500; round++) {
		uint32_t n = 1 + random_below(&seed, MOST);
		uint64_t start[MOST + 1] = {0};
		int64_t height[MOST];
		struct above a;
		bool same;

		for (uint32_t k = 0; k < n; k++) {
			height[k] = (int64_t)random_below(&seed, 100) - 20;
			start[k + 1] = start[k] + random_below(&seed, 1000);
		}
		CU_ASSERT_EQUAL_FATAL(above_init(&a, n, height, start), 0);
		same = same_above(&a, height, start, n);
		for (int i = 0; i < 60 && same; i++) {
			uint32_t from = random_below(&seed, n), len = random_below(&seed, n + 1);
			uint32_t by = random_below(&seed, 10);

			above_fall(&a, from, len, by);
			for (uint32_t k = from; k < from + len; k++)
				height[k < n ? k : k - n] -= by;
			same = same_above(&a, height, start, n);
		}
		CU_ASSERT(same);
		above_free(&a);
	}
}

UNIT_SUITE(sum, {"sums add and reach", sums_add_and_reach},
	   {"what falls crosses a line once", what_falls_crosses_once})
