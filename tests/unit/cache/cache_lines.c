// SPDX-License-Identifier: MIT
/*
 * Lines of one cache, one thread: pinned lines have the data of the device, and changes are written
 * to it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cache_rig.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

static const uint32_t sizes[] = {512, 4096, 65536, 1u << 20};

static void check_line(struct rig *r, uint64_t line)
{
	uint64_t start = line * annex_cache_line(r->c), len = annex_cache_size(r->c) - start;
	uint64_t *data;
	void *p;

	if (len > annex_cache_line(r->c))
		len = annex_cache_line(r->c);
	CU_ASSERT_EQUAL_FATAL(annex_cache_pin(r->c, line, 0, &p), 0);
	data = p;
	for (uint64_t i = 0; i < len / 8; i += 63)
		CU_ASSERT_EQUAL_FATAL(data[i], rig_word(0, start + 8 * i));
	CU_ASSERT_EQUAL(data[len / 8 - 1], rig_word(0, start + len - 8));
	for (uint64_t i = len / 8; i < annex_cache_line(r->c) / 8; i++)
		CU_ASSERT_EQUAL_FATAL(data[i], 0);
	annex_cache_unpin(r->c, line, 0);
}

static void every_line_of_every_size(void)
{
	for (unsigned int s = 0; s < 4; s++) {
		struct rig r;
		uint64_t seed = random_seed("lines"), lines;

		/* Not a multiple of the line: the last one is a part, the rest of it zeroes. */
		rig_start(&r, "mem:8389632", 5, sizes[s]);
		CU_ASSERT_EQUAL(annex_cache_line(r.c), sizes[s]);
		CU_ASSERT_EQUAL(annex_cache_size(r.c), 8389632);
		lines = (8389632 + sizes[s] - 1) / sizes[s];
		for (uint64_t i = 0; i < lines && i < 200; i++)
			check_line(&r, i);
		for (unsigned int i = 0; i < 200; i++)
			check_line(&r, random_next(&seed) % lines);
		check_line(&r, lines - 1);
		rig_close(&r);
	}
}

static void small_transfers_and_blocks_of_4096(void)
{
	struct annex_dev_opts opts = {.max_transfer = 8192, .depth = 2, .queues = 1};
	struct rig r;
	void *p;

	rig_open(&r, 1, "mem:4M?block=4096", &opts);
	rig_cache(&r, 1 << 20, 65536, ANNEX_STRIPE, 0);
	for (uint64_t i = 0; i < 64; i++)
		check_line(&r, i);
	for (uint64_t i = 0; i < 64; i++) {
		CU_ASSERT_EQUAL_FATAL(annex_cache_pin(r.c, i, ANNEX_PIN_WRITE, &p), 0);
		((uint64_t *)p)[65536 / 8 - 1] = i;
		annex_cache_unpin(r.c, i, ANNEX_PIN_WRITE);
	}
	CU_ASSERT_EQUAL(annex_cache_flush(r.c, 0, UINT64_MAX), 0);
	for (uint64_t i = 0; i < 64; i++) {
		uint64_t word[512];

		rig_read(&r, 0, (i + 1) * 65536 - 4096, word, 4096);
		CU_ASSERT_EQUAL(word[511], i);
		CU_ASSERT_EQUAL(word[510], rig_word(0, (i + 1) * 65536 - 16));
	}
	rig_close(&r);
}

static void hits_and_misses_are_counted(void)
{
	struct annex_cache_stats s;
	struct rig r;

	rig_start(&r, "mem:1M", 8, 4096);
	for (uint64_t i = 0; i < 8; i++)
		check_line(&r, i);
	for (uint64_t i = 0; i < 8; i++)
		check_line(&r, i);
	s = rig_stats(&r);
	CU_ASSERT_EQUAL(s.misses, 8);
	CU_ASSERT_EQUAL(s.hits, 8);
	CU_ASSERT_EQUAL(s.evictions, 0);
	CU_ASSERT_EQUAL(s.bytes_read, 8 * 4096);
	CU_ASSERT_EQUAL(s.bytes_written, 0);
	CU_ASSERT_EQUAL(s.depth_max, 1);
	check_line(&r, 100);
	s = rig_stats(&r);
	CU_ASSERT_EQUAL(s.evictions, 1);
	CU_ASSERT_EQUAL(s.bytes_read, 9 * 4096);
	rig_close(&r);
}

