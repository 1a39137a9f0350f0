// SPDX-License-Identifier: MIT
/*
 * When a CXL-SSD answers: times that its model says, of each kind of request.
 */
#include <stdio.h>
#include <string.h>
#include <annex/models/cxlssd.h>
#include <annex/detail/clock.h>
#include "models/ssd/media.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define PAGE 512u
#define PAGES 64u
#define LINE ANNEX_CXLSSD_LINE
#define SMALL "size=32K&page=512&channels=2&pages=4&dram=16K&media=znand"

enum { LOOK = 70, DRAM = 40, APPEND = 90 };

#define TIMES "&look_ns=70&dram_ns=40&append_ns=90"

static struct ssd_media znand;

static struct annex_cxlssd *opened(const char *more)
{
	struct annex_cxlssd *s = NULL;
	char uri[200];

	CU_ASSERT_EQUAL_FATAL(ssd_media_find("znand", &znand), 0);
	snprintf(uri, sizeof(uri), "cxlssd:?%s%s", SMALL TIMES, more);
	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_open(uri, &s), 0);
	return s;
}

/* Nanoseconds of some bytes on a channel. */
static uint64_t pass(uint64_t bytes)
{
	return (bytes * 1000000000 + znand.rate - 1) / znand.rate;
}

static struct annex_cxlssd_time read_at(struct annex_cxlssd *s, uint64_t at, size_t n, uint64_t now)
{
	struct annex_cxlssd_time t = {.now = now};
	char buf[4 * PAGE];

	CU_ASSERT_EQUAL(annex_cxlssd_read(s, at, buf, n, &t), 0);
	return t;
}

static struct annex_cxlssd_time write_at(struct annex_cxlssd *s, uint64_t at, size_t n,
					 uint64_t now)
{
	struct annex_cxlssd_time t = {.now = now};
	char buf[4 * PAGE] = {1};

	CU_ASSERT_EQUAL(annex_cxlssd_write(s, at, buf, n, &t), 0);
	return t;
}

static struct annex_cxlssd_time block_at(struct annex_cxlssd *s, uint32_t page, uint64_t now)
{
	struct annex_cxlssd_time t = {.now = now};
	char buf[PAGE] = {1};

	CU_ASSERT_EQUAL(annex_cxlssd_write_blocks(s, page * PAGE, buf, PAGE, &t), 0);
	return t;
}

/* All pages hold something; flash is idle at the time that is returned. */
static uint64_t filled(struct annex_cxlssd *s)
{
	uint64_t last = 0;

	for (uint32_t page = 0; page < PAGES; page++) {
		struct annex_cxlssd_time t = block_at(s, page, last);

		last = t.done > last ? t.done : last;
	}
	return last + 1000000;
}

static void hits_and_misses(void)
{
	struct annex_cxlssd *s = opened("");
	struct annex_cxlssd_time t;
	uint64_t now;

	/* A page that holds nothing is not read from flash. */
	t = read_at(s, 0, LINE, 1000);
	CU_ASSERT(!t.hit && t.told == 1000 + LOOK && t.done == t.told + DRAM);
	now = filled(s);
	t = read_at(s, 5 * PAGE, LINE, now);
	CU_ASSERT(!t.hit && !t.late && t.told == now + LOOK);
	CU_ASSERT_EQUAL(t.done, t.told + znand.read + pass(PAGE) + DRAM);
	CU_ASSERT_EQUAL(t.load, ANNEX_CXLSSD_LIGHT);
	now = t.done;
	t = read_at(s, 5 * PAGE + 100, 70, now);
	CU_ASSERT(t.hit && !t.late && t.told == now + LOOK && t.done == now + LOOK + DRAM);
	t = write_at(s, 5 * PAGE + 64, LINE, now);
	CU_ASSERT(t.hit && !t.late && t.done == now + LOOK + DRAM);
	/* A store needs the rest of its page. */
	now += 1000000;
	t = write_at(s, 6 * PAGE, LINE, now);
	CU_ASSERT(!t.hit && t.done == now + LOOK + znand.read + pass(PAGE) + DRAM);
	/* Pages of both channels at once, then one of them for the second time. */
	now += 1000000;
	t = read_at(s, 10 * PAGE, 2 * PAGE, now);
	CU_ASSERT(!t.hit && t.done == now + LOOK + znand.read + pass(PAGE) + DRAM);
	t = read_at(s, 11 * PAGE, 2 * PAGE, now + 1000000);
	CU_ASSERT(!t.hit && t.done == now + 1000000 + LOOK + znand.read + pass(PAGE) + DRAM);
	annex_cxlssd_close(s);
	/* Of a unit, its part of the page passes the channel. */
	s = opened("&unit=128");
	now = filled(s);
	t = read_at(s, 5 * PAGE, LINE, now);
	CU_ASSERT_EQUAL(t.done, now + LOOK + znand.read + pass(128) + DRAM);
	annex_cxlssd_close(s);
}

