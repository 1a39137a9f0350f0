// SPDX-License-Identifier: MIT
/*
 * Several devices: where lines lie, and that a replica stands in for another.
 */
#include <errno.h>
#include "cache_rig.h"
#include "tests/unit/unit.h"

static uint64_t first_word(struct rig *r, uint64_t line)
{
	uint64_t word;
	void *p;

	CU_ASSERT_EQUAL_FATAL(annex_cache_pin(r->c, line, 0, &p), 0);
	word = *(uint64_t *)p;
	annex_cache_unpin(r->c, line, 0);
	return word;
}

static void write_lines(struct rig *r, uint64_t n)
{
	void *p;

	for (uint64_t i = 0; i < n; i++) {
		CU_ASSERT_EQUAL_FATAL(annex_cache_pin(r->c, i, ANNEX_PIN_WRITE, &p), 0);
		*(uint64_t *)p = i;
		annex_cache_unpin(r->c, i, ANNEX_PIN_WRITE);
	}
}

static void stripes_go_round(void)
{
	uint64_t word[512];
	struct rig r;

	for (unsigned int n = 2; n <= RIG_DEVS; n++) {
		struct annex_range all = {0, 30 * 4096};

		rig_open(&r, n, "mem:1M", NULL);
		rig_cache(&r, 64 * 4096, 4096, ANNEX_STRIPE, 0);
		CU_ASSERT_EQUAL(annex_cache_size(r.c), n << 20);
		/* Read ahead as runs of each device, or one by one, it is the same. */
		CU_ASSERT(annex_cache_prefetch(r.c, &all, 1) > 0);
		for (uint64_t i = 0; i < 256 * n; i++)
			CU_ASSERT_EQUAL_FATAL(first_word(&r, i), rig_word(i % n, i / n * 4096));
		write_lines(&r, 256 * n);
		CU_ASSERT_EQUAL(annex_cache_flush(r.c, 0, UINT64_MAX), 0);
		for (uint64_t i = 0; i < 256 * n; i++) {
			rig_read(&r, (unsigned int)(i % n), i / n * 4096, word, 4096);
			CU_ASSERT_EQUAL_FATAL(word[0], i);
			CU_ASSERT_EQUAL(word[511], rig_word(i % n, i / n * 4096 + 4088));
		}
		rig_close(&r);
	}
}

static void a_stripe_may_end_within_a_line(void)
{
	uint64_t word[64];
	struct rig r;

	rig_open(&r, 3, "mem:1M", NULL);
	rig_cache(&r, 64 * 4096, 4096, ANNEX_STRIPE, 100 * 4096 + 512); /* line 100 on device 1 */
	write_lines(&r, 101);
	CU_ASSERT_EQUAL(annex_cache_flush(r.c, 0, UINT64_MAX), 0);
	rig_read(&r, 1, 33 * 4096, word, 512);
	CU_ASSERT_EQUAL(word[0], 100);
	rig_read(&r, 1, 33 * 4096 + 512, word, 512);
	CU_ASSERT_EQUAL(word[0], rig_word(1, 33 * 4096 + 512));
	rig_close(&r);
}

/* First copy the contents of device 0 to all replicas. */
static void replicate(struct rig *r)
{
	uint64_t words[512];

	for (uint64_t at = 0; at < 1 << 20; at += 4096)
		for (unsigned int dev = 1; dev < r->ndevs; dev++) {
			rig_read(r, 0, at, words, 4096);
			rig_write(r, dev, at, words, 4096);
		}
}

static void replicas_are_all_written(void)
{
	uint64_t word[64];
	struct rig r;

	rig_open(&r, 3, "mem:1M", NULL);
	replicate(&r);
	rig_cache(&r, 16 * 4096, 4096, ANNEX_REPLICA, 0);
	CU_ASSERT_EQUAL(annex_cache_size(r.c), 1 << 20);
	for (uint64_t i = 0; i < 256; i++)
		CU_ASSERT_EQUAL_FATAL(first_word(&r, i), rig_word(0, i * 4096));
	write_lines(&r, 256);
	CU_ASSERT_EQUAL(annex_cache_flush(r.c, 0, UINT64_MAX), 0);
	CU_ASSERT_EQUAL(rig_stats(&r).bytes_written, 3u << 20);
	for (unsigned int dev = 0; dev < 3; dev++)
		for (uint64_t i = 0; i < 256; i++) {
			rig_read(&r, dev, i * 4096, word, 512);
			CU_ASSERT_EQUAL_FATAL(word[0], i);
		}
	rig_close(&r);
}

static void reads_of_a_bad_replica_go_to_another(void)
{
	struct rig r;
	void *p;

	rig_open(&r, 2, "mem:1M", NULL);
	replicate(&r);
	rig_cache(&r, 16 * 4096, 4096, ANNEX_REPLICA, 0);
	rig_error(&r, 0, ANNEX_NVM_READ, 0, 0, 0);
	for (uint64_t i = 0; i < 64; i++)
		CU_ASSERT_EQUAL_FATAL(first_word(&r, i), rig_word(0, i * 4096));
	CU_ASSERT(rig_stats(&r).errors > 0);
	rig_error(&r, 1, ANNEX_NVM_READ, 200 * 8, 8, 0);
	CU_ASSERT_EQUAL(annex_cache_pin(r.c, 200, 0, &p), -EIO);
	rig_close(&r);
}

static void a_write_counts_only_on_every_replica(void)
{
	uint64_t word[64];
	struct rig r;

	rig_open(&r, 2, "mem:1M", NULL);
	replicate(&r);
	rig_cache(&r, 16 * 4096, 4096, ANNEX_REPLICA, 0);
	write_lines(&r, 4);
	rig_error(&r, 1, ANNEX_NVM_WRITE, 2 * 8, 8, 2); /* the run, then the line */
	CU_ASSERT_EQUAL(annex_cache_flush(r.c, 0, UINT64_MAX), -EIO);
	CU_ASSERT_EQUAL(annex_cache_flush(r.c, 0, UINT64_MAX), 0);
	rig_read(&r, 1, 2 * 4096, word, 512);
	CU_ASSERT_EQUAL(word[0], 2);
	rig_close(&r);
}

UNIT_SUITE(cache_layout, {"stripes go round", stripes_go_round},
	   {"a stripe may end within a line", a_stripe_may_end_within_a_line},
	   {"replicas are all written", replicas_are_all_written},
	   {"reads of a bad replica go to another", reads_of_a_bad_replica_go_to_another},
	   {"a write counts only on every replica", a_write_counts_only_on_every_replica})
