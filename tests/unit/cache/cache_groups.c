// SPDX-License-Identifier: MIT
/*
 * Many lines at once: groups and reading ahead.
 */
#include <errno.h>
#include "cache_rig.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

static void equal_members_share_one_probe(void)
{
	uint64_t lines[40];
	void *data[40];
	struct rig r;

	rig_start(&r, "mem:1M", 64, 4096);
	for (unsigned int i = 0; i < 40; i++)
		lines[i] = i * 7 % 5 * 10;
	CU_ASSERT_EQUAL_FATAL(annex_cache_pin_group(r.c, lines, 40, 0, data), 0);
	for (unsigned int i = 0; i < 40; i++) {
		CU_ASSERT_PTR_EQUAL(data[i], data[i % 5]);
		CU_ASSERT_EQUAL(*(uint64_t *)data[i], rig_word(0, lines[i] * 4096));
	}
	CU_ASSERT_EQUAL(rig_stats(&r).misses, 5);
	CU_ASSERT_EQUAL(rig_stats(&r).depth_max, 5); /* all misses at once */
	annex_cache_unpin_group(r.c, lines, 40, 0);
	CU_ASSERT_EQUAL_FATAL(annex_cache_pin_group(r.c, lines, 40, 0, data), 0);
	annex_cache_unpin_group(r.c, lines, 40, 0);
	CU_ASSERT_EQUAL(rig_stats(&r).hits, 5);
	rig_close(&r);
}

static void groups_of_any_size(void)
{
	static uint64_t lines[1000];
	static void *data[1000];
	uint64_t seed = random_seed("groups"), s;
	struct rig r;

	rig_start(&r, "mem:2M", 400, 512);
	for (unsigned int round = 0; round < 30; round++) {
		unsigned int n = (unsigned int)(random_next(&seed) % 1001);
		uint64_t from = random_next(&seed) % 3000;
		unsigned int flags = round & 1 ? ANNEX_PIN_WRITE : 0;

		for (unsigned int i = 0; i < n; i++)
			lines[i] = from + random_next(&seed) % 300;
		CU_ASSERT_EQUAL_FATAL(annex_cache_pin_group(r.c, lines, n, flags, data), 0);
		for (unsigned int i = 0; i < n; i++)
			CU_ASSERT_EQUAL_FATAL(*(uint64_t *)data[i], rig_word(0, lines[i] * 512));
		annex_cache_unpin_group(r.c, lines, n, flags);
	}
	/* Nothing is left pinned: every line can still come in. */
	for (s = 0; s < 4096; s++) {
		void *p;

		CU_ASSERT_EQUAL_FATAL(annex_cache_pin(r.c, s, 0, &p), 0);
		annex_cache_unpin(r.c, s, 0);
	}
	rig_close(&r);
}

static void too_large_a_group_leaves_nothing_pinned(void)
{
	uint64_t lines[20];
	void *data[20];
	struct rig r;

	rig_start(&r, "mem:1M", 16, 4096);
	for (unsigned int i = 0; i < 20; i++)
		lines[i] = i;
	CU_ASSERT_EQUAL(annex_cache_pin_group(r.c, lines, 20, 0, data), -EBUSY);
	CU_ASSERT_EQUAL(annex_cache_pin_group(r.c, lines + 4, 16, ANNEX_PIN_WRITE, data), 0);
	annex_cache_unpin_group(r.c, lines + 4, 16, ANNEX_PIN_WRITE);
	lines[7] = 256;
	CU_ASSERT_EQUAL(annex_cache_pin_group(r.c, lines, 8, 0, data), -ERANGE);
	lines[7] = 7;
	rig_error(&r, 0, ANNEX_NVM_READ, 2 * 8, 8, 0);
	CU_ASSERT_EQUAL(annex_cache_pin_group(r.c, lines, 8, 0, data), -EIO);
	CU_ASSERT_EQUAL(annex_cache_pin_group(r.c, lines + 4, 16, 0, data), 0);
	annex_cache_unpin_group(r.c, lines + 4, 16, 0);
	rig_close(&r);
}