static void used_lines_get_a_second_chance(void)
{
	struct annex_cache_stats before, after;
	struct rig r;

	rig_start(&r, "mem:4M", 16, 4096);
	for (uint64_t i = 0; i < 400; i++) {
		check_line(&r, 0); /* always in use */
		check_line(&r, i + 1);
	}
	before = rig_stats(&r);
	CU_ASSERT(before.misses <= 401 + 2); /* line 0 left at most once, at the first turn */
	check_line(&r, 0);
	after = rig_stats(&r);
	CU_ASSERT_EQUAL(after.hits, before.hits + 1);
	rig_close(&r);
}

static void changes_survive_eviction(void)
{
	uint64_t seed = random_seed("changes"), model[64], word[64];
	struct rig r;
	void *p;

	for (unsigned int s = 0; s < 2; s++) {
		uint64_t per = sizes[s] / 8;

		rig_start(&r, "mem:1M", 7, sizes[s]);
		for (unsigned int i = 0; i < 64; i++)
			model[i] = rig_word(0, i * (uint64_t)sizes[s]);
		for (unsigned int i = 0; i < 2000; i++) {
			uint64_t line = random_next(&seed) % 64;
			unsigned int flags = random_next(&seed) & 1 ? ANNEX_PIN_WRITE : 0;

			CU_ASSERT_EQUAL_FATAL(annex_cache_pin(r.c, line, flags, &p), 0);
			CU_ASSERT_EQUAL_FATAL(((uint64_t *)p)[0], model[line]);
			CU_ASSERT_EQUAL_FATAL(((uint64_t *)p)[per - 1],
					      rig_word(0, (line + 1) * sizes[s] - 8));
			if (flags)
				((uint64_t *)p)[0] = model[line] = random_next(&seed);
			annex_cache_unpin(r.c, line, flags);
		}
		CU_ASSERT_EQUAL(annex_cache_flush(r.c, 0, UINT64_MAX), 0);
		for (unsigned int i = 0; i < 64; i++) {
			rig_read(&r, 0, i * (uint64_t)sizes[s], word, 512);
			CU_ASSERT_EQUAL_FATAL(word[0], model[i]);
		}
		rig_close(&r);
	}
}

static void a_new_line_is_not_read(void)
{
	uint64_t word[512];
	struct rig r;
	void *p;

	rig_start(&r, "mem:1M", 4, 4096);
	for (uint64_t i = 0; i < 100; i++) {
		CU_ASSERT_EQUAL_FATAL(annex_cache_pin(r.c, i, ANNEX_PIN_NEW, &p), 0);
		for (unsigned int k = 0; k < 512; k++)
			CU_ASSERT_EQUAL_FATAL(((uint64_t *)p)[k], 0);
		memset(p, (int)i, 4096);
		annex_cache_unpin(r.c, i, ANNEX_PIN_NEW);
	}
	CU_ASSERT_EQUAL(annex_cache_flush(r.c, 0, UINT64_MAX), 0);
	CU_ASSERT_EQUAL(rig_stats(&r).bytes_read, 0);
	CU_ASSERT_EQUAL(rig_stats(&r).bytes_written, 100 * 4096);
	for (uint64_t i = 0; i < 100; i++) {
		rig_read(&r, 0, i * 4096, word, 4096);
		CU_ASSERT_EQUAL(word[511], i * 0x0101010101010101ull);
	}
	rig_close(&r);
}