static void blocks(void)
{
	struct annex_cxlssd *s = opened("");
	struct annex_cxlssd_time t = block_at(s, 0, 500);
	char buf[2 * PAGE];

	CU_ASSERT_EQUAL(t.done, 500 + LOOK + pass(PAGE) + znand.program);
	/* The next one is on the other channel, then the first one is taken again. */
	t = block_at(s, 1, 500);
	CU_ASSERT_EQUAL(t.done, 500 + LOOK + pass(PAGE) + znand.program);
	t = block_at(s, 2, 500);
	CU_ASSERT_EQUAL(t.done, 500 + LOOK + 2 * (pass(PAGE) + znand.program));
	t.now = 10000000;
	CU_ASSERT_EQUAL(annex_cxlssd_read_blocks(s, 0, buf, 2 * PAGE, &t), 0);
	CU_ASSERT(!t.hit && t.done == t.now + LOOK + znand.read + pass(PAGE));
	/* Not in DRAM afterwards. */
	t = read_at(s, 0, LINE, 20000000);
	CU_ASSERT(!t.hit);
	annex_cxlssd_close(s);
}

static void prefetches(void)
{
	struct annex_cxlssd *s = opened("");
	uint64_t now = filled(s), fill;
	struct annex_cxlssd_time t = {.now = now};

	CU_ASSERT_EQUAL(annex_cxlssd_prefetch(s, 5 * PAGE, PAGE, &t), 0);
	CU_ASSERT(!t.hit && t.done == now + LOOK);
	fill = now + LOOK + znand.read + pass(PAGE);
	/* A read comes while it is under way, and one when it is there. */
	t = read_at(s, 5 * PAGE, LINE, now + 100);
	CU_ASSERT(t.hit && t.late && t.done == fill + DRAM);
	t = write_at(s, 5 * PAGE + 200, 8, now + 200);
	CU_ASSERT(t.hit && t.late && t.done == fill + DRAM);
	t = read_at(s, 5 * PAGE, LINE, fill);
	CU_ASSERT(t.hit && !t.late && t.done == fill + LOOK + DRAM);
	/* One that is there takes no flash. */
	t.now = fill;
	CU_ASSERT_EQUAL(annex_cxlssd_prefetch(s, 5 * PAGE, PAGE, &t), 0);
	CU_ASSERT(t.hit && t.done == fill + LOOK);
	annex_cxlssd_close(s);
}

static struct annex_cxlssd_time release_at(struct annex_cxlssd *s, uint64_t at, size_t n,
					   uint64_t now)
{
	struct annex_cxlssd_time t = {.now = now};

	CU_ASSERT_EQUAL(annex_cxlssd_release(s, at, n, &t), 0);
	CU_ASSERT_EQUAL(t.done, now + LOOK);
	return t;
}