/* A group that fails must not leave zeroes where the device has data. */
static void a_failed_group_of_new_lines_hides_nothing(void)
{
	uint64_t lines[20];
	void *data[20], *p;
	struct rig r;

	rig_start(&r, "mem:1M", 16, 4096);
	for (unsigned int i = 0; i < 20; i++)
		lines[i] = i;
	CU_ASSERT_EQUAL(annex_cache_pin_group(r.c, lines, 20, ANNEX_PIN_NEW, data), -EBUSY);
	for (uint64_t i = 0; i < 20; i++) {
		CU_ASSERT_EQUAL_FATAL(annex_cache_pin(r.c, i, 0, &p), 0);
		CU_ASSERT_EQUAL(*(uint64_t *)p, rig_word(0, i * 4096));
		annex_cache_unpin(r.c, i, 0);
	}
	rig_close(&r);
}

static void what_was_read_ahead_is_hit(void)
{
	struct annex_range ranges[3] = {{0, 10 * 512}, {100 * 512 + 1, 512}, {5000, 0}};
	struct annex_cache_stats s;
	struct rig r;
	void *p;

	rig_start(&r, "mem:1M", 64, 512);
	CU_ASSERT_EQUAL(annex_cache_prefetch(r.c, ranges, 3), 12);
	CU_ASSERT_EQUAL(annex_cache_prefetch(r.c, ranges, 3), 0);
	for (uint64_t i = 0; i < 10; i++) {
		CU_ASSERT_EQUAL_FATAL(annex_cache_pin(r.c, i, 0, &p), 0);
		CU_ASSERT_EQUAL(*(uint64_t *)p, rig_word(0, i * 512));
		annex_cache_unpin(r.c, i, 0);
	}
	s = rig_stats(&r);
	CU_ASSERT_EQUAL(s.prefetches, 12);
	CU_ASSERT_EQUAL(s.bytes_read, 10 * 512); /* the other two are not taken over yet */
	ranges[1].offset = 1 << 20;
	CU_ASSERT_EQUAL(annex_cache_prefetch(r.c, ranges, 2), -ERANGE);
	ranges[1].len = UINT64_MAX;
	CU_ASSERT_EQUAL(annex_cache_prefetch(r.c, ranges, 2), -ERANGE);
	rig_close(&r);
}

static void reading_ahead_does_not_evict_itself(void)
{
	struct annex_range all = {0, 1 << 20};
	struct annex_cache_stats s;
	int64_t n;
	struct rig r;
	void *p;

	rig_start(&r, "mem:1M", 64, 4096);
	n = annex_cache_prefetch(r.c, &all, 1);
	CU_ASSERT(n >= 16 && n <= 32);
	for (int64_t i = 0; i < n; i++) {
		CU_ASSERT_EQUAL_FATAL(annex_cache_pin(r.c, (uint64_t)i, 0, &p), 0);
		annex_cache_unpin(r.c, (uint64_t)i, 0);
	}
	s = rig_stats(&r);
	CU_ASSERT_EQUAL(s.bytes_read, (uint64_t)n * 4096); /* each came once */
	CU_ASSERT_EQUAL(s.evictions, 0);
	rig_close(&r);
}

static void nobody_need_come_for_what_was_read_ahead(void)
{
	struct annex_range some = {0, 16 * 4096};
	struct rig r;
	void *p;

	rig_start(&r, "mem:1M", 64, 4096);
	CU_ASSERT_EQUAL(annex_cache_prefetch(r.c, &some, 1), 16);
	/* Its slots come back when others need them. */
	for (uint64_t i = 100; i < 256; i++) {
		CU_ASSERT_EQUAL_FATAL(annex_cache_pin(r.c, i, 0, &p), 0);
		annex_cache_unpin(r.c, i, 0);
	}
	some.offset = 20 * 4096;
	CU_ASSERT_EQUAL(annex_cache_prefetch(r.c, &some, 1), 16);
	rig_close(&r); /* and closing finds them in flight */
}

UNIT_SUITE(cache_groups, {"equal members share one probe", equal_members_share_one_probe},
	   {"groups of any size", groups_of_any_size},
	   {"too large a group leaves nothing pinned", too_large_a_group_leaves_nothing_pinned},
	   {"a failed group hides nothing", a_failed_group_of_new_lines_hides_nothing},
	   {"lines that were read ahead are hits", what_was_read_ahead_is_hit},
	   {"reading ahead does not evict itself", reading_ahead_does_not_evict_itself},
	   {"a read ahead needs no waiting thread", nobody_need_come_for_what_was_read_ahead})