static void a_flush_writes_its_range_only(void)
{
	uint64_t word[512];
	struct rig r;
	void *p;

	rig_start(&r, "mem:1M", 256, 4096);
	for (uint64_t i = 0; i < 200; i++) {
		CU_ASSERT_EQUAL_FATAL(annex_cache_pin(r.c, i, ANNEX_PIN_WRITE, &p), 0);
		((uint64_t *)p)[0] = ~i;
		annex_cache_unpin(r.c, i, ANNEX_PIN_WRITE);
	}
	CU_ASSERT_EQUAL(annex_cache_flush(r.c, 10 * 4096 + 1, 4096), 0); /* lines 10 and 11 */
	CU_ASSERT_EQUAL(rig_stats(&r).writebacks, 2);
	rig_read(&r, 0, 11 * 4096, word, 4096);
	CU_ASSERT_EQUAL(word[0], ~11ull);
	rig_read(&r, 0, 12 * 4096, word, 4096);
	CU_ASSERT_EQUAL(word[0], rig_word(0, 12 * 4096));
	CU_ASSERT_EQUAL(annex_cache_flush(r.c, 0, UINT64_MAX), 0);
	CU_ASSERT_EQUAL(rig_stats(&r).writebacks, 200);
	CU_ASSERT_EQUAL(annex_cache_flush(r.c, 0, UINT64_MAX), 0);
	CU_ASSERT_EQUAL(rig_stats(&r).writebacks, 200);
	CU_ASSERT_EQUAL(annex_cache_flush(r.c, 1 << 20, 1), -ERANGE);
	CU_ASSERT_EQUAL(annex_cache_flush(r.c, 1, UINT64_MAX - 1), -ERANGE);
	rig_close(&r);
}

static void a_partial_last_line_is_written_in_its_length(void)
{
	uint64_t word[64];
	struct rig r;
	char *p;
	void *v;

	rig_open(&r, 1, "mem:1M", NULL);
	rig_cache(&r, 4 * 4096, 4096, ANNEX_STRIPE, 3 * 4096 + 1024);
	CU_ASSERT_EQUAL_FATAL(annex_cache_pin(r.c, 3, ANNEX_PIN_WRITE, &v), 0);
	p = v;
	memset(p, 0x55, 4096);
	annex_cache_unpin(r.c, 3, ANNEX_PIN_WRITE);
	CU_ASSERT_EQUAL(annex_cache_pin(r.c, 4, 0, &v), -ERANGE);
	CU_ASSERT_EQUAL(annex_cache_flush(r.c, 0, UINT64_MAX), 0);
	CU_ASSERT_EQUAL(rig_stats(&r).bytes_written, 1024);
	rig_read(&r, 0, 3 * 4096 + 512, word, 512);
	CU_ASSERT_EQUAL(word[63], 0x5555555555555555ull);
	rig_read(&r, 0, 3 * 4096 + 1024, word, 512);
	CU_ASSERT_EQUAL(word[0], rig_word(0, 3 * 4096 + 1024)); /* not ours */
	rig_close(&r);
}

static void destroy_writes_what_is_dirty(void)
{
	uint64_t word[64];
	struct rig r;
	void *p;

	rig_start(&r, "mem:1M", 128, 512);
	CU_ASSERT_EQUAL_FATAL(annex_cache_pin(r.c, 77, ANNEX_PIN_WRITE, &p), 0);
	((uint64_t *)p)[5] = 12345;
	annex_cache_unpin(r.c, 77, ANNEX_PIN_WRITE);
	CU_ASSERT_EQUAL(annex_cache_destroy(r.c), 0);
	r.c = NULL;
	rig_read(&r, 0, 77 * 512, word, 512);
	CU_ASSERT_EQUAL(word[5], 12345);
	rig_close(&r);
}

