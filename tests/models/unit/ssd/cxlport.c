// SPDX-License-Identifier: MIT
/*
 * A CXL root port: all mechanisms return the same bytes, and each has its effect on time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <annex/models/cxlport.h>
#include <annex/log.h>
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define LINE ANNEX_CXLSSD_LINE
#define BYTES (256u << 10)

static const char *const switches[] = {"none", "naive",      "dynamic", "sr",
				       "ds",   "dynamic,ds", "sr,ds"};

static struct annex_cxlssd *open_ssd(const char *uri)
{
	struct annex_cxlssd *s = NULL;

	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_open(uri, &s), 0);
	return s;
}

static struct annex_cxlport *open_port(struct annex_cxlssd *s, const char *names,
				       struct annex_cxlport_opts opts)
{
	struct annex_cxlport *p = NULL;

	CU_ASSERT_EQUAL_FATAL(annex_cxlport_switches(names, &opts), 0);
	CU_ASSERT_EQUAL_FATAL(annex_cxlport_create(s, &opts, &p), 0);
	return p;
}

/* Flash so small that garbage is collected all the time. */
static void beside_an_array(void)
{
	uint64_t rng = random_seed("port");

	for (unsigned int k = 0; k < sizeof(switches) / sizeof(switches[0]); k++) {
		const int fd = unit_memfd(0, NULL);
		char *copy = calloc(1, BYTES), buf[LINE], uri[128];
		struct annex_cxlssd_time t = {0};
		struct annex_cxlport *p;
		struct annex_cxlssd *s;
		uint64_t now = 0;

		snprintf(uri, sizeof(uri),
			 "cxlssd:/proc/self/fd/%d?size=256K&dram=16K&page=512&pages=8&channels=2",
			 fd);
		s = open_ssd(uri);
		p = open_port(s, switches[k], (struct annex_cxlport_opts){.reserved = 4096});
		CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
		for (unsigned int i = 0; i < 30000; i++) {
			const uint64_t at = random_next(&rng) % BYTES, left = LINE - at % LINE;
			const size_t n = 1 + random_next(&rng) % left;

			t.now = now += random_next(&rng) % 4000;
			if (random_next(&rng) & 1) {
				random_fill(&rng, copy + at, n);
				CU_ASSERT_EQUAL(annex_cxlport_store(p, at, copy + at, n, &t), 0);
			} else {
				CU_ASSERT_EQUAL(annex_cxlport_load(p, at, buf, n, &t), 0);
				CU_ASSERT_EQUAL(memcmp(buf, copy + at, n), 0);
			}
			CU_ASSERT(t.told >= now && t.done >= now);
			if (!(random_next(&rng) % 4096))
				CU_ASSERT_EQUAL(annex_cxlport_fence(p, &t), 0);
		}
		/* Fenced stores are there when the power is cut. */
		CU_ASSERT_EQUAL(annex_cxlport_destroy(p), 0);
		CU_ASSERT_EQUAL(annex_cxlssd_cut(s, NULL, 0), 0);
		s = open_ssd(uri);
		for (uint64_t at = 0; at < BYTES; at += LINE) {
			CU_ASSERT_EQUAL(annex_cxlssd_read(s, at, buf, LINE, NULL), 0);
			CU_ASSERT_EQUAL(memcmp(buf, copy + at, LINE), 0);
		}
		CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
		close(fd);
		free(copy);
	}
}