static void releases(void)
{
	struct annex_cxlssd *s = opened("");
	uint64_t now = filled(s);
	char buf[8] = "changed";

	read_at(s, 5 * PAGE, LINE, now);
	read_at(s, 7 * PAGE, LINE, now);
	now += 1000000;
	/* Not all of one page, and none of the other. */
	release_at(s, 5 * PAGE + 1, 2 * PAGE, now);
	CU_ASSERT(read_at(s, 5 * PAGE, LINE, now).hit && read_at(s, 7 * PAGE, LINE, now).hit);
	release_at(s, 5 * PAGE, PAGE, now);
	CU_ASSERT(!read_at(s, 5 * PAGE, LINE, now).hit && read_at(s, 7 * PAGE, LINE, now).hit);
	/* Flash does not have it yet. */
	CU_ASSERT_EQUAL(annex_cxlssd_write(s, 7 * PAGE, buf, sizeof(buf), NULL), 0);
	release_at(s, 0, 16 * PAGE, now + 1000000);
	CU_ASSERT(read_at(s, 7 * PAGE, LINE, now + 1000000).hit);
	CU_ASSERT_EQUAL(annex_cxlssd_flush(s, NULL), 0);
	release_at(s, 0, 16 * PAGE, now + 2000000);
	CU_ASSERT(!read_at(s, 7 * PAGE, LINE, now + 2000000).hit);
	CU_ASSERT_EQUAL(annex_cxlssd_read(s, 7 * PAGE, buf, sizeof(buf), NULL), 0);
	CU_ASSERT_STRING_EQUAL(buf, "changed");
	CU_ASSERT_EQUAL(annex_cxlssd_release(s, annex_cxlssd_bytes(s), 1, NULL), -EINVAL);
	annex_cxlssd_close(s);
}

/* A trim takes its place among other requests. */
static void trims(void)
{
	struct annex_cxlssd *s = opened("&queue=1");
	const uint64_t now = filled(s);
	const uint64_t first = read_at(s, 2 * PAGE, LINE, now).done;
	struct annex_cxlssd_time t = {.now = now};

	CU_ASSERT_EQUAL(annex_cxlssd_trim(s, 4 * PAGE, PAGE, &t), 0);
	CU_ASSERT(t.told == first + LOOK && t.done == t.told);
	annex_cxlssd_close(s);
}

static void full_queue(void)
{
	struct annex_cxlssd *s = opened("&queue=4");
	const uint64_t now = filled(s);
	static const enum annex_cxlssd_load loads[] = {ANNEX_CXLSSD_OPTIMAL, ANNEX_CXLSSD_MODERATE,
						       ANNEX_CXLSSD_SEVERE, ANNEX_CXLSSD_SEVERE};
	uint64_t first = 0;
	struct annex_cxlssd_time t;

	for (uint32_t i = 0; i < 4; i++) {
		t = read_at(s, 2 * i * PAGE, LINE, now);
		CU_ASSERT(t.told == now + LOOK && t.load == loads[i]);
		first = i ? first : t.done;
	}
	t = read_at(s, 8 * PAGE, LINE, now);
	CU_ASSERT_EQUAL(t.told, first + LOOK);
	/* A prefetch is answered, and takes its place until its unit is there. */
	for (uint32_t i = 0; i < 4; i++) {
		t.now = now + 1000000;
		CU_ASSERT_EQUAL(annex_cxlssd_prefetch(s, (20 + 2 * i) * PAGE, PAGE, &t), 0);
		CU_ASSERT_EQUAL(t.done, now + 1000000 + LOOK);
	}
	t = read_at(s, 20 * PAGE, LINE, now + 1000000);
	CU_ASSERT_EQUAL(t.told, now + 1000000 + LOOK + znand.read + pass(PAGE) + LOOK);
	/* All of them are gone in the end. */
	t = read_at(s, 20 * PAGE, LINE, now + 2000000);
	CU_ASSERT(t.told == now + 2000000 + LOOK && t.load == ANNEX_CXLSSD_OPTIMAL);
	annex_cxlssd_close(s);
}

