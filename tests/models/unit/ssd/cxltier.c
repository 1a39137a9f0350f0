// SPDX-License-Identifier: MIT
/*
 * Hot pages of a CXL-SSD in host memory: the same bytes as without; served from there when they are
 * hot; never more migration than the rate allows; and no store is lost.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <annex/models/cxltier.h>
#include <annex/log.h>
#include "cxltier_rig.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define LINE ANNEX_CXLSSD_LINE
#define BYTES (4u << 20)
#define LINK 20u

static unsigned int wrong_lines(struct annex_cxlssd *s, const char *copy)
{
	unsigned int wrong = 0;
	char buf[LINE];

	for (uint64_t at = 0; at < BYTES; at += LINE) {
		CU_ASSERT_EQUAL(annex_cxlssd_read(s, at, buf, LINE, NULL), 0);
		wrong += memcmp(buf, copy + at, LINE) != 0;
	}
	return wrong;
}

/* Random accesses of any size, most of them to a few pages that change now and then. */
static void use(struct annex_cxltier *tier, struct annex_cxlssd *s, char *copy, uint64_t *rng)
{
	static const uint32_t sizes[] = {8, LINE, 300, 3 * TIER_PAGE};
	struct annex_cxlssd_time t = {0};
	uint64_t now = 0, few = 0;
	unsigned int wrong = 0;
	char *buf = malloc(3 * TIER_PAGE);

	CU_ASSERT_PTR_NOT_NULL_FATAL(buf);
	for (unsigned int i = 0; i < 20000; i++) {
		const size_t most = sizes[random_next(rng) % 64 ? random_next(rng) % 3 : 3];
		const size_t n = 1 + random_next(rng) % most;
		uint64_t at = random_next(rng) % (BYTES - n + 1);

		if (!(i % 700))
			few = random_next(rng) % (BYTES / TIER_PAGE - 4) * TIER_PAGE;
		if (random_next(rng) % 8)
			at = few + random_next(rng) % (3 * (uint64_t)TIER_PAGE);
		at = at < BYTES - n ? at : BYTES - n;
		/* Several are under way at once now and then. */
		now = random_next(rng) % 8 && t.done > now ? t.done : now + random_next(rng) % 2000;
		t.now = now;
		if (random_next(rng) & 1) {
			random_fill(rng, copy + at, n < 8 ? n : 8);
			CU_ASSERT_EQUAL(annex_cxltier_store(tier, at, copy + at, n, &t), 0);
		} else {
			CU_ASSERT_EQUAL(annex_cxltier_load(tier, at, buf, n, &t), 0);
			wrong += memcmp(buf, copy + at, n) != 0;
		}
		CU_ASSERT(t.told >= now && t.done >= t.told);
		if (random_next(rng) % 5000)
			continue;
		CU_ASSERT_EQUAL(annex_cxltier_fence(tier, &t), 0);
		wrong += wrong_lines(s, copy);
	}
	CU_ASSERT_EQUAL(wrong, 0);
	free(buf);
}

static void beside_an_array(void)
{
	static const char *const logs[] = {"none", "skybyte", "bytefs"};
	uint64_t rng = random_seed("tier");

	for (unsigned int k = 0; k < 12; k++) {
		struct annex_cxltier_opts o = {.host = (k / 3 + 1) * TIER_PAGE, .hot = 1 + k % 5};
		const int fd = unit_memfd(0, NULL);
		char *copy = calloc(1, BYTES), uri[128];
		struct annex_cxltier_stats stats;
		struct annex_cxltier *tier;
		struct annex_cxlssd *s;

		CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
		o.rate = k & 1 ? 8ull << 30 : 0;
		snprintf(uri, sizeof(uri), "cxlssd:/proc/self/fd/%d?size=4M&dram=64K&log=%s", fd,
			 logs[k % 3]);
		s = tier_rig_ssd(uri);
		tier = tier_rig_open(s, o);
		use(tier, s, copy, &rng);
		stats = tier_rig_stats(tier);
		CU_ASSERT(stats.promoted > 20 && stats.demoted > 10);
		CU_ASSERT_EQUAL(stats.promoted - stats.demoted, stats.resident);
		CU_ASSERT(stats.resident <= k / 3 + 1);
		CU_ASSERT(stats.host > 1000);
		CU_ASSERT_EQUAL(annex_cxltier_destroy(tier), 0);
		CU_ASSERT_EQUAL(wrong_lines(s, copy), 0);
		/* Fenced stores are there when the power is cut. */
		CU_ASSERT_EQUAL(annex_cxlssd_cut(s, NULL, 0), 0);
		s = tier_rig_ssd(uri);
		CU_ASSERT_EQUAL(wrong_lines(s, copy), 0);
		CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
		close(fd);
		free(copy);
	}
}

