// SPDX-License-Identifier: MIT
/*
 * Arrays: elements through the cache equal those of a plain array after the same operations.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cache_rig.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define BYTES (1u << 18)

static void views_are_checked(void)
{
	struct annex_array a;
	uint64_t v = 0, idx[3] = {0, 10, 5};
	uint32_t w;
	struct annex_span span;
	struct rig r;

	rig_start(&r, "mem:1M", 64, 512);
	CU_ASSERT_EQUAL(annex_array_init(&a, r.c, 0, 0, 1), -EINVAL);
	CU_ASSERT_EQUAL(annex_array_init(&a, r.c, 8, 8, (1 << 17)), -ERANGE);
	CU_ASSERT_EQUAL(annex_array_init(&a, r.c, 8, 8, UINT64_MAX / 8 + 1), -ERANGE);
	CU_ASSERT_EQUAL(annex_array_init(&a, r.c, UINT64_MAX - 7, 8, 2), -ERANGE);
	CU_ASSERT_EQUAL(annex_array_init(&a, r.c, 1 << 20, 8, 0), 0);
	CU_ASSERT_EQUAL(annex_array_get(&a, 0, &v), -ERANGE);
	CU_ASSERT_EQUAL(annex_array_init(&a, r.c, 512, 8, 10), 0);
	CU_ASSERT_EQUAL(a.per_line, 64);
	CU_ASSERT_EQUAL(annex_array_get(&a, 9, &v), 0);
	CU_ASSERT_EQUAL(v, rig_word(0, 512 + 72));
	CU_ASSERT_EQUAL(annex_array_get(&a, 10, &v), -ERANGE);
	CU_ASSERT_EQUAL(annex_array_get(&a, UINT64_MAX / 8 + 2, &v), -ERANGE);
	CU_ASSERT_EQUAL(annex_array_set(&a, 10, &v), -ERANGE);
	CU_ASSERT_EQUAL(annex_array_span(&a, 10, 0, 0, &span), -ERANGE);
	CU_ASSERT_EQUAL(annex_array_prefetch(&a, 5, 6), -ERANGE);
	CU_ASSERT_EQUAL(annex_array_prefetch(&a, 11, 0), -ERANGE);
	CU_ASSERT_EQUAL(annex_array_add_u32(&a, 0, 1, &w), -EINVAL);
	CU_ASSERT_EQUAL(annex_array_add_u64(&a, 10, 1, &v), -ERANGE);
	CU_ASSERT_EQUAL(annex_array_gather(&a, idx, 3, &v), -ERANGE);
	CU_ASSERT_EQUAL(annex_array_scatter(&a, idx, 3, idx), -ERANGE);
	CU_ASSERT_EQUAL(annex_array_get(&a, 0, &v), 0);
	CU_ASSERT_EQUAL(v, rig_word(0, 512)); /* the scatter has written nothing */
	rig_close(&r);
}

/* A cache, its array, and a plain array that should always be the same. */
struct twin {
	struct rig r;
	struct annex_array a;
	char *plain;
	uint64_t seed;
	uint64_t idx[300];
	char vals[300 * 64], out[300 * 64];
};

static void one_element(struct twin *t)
{
	uint64_t i = random_next(&t->seed) % t->a.count;
	uint32_t elem = t->a.elem;

	if (random_next(&t->seed) & 1) {
		random_fill(&t->seed, t->vals, elem);
		CU_ASSERT_EQUAL_FATAL(annex_array_set(&t->a, i, t->vals), 0);
		memcpy(t->plain + i * elem, t->vals, elem);
	} else {
		CU_ASSERT_EQUAL_FATAL(annex_array_get(&t->a, i, t->out), 0);
		CU_ASSERT_EQUAL_FATAL(memcmp(t->out, t->plain + i * elem, elem), 0);
	}
}

static void many_elements(struct twin *t)
{
	unsigned int n = (unsigned int)(random_next(&t->seed) % 301);
	uint64_t within = random_next(&t->seed) & 1 ? t->a.count : 50;
	uint32_t elem = t->a.elem;

	for (unsigned int k = 0; k < n; k++)
		t->idx[k] = random_next(&t->seed) % within;
	if (random_next(&t->seed) & 1) {
		random_fill(&t->seed, t->vals, (size_t)n * elem);
		CU_ASSERT_EQUAL_FATAL(annex_array_scatter(&t->a, t->idx, n, t->vals), 0);
		for (unsigned int k = 0; k < n; k++)
			memcpy(t->plain + t->idx[k] * elem, t->vals + k * elem, elem);
	} else {
		CU_ASSERT_EQUAL_FATAL(annex_array_gather(&t->a, t->idx, n, t->out), 0);
		for (unsigned int k = 0; k < n; k++)
			CU_ASSERT_EQUAL_FATAL(
				memcmp(t->out + k * elem, t->plain + t->idx[k] * elem, elem), 0);
	}
}