/* A host hears of a collection before it waits for one. */
static void collections(void)
{
	struct annex_cxlssd *s = opened("");
	struct annex_cxlssd_stats before = {0}, after;
	uint64_t now = 0, rng = random_seed("collections");
	unsigned int seen = 0;

	for (uint32_t i = 0; i < 2000; i++) {
		const uint32_t page = i < PAGES ? i : (uint32_t)(random_next(&rng) % PAGES);
		const uint32_t other = (page + 1) % PAGES;
		struct annex_cxlssd_time idle, t;

		/* Flash has been idle for long, and DRAM has another page. */
		read_at(s, other * PAGE, LINE, now + 500000000);
		now += 1000000000;
		idle = read_at(s, page * PAGE, LINE, now);
		t = block_at(s, page, now + 500000000);
		annex_cxlssd_get_stats(s, &after);
		if (after.erased > before.erased) {
			seen++;
			CU_ASSERT_EQUAL(idle.load, ANNEX_CXLSSD_SEVERE);
			CU_ASSERT(t.done > t.told + znand.erase);
			/* Until it is over; then it depends on the next write. */
			CU_ASSERT_EQUAL(read_at(s, other * PAGE, LINE, t.told + 10).load,
					ANNEX_CXLSSD_SEVERE);
		} else {
			CU_ASSERT_EQUAL(idle.load, ANNEX_CXLSSD_LIGHT);
			CU_ASSERT_EQUAL(t.done, t.told + pass(PAGE) + znand.program);
		}
		before = after;
	}
	CU_ASSERT(seen > 100);
	/* It goes back when the last collection is over. */
	while (read_at(s, 0, LINE, now += 1000000000).load == ANNEX_CXLSSD_SEVERE)
		block_at(s, (uint32_t)(random_next(&rng) % PAGES), now);
	CU_ASSERT_EQUAL(read_at(s, 0, LINE, now + 1000).load, ANNEX_CXLSSD_LIGHT);
	annex_cxlssd_close(s);
}

/* Stores into a log of 32 lines, cleaned when 17 are there; the rest of it is filled meanwhile. */
static void logged_stores(void)
{
	struct annex_cxlssd *s = opened("&log=skybyte&log_size=2048");
	uint64_t now = filled(s), cleaned;
	struct annex_cxlssd_stats stats;
	struct annex_cxlssd_time t;

	for (uint32_t i = 0; i < 32; i++) {
		t = write_at(s, i * PAGE, LINE, now);
		CU_ASSERT(t.hit && t.done == now + LOOK + APPEND);
		now = t.done;
	}
	annex_cxlssd_get_stats(s, &stats);
	CU_ASSERT_EQUAL(stats.cleaned, 1);
	/* 17 pages at two channels: each is read and programmed. */
	cleaned = 8 * (znand.read + pass(PAGE) + pass(PAGE) + znand.program);
	t = write_at(s, 40 * PAGE, LINE, now);
	CU_ASSERT(t.hit && t.done > now + cleaned / 2 && t.done < now + 3 * cleaned);
	now = t.done;
	t = write_at(s, 41 * PAGE, LINE, now);
	CU_ASSERT_EQUAL(t.done, now + LOOK + APPEND);
	/* A line of the log is read from there. */
	t = read_at(s, 41 * PAGE, LINE, now);
	CU_ASSERT(t.hit && t.done == now + LOOK + DRAM);
	/* A part of a line in the log, which is cleaned for it; of one elsewhere, which is read. */
	now += 100000000;
	t = write_at(s, 41 * PAGE + 8, 8, now);
	CU_ASSERT(t.hit && t.done == now + LOOK + APPEND);
	annex_cxlssd_get_stats(s, &stats);
	CU_ASSERT_EQUAL(stats.cleaned, 2);
	now += 100000000;
	t = write_at(s, 50 * PAGE, 8, now);
	CU_ASSERT(!t.hit && t.done == now + LOOK + znand.read + pass(PAGE) + DRAM + APPEND);
	annex_cxlssd_close(s);
}