static void served_by_host(void)
{
	struct annex_cxlssd *s = tier_rig_ssd(TIER_URI), *other = tier_rig_ssd(TIER_URI);
	struct annex_cxltier *tier = tier_rig_open(s, (struct annex_cxltier_opts){.hot = 4});
	struct annex_cxltier *never =
		tier_rig_open(other, (struct annex_cxltier_opts){.hot = ANNEX_CXLTIER_NEVER});
	struct annex_cxlssd_time t, far, direct = {.now = 5 * 100000 + LINK};
	struct annex_cxltier_stats stats;
	unsigned char buf[2 * LINE];

	for (unsigned int i = 0; i < 4; i++) {
		t = tier_rig_load(tier, 3 * TIER_PAGE, i * 100000, 0);
		far = tier_rig_load(never, 3 * TIER_PAGE, i * 100000, 0);
		CU_ASSERT(t.done == far.done && t.told == far.told && t.hit == far.hit &&
			  t.late == far.late && t.load == far.load);
	}
	/* The endpoint's DRAM has it by now: its index, its DRAM, and the link twice. */
	CU_ASSERT_EQUAL(t.done - t.now, 2 * LINK + 72 + 46);
	CU_ASSERT_EQUAL(t.told - t.now, 2 * LINK + 72);
	stats = tier_rig_stats(tier);
	CU_ASSERT_EQUAL(stats.promoted, 1);
	CU_ASSERT_EQUAL(stats.resident, 1);
	CU_ASSERT_EQUAL(stats.moved_bytes, TIER_PAGE);
	for (unsigned int i = 4; i < 50; i++) {
		t = tier_rig_load(tier, 3 * TIER_PAGE + i * LINE, i * 100000, 0);
		CU_ASSERT_EQUAL(t.done - t.now, TIER_LOCAL);
		CU_ASSERT_EQUAL(t.told, t.now);
		CU_ASSERT(t.hit && !t.late);
		t = tier_rig_store(tier, 3 * TIER_PAGE + i * LINE, i * 100000, 1);
		CU_ASSERT_EQUAL(t.done - t.now, TIER_LOCAL);
	}
	/* The endpoint's DRAM has the page no more. */
	t.now = 50 * 100000;
	CU_ASSERT_EQUAL(annex_cxlssd_read(s, 3 * TIER_PAGE, buf, LINE, &t), 0);
	CU_ASSERT(!t.hit);
	/* A part in host memory and one at the endpoint: it takes the longer time. */
	t.now = 51 * 100000;
	CU_ASSERT_EQUAL(annex_cxltier_load(tier, 4 * TIER_PAGE - LINE, buf, sizeof(buf), &t), 0);
	CU_ASSERT(t.done - t.now >= 2 * LINK + 72 + 46 && t.told > t.now);
	stats = tier_rig_stats(tier);
	CU_ASSERT_EQUAL(stats.host, 2 * 46 + 1);
	CU_ASSERT_EQUAL(stats.loads, 4 + 46 + 2);
	CU_ASSERT_EQUAL(stats.stores, 46);
	/* Without promotion it stays what the endpoint and the link take. */
	for (unsigned int i = 4; i < 6; i++)
		far = tier_rig_load(never, 3 * TIER_PAGE, i * 100000, 0);
	CU_ASSERT_EQUAL(annex_cxltier_destroy(never), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_read(other, 3 * TIER_PAGE, buf, LINE, &direct), 0);
	CU_ASSERT_EQUAL(far.done, direct.done + LINK);
	CU_ASSERT_EQUAL(annex_cxltier_destroy(tier), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_close(other), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

/* struct move - Bytes that were moved from @at on. */
struct move {
	uint64_t at, bytes;
};

/* From the beginning of any move to that of any other, no more than @rate bytes a second. */
static unsigned int above(const struct move *moves, unsigned int n, uint64_t rate)
{
	unsigned int wrong = 0;

	for (unsigned int i = 0; i < n; i++) {
		uint64_t bytes = 0;

		for (unsigned int k = i; k + 1 < n; k++) {
			bytes += moves[k].bytes;
			wrong += bytes > (moves[k + 1].at - moves[i].at) * rate / 1000000000;
		}
	}
	return wrong;
}

static void rate_bound(void)
{
	static const uint64_t rates[] = {1000000, 50000000, 1000000007, 0};
	uint64_t rng = random_seed("rate");

	for (unsigned int r = 0; r < 4; r++) {
		struct annex_cxlssd *s = tier_rig_ssd(TIER_URI);
		struct annex_cxltier *tier = tier_rig_open(
			s, (struct annex_cxltier_opts){
				   .host = 4 * TIER_PAGE, .hot = 2, .rate = rates[r]});
		struct move *moves = calloc(40000, sizeof(*moves));
		uint64_t now = 0, far = 0, last = 0;
		struct annex_cxltier_stats stats, before = {0};
		struct annex_cxlssd_stats below;
		unsigned int n = 0;

		CU_ASSERT_PTR_NOT_NULL_FATAL(moves);
		for (unsigned int i = 0; i < 40000; i++) {
			/* A stretch of accesses to each of eight pages in turn. */
			const uint64_t at = (i / 200 % 8) * TIER_PAGE +
					    random_next(&rng) % 64 * LINE;

			now += random_next(&rng) % 1000;
			if (random_next(&rng) & 1)
				tier_rig_store(tier, at, now, 0);
			else
				tier_rig_load(tier, at, now, 0);
			stats = tier_rig_stats(tier);
			far += stats.host == before.host;
			if (stats.moved_bytes > before.moved_bytes) {
				const uint64_t bytes = stats.moved_bytes - before.moved_bytes;

				moves[n++] = (struct move){now, bytes};
			}
			before = stats;
			last = now;
		}
		CU_ASSERT_EQUAL(above(moves, n, rates[r] ? rates[r] : 1ull << 30), 0);
		/* Migration uses what the rate allows, and counts all that it moves. */
		CU_ASSERT(n > 2 && stats.demoted > 0);
		CU_ASSERT(r > 0 || stats.moved_bytes > last * rates[0] / 1000000000 / 2);
		CU_ASSERT(r > 1 || stats.refused > 100);
		annex_cxlssd_get_stats(s, &below);
		CU_ASSERT_EQUAL((below.reads + below.writes) * LINE,
				far * LINE + stats.moved_bytes);
		free(moves);
		CU_ASSERT_EQUAL(annex_cxltier_destroy(tier), 0);
		CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	}
}

static void store_during_copy(void)
{
	struct annex_cxlssd *s = tier_rig_ssd(TIER_URI);
	/* A page takes 4096 ns. */
	struct annex_cxltier *tier = tier_rig_open(
		s, (struct annex_cxltier_opts){.host = TIER_PAGE, .hot = 2, .rate = 1000000000});
	struct annex_cxlssd_time t;
	struct annex_cxltier_stats stats;

	for (uint64_t now = 0; now <= 1000000; now += 1000000)
		tier_rig_load(tier, 2 * TIER_PAGE, now, 0);
	CU_ASSERT_EQUAL(tier_rig_stats(tier).promoted, 1);
	t = tier_rig_store(tier, 2 * TIER_PAGE + LINE, 1002000, 9);
	CU_ASSERT(t.done - t.now > TIER_LOCAL);
	t = tier_rig_load(tier, 2 * TIER_PAGE + LINE, 1002100, 9);
	CU_ASSERT(t.done - t.now > TIER_LOCAL);
	CU_ASSERT_EQUAL(tier_rig_beneath(s, 2 * TIER_PAGE + LINE), 9);
	t = tier_rig_load(tier, 2 * TIER_PAGE, 1000000 + TIER_PAGE - 1, 0);
	CU_ASSERT(t.done - t.now > TIER_LOCAL);
	CU_ASSERT_EQUAL(tier_rig_stats(tier).host, 0);
	/* The copy has arrived. The endpoint has the line, so it is not dirty. */
	t = tier_rig_load(tier, 2 * TIER_PAGE + LINE, 1000000 + TIER_PAGE, 9);
	CU_ASSERT_EQUAL(t.done - t.now, TIER_LOCAL);
	t.now = 2000000;
	CU_ASSERT_EQUAL(annex_cxltier_fence(tier, &t), 0);
	stats = tier_rig_stats(tier);
	CU_ASSERT_EQUAL(stats.fenced_bytes, 0);
	CU_ASSERT_EQUAL(stats.host, 1);
	CU_ASSERT_EQUAL(annex_cxltier_destroy(tier), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

/* Dirty lines, and no others, go back: at a fence, and when their page makes room. */
static void dirty_lines(void)
{
	struct annex_cxlssd *s = tier_rig_ssd("cxlssd:?size=4M&dram=1M&page=16384");
	struct annex_cxltier *tier =
		tier_rig_open(s, (struct annex_cxltier_opts){.host = 16384, .hot = 2});
	const uint64_t page = 16384;
	struct annex_cxlssd_time t = {0}, fence = {0};
	uint64_t written;

	for (uint64_t now = 0; now <= 1000000; now += 1000000)
		tier_rig_load(tier, page, now, 0);
	written = tier_rig_written(s);
	tier_rig_store(tier, page, 2000000, 1);
	tier_rig_store(tier, page + LINE, 2000000, 2);
	tier_rig_store(tier, page + 100 * LINE, 2000000, 3);
	tier_rig_store(tier, page + 255 * LINE, 2000000, 4);
	CU_ASSERT_EQUAL(tier_rig_written(s), written);
	CU_ASSERT_EQUAL(tier_rig_beneath(s, page), 0);
	t.now = 3000000;
	CU_ASSERT_EQUAL(annex_cxltier_fence(tier, &t), 0);
	CU_ASSERT(t.done > 3000000 + (uint64_t)4 * LINK && t.told == t.done);
	CU_ASSERT_EQUAL(tier_rig_written(s), written + 4);
	CU_ASSERT_EQUAL(tier_rig_stats(tier).fenced_bytes, 4 * LINE);
	CU_ASSERT_EQUAL(tier_rig_beneath(s, page + LINE), 2);
	CU_ASSERT_EQUAL(tier_rig_beneath(s, page + 255 * LINE), 4);
	CU_ASSERT_EQUAL(annex_cxlssd_unfenced(s, NULL, 0), 0);
	/* The lines are clean now, and the page is still there. */
	CU_ASSERT_EQUAL(tier_rig_load(tier, page + LINE, 4000000, 2).done, 4000000 + TIER_LOCAL);
	t.now = 4000000;
	CU_ASSERT_EQUAL(annex_cxltier_fence(tier, &t), 0);
	CU_ASSERT_EQUAL(tier_rig_written(s), written + 4);
	/* A fence waits for stores that the endpoint has not answered. */
	fence.now = 4500000;
	t = tier_rig_store(tier, 30 * page, 4500000, 6);
	CU_ASSERT_EQUAL(annex_cxltier_fence(tier, &fence), 0);
	CU_ASSERT(fence.done > t.done + (uint64_t)2 * LINK);
	written++;
	/* The page makes room for another one with one dirty line. */
	tier_rig_store(tier, page + 70 * LINE, 5000000, 5);
	for (uint64_t now = 6000000; now < 40000000; now += 1000000)
		tier_rig_load(tier, 0, now, 0);
	CU_ASSERT_EQUAL(tier_rig_stats(tier).demoted, 1);
	CU_ASSERT_EQUAL(tier_rig_written(s), written + 5);
	CU_ASSERT_EQUAL(tier_rig_stats(tier).moved_bytes, 2 * 16384 + LINE);
	CU_ASSERT_EQUAL(tier_rig_beneath(s, page + 70 * LINE), 5);
	tier_rig_load(tier, page + 70 * LINE, 40000000, 5);
	CU_ASSERT_EQUAL(annex_cxltier_destroy(tier), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

static void wrong_words(void)
{
	struct annex_cxlssd *s = tier_rig_ssd("cxlssd:?size=1M");
	struct annex_cxltier_opts o = {.host = TIER_PAGE - 1};
	struct annex_cxlssd_time t = {.now = 5};
	struct annex_cxltier *tier = NULL;
	char buf[2 * LINE] = {0};

	CU_ASSERT_EQUAL(annex_cxltier_create(s, &o, &tier), -EINVAL);
	CU_ASSERT(strstr(annex_last_error(), "4095") != NULL);
	o = (struct annex_cxltier_opts){.hot = 65536};
	CU_ASSERT_EQUAL(annex_cxltier_create(s, &o, &tier), -EINVAL);
	CU_ASSERT(strstr(annex_last_error(), "65536") != NULL);
	CU_ASSERT_PTR_NULL(tier);
	o.hot = 65535;
	CU_ASSERT_EQUAL_FATAL(annex_cxltier_create(s, &o, &tier), 0);
	CU_ASSERT_EQUAL(annex_cxltier_destroy(tier), 0);
	CU_ASSERT_EQUAL_FATAL(annex_cxltier_create(s, NULL, &tier), 0);
	CU_ASSERT_EQUAL(annex_cxltier_load(tier, 1 << 20, buf, 1, &t), -EINVAL);
	CU_ASSERT_EQUAL(annex_cxltier_store(tier, (1 << 20) - 64, buf, 65, &t), -EINVAL);
	CU_ASSERT_EQUAL(annex_cxltier_load(tier, UINT64_MAX, buf, 2, &t), -EINVAL);
	CU_ASSERT_EQUAL(annex_cxltier_store(tier, 8, buf, SIZE_MAX, &t), -EINVAL);
	CU_ASSERT_EQUAL(tier_rig_stats(tier).loads + tier_rig_stats(tier).stores, 0);
	CU_ASSERT_EQUAL(annex_cxltier_load(tier, 1 << 20, buf, 0, &t), 0);
	CU_ASSERT_EQUAL(t.done, 5);
	CU_ASSERT_EQUAL(annex_cxltier_store(tier, (1 << 20) - 64, buf, 64, &t), 0);
	CU_ASSERT_EQUAL(annex_cxltier_destroy(tier), 0);
	CU_ASSERT_EQUAL(annex_cxltier_destroy(NULL), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

UNIT_SUITE(cxltier, {"beside an array", beside_an_array}, {"served by host memory", served_by_host},
	   {"migration has a bound", rate_bound}, {"a store during a copy", store_during_copy},
	   {"dirty lines go back", dirty_lines}, {"wrong words", wrong_words})