static void one_span(struct twin *t)
{
	static const unsigned int kinds[] = {0, ANNEX_PIN_WRITE, ANNEX_PIN_NEW};
	unsigned int flags = kinds[random_next(&t->seed) % 3];
	uint64_t i = random_next(&t->seed) % t->a.count, max = random_next(&t->seed) % 20;
	struct annex_span span;
	size_t bytes;

	CU_ASSERT_EQUAL_FATAL(annex_array_span(&t->a, i, max, flags, &span), 0);
	CU_ASSERT_FATAL(span.count > 0 && span.count <= t->a.count - i);
	CU_ASSERT_FATAL(!max || span.count <= max);
	bytes = span.count * t->a.elem;
	if (flags) {
		random_fill(&t->seed, span.data, bytes);
		memcpy(t->plain + i * t->a.elem, span.data, bytes);
	} else {
		CU_ASSERT_EQUAL_FATAL(memcmp(span.data, t->plain + i * t->a.elem, bytes), 0);
	}
	annex_array_span_end(&t->a, &span);
}

static void like_a_plain_array(uint32_t elem, uint64_t slots)
{
	static struct twin t;

	t.seed = random_seed("array");
	rig_start(&t.r, "mem:256K", slots, 512);
	CU_ASSERT_EQUAL_FATAL(annex_array_init(&t.a, t.r.c, elem, elem, BYTES / elem - 2), 0);
	t.plain = malloc(BYTES);
	CU_ASSERT_PTR_NOT_NULL_FATAL(t.plain);
	rig_read(&t.r, 0, 0, t.plain, BYTES);
	memmove(t.plain, t.plain + elem, BYTES - elem);
	for (unsigned int i = 0; i < 1500; i++) {
		switch (random_next(&t.seed) % 4) {
		case 0:
			many_elements(&t);
			break;
		case 1:
			one_span(&t);
			break;
		default:
			one_element(&t);
		}
	}
	CU_ASSERT_EQUAL(annex_cache_flush(t.r.c, 0, UINT64_MAX), 0);
	rig_read(&t.r, 0, 0, t.r.buf, BYTES);
	CU_ASSERT_EQUAL(memcmp(t.r.buf + elem, t.plain, BYTES - 2 * elem), 0);
	free(t.plain);
	rig_close(&t.r);
}

static void elements_of_all_sizes(void)
{
	for (uint32_t elem = 1; elem <= 64; elem *= 2)
		like_a_plain_array(elem, 100);
}

static void a_cache_smaller_than_a_group(void)
{
	like_a_plain_array(8, 2);
	like_a_plain_array(4, 5);
}

static void bytes_asked_are_counted(void)
{
	uint64_t idx[100], out[100];
	struct annex_span span;
	struct annex_array a;
	struct rig r;

	rig_start(&r, "mem:1M", 256, 4096);
	CU_ASSERT_EQUAL_FATAL(annex_array_init(&a, r.c, 0, 8, (1 << 20) / 8), 0);
	for (unsigned int i = 0; i < 100; i++)
		idx[i] = i * 512;
	CU_ASSERT_EQUAL(annex_array_gather(&a, idx, 100, out), 0);
	CU_ASSERT_EQUAL(annex_array_scatter(&a, idx, 100, out), 0);
	CU_ASSERT_EQUAL(annex_array_get(&a, 1, out), 0);
	CU_ASSERT_EQUAL(annex_array_set(&a, 1, out), 0);
	CU_ASSERT_EQUAL(annex_array_add_u64(&a, 1, 1, NULL), 0);
	CU_ASSERT_EQUAL(annex_array_span(&a, 500, 0, 0, &span), 0);
	CU_ASSERT_EQUAL(span.count, 12);
	annex_array_span_end(&a, &span);
	CU_ASSERT_EQUAL(rig_stats(&r).bytes_asked, 200 * 8 + 3 * 8 + 12 * 8);
	CU_ASSERT_EQUAL(rig_stats(&r).bytes_read, 100 * 4096);
	CU_ASSERT_EQUAL(rig_stats(&r).misses, 100);
	rig_close(&r);
}

static void read_errors_come_through(void)
{
	uint64_t idx[80], out[80];
	struct annex_array a;
	struct rig r;

	rig_open(&r, 1, "mem:1M", NULL);
	rig_cache(&r, 1 << 19, 4096, ANNEX_STRIPE, 0);
	CU_ASSERT_EQUAL_FATAL(annex_array_init(&a, r.c, 0, 8, (1 << 20) / 8), 0);
	rig_error(&r, 0, ANNEX_NVM_READ, 70 * 8, 8, 0);
	for (unsigned int i = 0; i < 80; i++)
		idx[i] = i * 512;
	CU_ASSERT_EQUAL(annex_array_get(&a, 70 * 512, out), -EIO);
	CU_ASSERT_EQUAL(annex_array_set(&a, 70 * 512, out), -EIO);
	CU_ASSERT_EQUAL(annex_array_gather(&a, idx, 80, out), -EIO);
	CU_ASSERT_EQUAL(annex_array_scatter(&a, idx, 80, out), -EIO);
	CU_ASSERT_EQUAL(annex_array_gather(&a, idx, 70, out), 0);
	CU_ASSERT_EQUAL(out[69], rig_word(0, 69 * 4096));
	rig_close(&r);
}

UNIT_SUITE(array_elements, {"views are checked", views_are_checked},
	   {"elements of all sizes", elements_of_all_sizes},
	   {"a cache smaller than a group", a_cache_smaller_than_a_group},
	   {"bytes asked are counted", bytes_asked_are_counted},
	   {"read errors come through", read_errors_come_through})