static void real_delays(void)
{
	struct annex_cxlssd *s = opened("&delay=1");
	struct annex_cxlssd_time t = {.now = UINT64_MAX / 4};
	char buf[PAGE] = {1};
	uint64_t before;

	before = annex_now();
	CU_ASSERT_EQUAL(annex_cxlssd_write_blocks(s, 0, buf, PAGE, NULL), 0);
	CU_ASSERT(annex_now() - before >= LOOK + pass(PAGE) + znand.program);
	before = annex_now();
	CU_ASSERT_EQUAL(annex_cxlssd_read(s, 0, buf, LINE, NULL), 0);
	CU_ASSERT(annex_now() - before >= LOOK + znand.read + pass(PAGE) + DRAM);
	annex_cxlssd_close(s);
	/* Times of the caller's are not waited for. */
	s = opened("&delay=1");
	before = annex_now();
	CU_ASSERT_EQUAL(annex_cxlssd_read(s, 0, buf, LINE, &t), 0);
	CU_ASSERT(annex_now() - before < 10000000000);
	annex_cxlssd_close(s);
}

/* Without a time a call comes when the last one was answered. */
static void one_after_the_other(void)
{
	struct annex_cxlssd *s = opened("");
	uint64_t now = filled(s) - 1000000;
	char buf[PAGE];

	CU_ASSERT_EQUAL(annex_cxlssd_read(s, 3 * PAGE, buf, LINE, NULL), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_read(s, 3 * PAGE, buf, LINE, NULL), 0);
	CU_ASSERT_EQUAL(read_at(s, 3 * PAGE, LINE, 0).done,
			LOOK + now + 0 * DRAM + znand.read + pass(PAGE) + DRAM);
	annex_cxlssd_close(s);
}

static uint64_t mix(uint64_t sum, uint64_t v)
{
	return (sum ^ v) * 0x100000001b3ull;
}

/* A checksum of all answers of a random workload. */
static uint64_t workload(const char *more, uint64_t rng)
{
	struct annex_cxlssd *s = opened(more);
	uint64_t sum = 0, now = 0;
	char buf[4 * PAGE] = {1};

	for (uint32_t i = 0; i < 5000; i++) {
		const uint32_t page = (uint32_t)(random_next(&rng) % (PAGES - 1));
		const uint64_t at = page * PAGE + random_next(&rng) % 400;
		const size_t n = 1 + random_next(&rng) % 300;
		struct annex_cxlssd_time t = {.now = now += random_next(&rng) % 20000};
		int err = 0;

		switch (random_next(&rng) % 10) {
		case 0:
			err = annex_cxlssd_prefetch(s, at, n, &t);
			break;
		case 1:
			err = annex_cxlssd_write_blocks(s, page * PAGE, buf, PAGE, &t);
			break;
		case 2:
			err = annex_cxlssd_fence(s, &t);
			break;
		case 3:
			err = annex_cxlssd_read_blocks(s, page * PAGE, buf, PAGE, &t);
			break;
		case 4 ... 6:
			err = annex_cxlssd_write(s, at, buf, n, &t);
			break;
		default:
			err = annex_cxlssd_read(s, at, buf, n, &t);
		}
		CU_ASSERT_EQUAL(err, 0);
		CU_ASSERT(t.now == now && t.told >= now + LOOK && t.done >= t.told);
		sum = mix(mix(mix(sum, t.told), t.done), t.load * 4u + t.hit * 2u + t.late);
	}
	annex_cxlssd_close(s);
	return sum;
}

static void the_same_again(void)
{
	static const char *const drams[] = {"", "&unit=64", "&log=skybyte", "&log=bytefs&queue=4"};
	const uint64_t seed = random_seed("again");
	uint64_t sums[4];

	for (unsigned int i = 0; i < 4; i++) {
		sums[i] = workload(drams[i], seed);
		CU_ASSERT_EQUAL(sums[i], workload(drams[i], seed));
		CU_ASSERT(!i || sums[i] != sums[i - 1]);
	}
}

UNIT_SUITE(cxlssd_time, {"hits and misses", hits_and_misses}, {"blocks", blocks},
	   {"prefetches", prefetches}, {"releases", releases}, {"trims", trims},
	   {"a full queue", full_queue}, {"collections", collections},
	   {"stores into a log", logged_stores}, {"real delays", real_delays},
	   {"one after the other", one_after_the_other}, {"the same again", the_same_again})