static void writes_overlap_with_reads(void)
{
	struct annex_cache_stats s;
	struct rig r;
	void *p;

	rig_start(&r, "mem:16M", 512, 4096);
	for (uint64_t i = 0; i < 4096; i += 2) { /* no neighbours: a command each */
		CU_ASSERT_EQUAL_FATAL(annex_cache_pin(r.c, i, ANNEX_PIN_WRITE, &p), 0);
		((uint64_t *)p)[1] = i;
		annex_cache_unpin(r.c, i, ANNEX_PIN_WRITE);
	}
	s = rig_stats(&r);
	CU_ASSERT(s.writebacks >= 2048 - 512);
	CU_ASSERT(s.depth_max >= 32); /* ahead of the hand, not one at a time */
	rig_close(&r);
}

/* Commands count, not their lines, and no more than a queue takes. */
static void the_depth_reached_is_the_queue_s(void)
{
	const struct annex_dev_opts opts = {.queues = 1, .depth = 2};
	struct annex_range all = {0, 64 * 4096};
	uint64_t apart[16];
	void *data[16];
	struct rig r;

	rig_open(&r, 1, "mem:1M", &opts);
	rig_cache(&r, 128 * 4096, 4096, ANNEX_STRIPE, 0);
	annex_cache_prefetch(r.c, &all, 1);
	for (uint64_t i = 0; i < 16; i++)
		apart[i] = 64 + 2 * i;
	CU_ASSERT_EQUAL_FATAL(annex_cache_pin_group(r.c, apart, 16, ANNEX_PIN_WRITE, data), 0);
	annex_cache_unpin_group(r.c, apart, 16, ANNEX_PIN_WRITE);
	CU_ASSERT_EQUAL(annex_cache_flush(r.c, 0, UINT64_MAX), 0);
	CU_ASSERT_EQUAL(rig_stats(&r).depth_max, 1);
	rig_close(&r);
}

static void all_pinned_is_busy(void)
{
	struct rig r;
	void *p;

	rig_start(&r, "mem:1M", 4, 4096);
	for (uint64_t i = 0; i < 4; i++)
		CU_ASSERT_EQUAL_FATAL(annex_cache_pin(r.c, i, 0, &p), 0);
	CU_ASSERT_EQUAL(annex_cache_pin(r.c, 4, 0, &p), -EBUSY);
	CU_ASSERT_EQUAL(annex_cache_pin(r.c, 4, ANNEX_PIN_NEW, &p), -EBUSY);
	CU_ASSERT_EQUAL(annex_cache_pin(r.c, 3, 0, &p), 0); /* a cached line can be pinned again */
	annex_cache_unpin(r.c, 3, 0);
	annex_cache_unpin(r.c, 2, 0);
	CU_ASSERT_EQUAL(annex_cache_pin(r.c, 4, 0, &p), 0);
	CU_ASSERT_EQUAL(*(uint64_t *)p, rig_word(0, 4 * 4096));
	annex_cache_unpin(r.c, 0, 0);
	annex_cache_unpin(r.c, 1, 0);
	annex_cache_unpin(r.c, 3, 0);
	annex_cache_unpin(r.c, 4, 0);
	rig_close(&r);
}

static void unpin_without_a_pin_harms_nothing(void)
{
	struct rig r;

	rig_start(&r, "mem:1M", 4, 4096);
	check_line(&r, 1);
	annex_cache_unpin(r.c, 1, 0);
	annex_cache_unpin(r.c, 1, ANNEX_PIN_WRITE);
	annex_cache_unpin(r.c, 2, 0);
	annex_cache_unpin(r.c, UINT64_MAX, 0);
	for (uint64_t i = 0; i < 20; i++)
		check_line(&r, i);
	CU_ASSERT_EQUAL(annex_cache_flush(r.c, 0, UINT64_MAX), 0);
	CU_ASSERT_EQUAL(rig_stats(&r).writebacks, 0);
	rig_close(&r);
}