/* Four streams of lines on different channels, each with a load under way: how long it takes. */
static uint64_t stream(const char *names, struct annex_cxlport_stats *stats)
{
	struct annex_cxlssd *s = open_ssd("cxlssd:?size=16M&dram=128K&page=512");
	struct annex_cxlport *p = open_port(s, names, (struct annex_cxlport_opts){0});
	uint64_t at[4], ready[4], last = 0;
	char buf[LINE] = {0};

	for (uint64_t page = 0; page < 16 << 20; page += 512)
		CU_ASSERT_EQUAL_FATAL(annex_cxlssd_write(s, page, buf, LINE, NULL), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_flush(s, NULL), 0);
	/* Virtual time goes on from what the writes took. */
	for (unsigned int i = 0; i < 4; i++) {
		at[i] = ((uint64_t)i << 20) + (uint64_t)i * 512;
		ready[i] = 1000000000;
	}
	for (unsigned int n = 0; n < 4 * 4096; n++) {
		struct annex_cxlssd_time t;
		unsigned int next = 0;

		for (unsigned int i = 1; i < 4; i++)
			next = ready[i] < ready[next] ? i : next;
		t.now = ready[next];
		CU_ASSERT_EQUAL(annex_cxlport_load(p, at[next], buf, LINE, &t), 0);
		at[next] += LINE;
		ready[next] = t.done + 50;
		last = t.done > last ? t.done : last;
	}
	annex_cxlport_get_stats(p, stats);
	CU_ASSERT_EQUAL(annex_cxlport_destroy(p), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	return last - 1000000000;
}

static void speculation(void)
{
	struct annex_cxlport_stats none, dynamic, again;
	uint64_t plain = stream("none", &none), more = stream("dynamic", &dynamic);

	printf(" %llu us, by speculation %llu us, hits %.3f, %.3f ",
	       (unsigned long long)plain / 1000, (unsigned long long)more / 1000,
	       (double)none.hits / (double)none.loads,
	       (double)dynamic.hits / (double)dynamic.loads);
	CU_ASSERT(more < plain);
	CU_ASSERT_EQUAL(none.speculated, 0);
	CU_ASSERT(dynamic.hits > none.hits);
	/* The same again, to the nanosecond. */
	CU_ASSERT_EQUAL(stream("dynamic", &again), more);
	CU_ASSERT_EQUAL(memcmp(&dynamic, &again, sizeof(again)), 0);
}

/* Random stores until garbage is collected: how long the slowest in a hundred holds a program. */
static uint64_t p99(const char *names, uint64_t *kept)
{
	struct annex_cxlssd *s = open_ssd("cxlssd:?size=2M&dram=64K&channels=2&pages=16");
	struct annex_cxlport *p = open_port(s, names, (struct annex_cxlport_opts){0});
	uint64_t rng = 7, now = 0, waits[10000], sorted[10000];
	struct annex_cxlport_stats stats;
	char buf[LINE] = {0};

	for (unsigned int i = 0; i < 10000; i++) {
		struct annex_cxlssd_time t = {.now = now};
		uint64_t at = random_next(&rng) % (2 << 20) / LINE * LINE;

		CU_ASSERT_EQUAL(annex_cxlport_store(p, at, buf, LINE, &t), 0);
		waits[i] = t.told - now;
		now = t.told + 5000;
	}
	memcpy(sorted, waits, sizeof(sorted));
	for (unsigned int gap = 5000; gap; gap /= 2)
		for (unsigned int i = gap; i < 10000; i++)
			for (unsigned int k = i; k >= gap && sorted[k - gap] > sorted[k];
			     k -= gap) {
				uint64_t x = sorted[k];

				sorted[k] = sorted[k - gap];
				sorted[k - gap] = x;
			}
	annex_cxlport_get_stats(p, &stats);
	*kept = stats.kept;
	CU_ASSERT_EQUAL(annex_cxlport_destroy(p), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	return sorted[9900];
}

static void determinism(void)
{
	uint64_t kept, without = p99("none", &kept), with;

	CU_ASSERT_EQUAL(kept, 0);
	with = p99("ds", &kept);
	printf(" 99 %%: %llu ns, deterministic %llu ns ", (unsigned long long)without,
	       (unsigned long long)with);
	CU_ASSERT(kept > 0);
	CU_ASSERT(with <= 46);
	CU_ASSERT(without > 20 * with);
}

static void wrong_words(void)
{
	struct annex_cxlssd *s = open_ssd("cxlssd:?size=1M");
	struct annex_cxlport *p = NULL;
	struct annex_cxlport_opts o = {.reserved = 1};
	struct annex_cxlssd_time t = {0};
	char buf[2 * LINE] = {0};

	CU_ASSERT_EQUAL(annex_cxlport_create(s, &o, &p), -EINVAL);
	for (unsigned int i = 0; i < 4; i++) {
		static const char *const wrong[] = {"", "SR", "sr,", "none,ds"};

		CU_ASSERT_EQUAL(annex_cxlport_switches(wrong[i], &o), -EINVAL);
		CU_ASSERT(strlen(annex_last_error()) > 0);
	}
	CU_ASSERT_EQUAL_FATAL(annex_cxlport_create(s, NULL, &p), 0);
	CU_ASSERT_EQUAL(annex_cxlport_load(p, 60, buf, 8, &t), -EINVAL);
	CU_ASSERT_EQUAL(annex_cxlport_store(p, 0, buf, 65, &t), -EINVAL);
	CU_ASSERT_EQUAL(annex_cxlport_store(p, 0, buf, 0, &t), -EINVAL);
	CU_ASSERT_EQUAL(annex_cxlport_load(p, 1 << 20, buf, 1, &t), -EINVAL);
	CU_ASSERT_EQUAL(annex_cxlport_destroy(p), 0);
	CU_ASSERT_EQUAL(annex_cxlport_destroy(NULL), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

UNIT_SUITE(cxlport, {"beside an array", beside_an_array}, {"speculative reads", speculation},
	   {"deterministic stores", determinism}, {"wrong words", wrong_words})