static void a_device_smaller_than_a_line(void)
{
	uint64_t word[64];
	struct rig r;
	void *p;

	rig_start(&r, "mem:512", 2, 1 << 20);
	check_line(&r, 0);
	CU_ASSERT_EQUAL(annex_cache_pin(r.c, 1, 0, &p), -ERANGE);
	CU_ASSERT_EQUAL_FATAL(annex_cache_pin(r.c, 0, ANNEX_PIN_NEW, &p), 0);
	*(uint64_t *)p = 7;
	annex_cache_unpin(r.c, 0, ANNEX_PIN_NEW);
	CU_ASSERT_EQUAL(annex_cache_flush(r.c, 0, UINT64_MAX), 0);
	rig_read(&r, 0, 0, word, 512);
	CU_ASSERT_EQUAL(word[0], 7);
	rig_close(&r);
}

/* The last line of a file that ends inside a block: its bytes are kept, and the file its size. */
static void a_file_of_any_size(void)
{
	const uint64_t size = 70001, lines = (size + 4095) / 4096;
	char path[UNIT_PATH], uri[UNIT_PATH + 32], is[4] = "";
	struct rig r = {.ndevs = 1};
	struct stat st;
	char *data;
	void *p;
	int fd;

	unit_tmpfile(path);
	fd = open(path, O_RDWR | O_CLOEXEC);
	CU_ASSERT_EQUAL_FATAL(pwrite(fd, "abc", 3, (off_t)size - 3), 3);
	snprintf(uri, sizeof(uri), "file:%s?block=512", path);
	CU_ASSERT_EQUAL_FATAL(annex_dev_open(uri, NULL, &r.devs[0]), 0);
	rig_cache(&r, 1 << 16, 4096, ANNEX_STRIPE, 0);
	CU_ASSERT_EQUAL(annex_cache_size(r.c), 70144);
	for (unsigned int i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL_FATAL(annex_cache_pin(r.c, lines - 1, ANNEX_PIN_WRITE, &p), 0);
		data = (char *)p + size % 4096;
		CU_ASSERT_EQUAL(memcmp(data - 3, i ? "abd" : "abc", 3), 0);
		CU_ASSERT_EQUAL(data[0], i == 2);
		data[-1] = 'd';
		data[0] = i == 1; /* behind the end, then zero again */
		annex_cache_unpin(r.c, lines - 1, ANNEX_PIN_WRITE);
		CU_ASSERT_EQUAL(annex_cache_flush(r.c, 0, UINT64_MAX), i == 1 ? -ERANGE : 0);
		CU_ASSERT_EQUAL(fstat(fd, &st), 0);
		CU_ASSERT_EQUAL((uint64_t)st.st_size, size);
		CU_ASSERT_EQUAL(pread(fd, is, 4, (off_t)size - 3), 3);
		CU_ASSERT_EQUAL(memcmp(is, "abd", 4), 0);
	}
	CU_ASSERT_EQUAL(annex_cache_destroy(r.c), 0);
	annex_dev_close(r.devs[0]);
	close(fd);
	unlink(path);
}

UNIT_SUITE(cache_lines,
	   {"every line of every size is what the device holds", every_line_of_every_size},
	   {"lines larger than a transfer, on a queue of one", small_transfers_and_blocks_of_4096},
	   {"hits and misses are counted", hits_and_misses_are_counted},
	   {"used lines get a second chance", used_lines_get_a_second_chance},
	   {"changes survive eviction", changes_survive_eviction},
	   {"a new line is not read", a_new_line_is_not_read},
	   {"a flush writes its range only", a_flush_writes_its_range_only},
	   {"a device smaller than a line", a_device_smaller_than_a_line},
	   {"a partial last line", a_partial_last_line_is_written_in_its_length},
	   {"destroy writes dirty lines", destroy_writes_what_is_dirty},
	   {"write-back goes ahead of the hand", writes_overlap_with_reads},
	   {"the depth reached is the queue's", the_depth_reached_is_the_queue_s},
	   {"all pinned is busy", all_pinned_is_busy},
	   {"unpin without a pin harms nothing", unpin_without_a_pin_harms_nothing},
	   {"a file of any size", a_file_of_any_size})
