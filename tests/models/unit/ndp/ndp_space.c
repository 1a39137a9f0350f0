// SPDX-License-Identifier: MIT
/*
 * Address spaces of near-data kernels: page tables, and the DRAM-TLB in front of them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "models/ndp/device/space.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define PAGE 4096ull
#define LARGE (2ull << 20)
#define TOP (1ull << 47)

static char host[4 * PAGE] __attribute__((aligned(PAGE)));

static struct ndp_space *space_open(struct ndp_tlb *tlb, uint16_t asid)
{
	struct ndp_space *s = malloc(sizeof(*s));

	CU_ASSERT_FATAL(tlb && s);
	ndp_space_init(s, tlb, asid);
	return s;
}

static void space_close(struct ndp_space *s)
{
	ndp_space_release(s);
	free(s);
}

static void bounds(void)
{
	struct ndp_tlb *tlb = ndp_tlb_create();
	struct ndp_space *s = space_open(tlb, 1);
	struct rv_span span;

	CU_ASSERT_EQUAL(ndp_space_map(s, 1, host, PAGE, RV_READ), -EINVAL);
	CU_ASSERT_EQUAL(ndp_space_map(s, 0, host, 0, RV_READ), -EINVAL);
	CU_ASSERT_EQUAL(ndp_space_map(s, 0, host, PAGE + 1, RV_READ), -EINVAL);
	CU_ASSERT_EQUAL(ndp_space_map(s, 0, host, PAGE, 0), -EINVAL);
	CU_ASSERT_EQUAL(ndp_space_map(s, 0, host, PAGE, 4), -EINVAL);
	for (unsigned int i = 1; i < 8; i++)
		CU_ASSERT_EQUAL(ndp_space_map(s, 0, host + i, PAGE, RV_READ), -EINVAL);
	CU_ASSERT_EQUAL(ndp_space_map(s, 0, host + 8, PAGE, RV_READ), 0);
	CU_ASSERT_EQUAL(ndp_space_unmap(s, 0, PAGE), 0);
	CU_ASSERT_EQUAL(ndp_space_map(s, TOP, host, PAGE, RV_READ), -EINVAL);
	CU_ASSERT_EQUAL(ndp_space_map(s, TOP - PAGE, host, 2 * PAGE, RV_READ), -EINVAL);
	CU_ASSERT_EQUAL(ndp_space_map(s, PAGE, host, -PAGE, RV_READ), -EINVAL);
	CU_ASSERT_EQUAL(ndp_space_map(s, TOP - PAGE, host, PAGE, RV_READ), 0);
	CU_ASSERT_EQUAL(ndp_space_find(s, TOP - 1, &span), 0);
	CU_ASSERT(span.va == TOP - PAGE && span.bytes == PAGE && span.host == host);
	CU_ASSERT_EQUAL(span.prot, RV_READ);
	CU_ASSERT_EQUAL(ndp_space_find(s, TOP, &span), -EFAULT);
	CU_ASSERT_EQUAL(ndp_space_find(s, UINT64_MAX, &span), -EFAULT);
	CU_ASSERT_EQUAL(ndp_space_find(s, TOP - PAGE - 1, &span), -EFAULT);
	CU_ASSERT_EQUAL(ndp_space_map(s, TOP - 2 * PAGE, host, 2 * PAGE, RV_READ), -EEXIST);
	CU_ASSERT_EQUAL(ndp_space_unmap(s, TOP - PAGE, 2 * PAGE), -ENOENT);
	CU_ASSERT_EQUAL(ndp_space_unmap(s, 0, 0), -ENOENT);
	CU_ASSERT_EQUAL(ndp_space_unmap(s, TOP - PAGE, PAGE), 0);
	CU_ASSERT_EQUAL(ndp_space_find(s, TOP - 1, &span), -EFAULT);
	space_close(s);
	ndp_tlb_destroy(tlb);
}

/* One look-up for 2 MiB where it can be, and one for each small page at the ends. */
static void pages(void)
{
	struct ndp_tlb *tlb = ndp_tlb_create();
	struct ndp_space *s = space_open(tlb, 1);
	uint64_t hits, misses, va = 8 * LARGE - 3 * PAGE, bytes = 2 * LARGE + 4 * PAGE;
	struct rv_span span;

	CU_ASSERT_EQUAL(ndp_space_map(s, va, host, bytes, RV_READ | RV_WRITE), 0);
	for (unsigned int round = 0; round < 2; round++) {
		for (uint64_t at = 0; at < bytes; at += PAGE) {
			CU_ASSERT_EQUAL_FATAL(ndp_space_find(s, va + at, &span), 0);
			CU_ASSERT_FATAL(span.va == va && span.bytes == bytes && span.host == host);
		}
	}
	ndp_tlb_count(tlb, &hits, &misses);
	CU_ASSERT_EQUAL(misses, 3 + 2 + 1);
	CU_ASSERT_EQUAL(hits, 2 * bytes / PAGE - misses);
	/* shot down, it is looked up anew: a large page by any page in it */
	ndp_tlb_drop(tlb, 1, (8 * LARGE + 5 * PAGE) / PAGE);
	CU_ASSERT_EQUAL(ndp_space_find(s, 8 * LARGE, &span), 0);
	CU_ASSERT_EQUAL(ndp_space_find(s, 9 * LARGE, &span), 0);
	ndp_tlb_count(tlb, &hits, &misses);
	CU_ASSERT_EQUAL(misses, 7);
	space_close(s);
	ndp_tlb_destroy(tlb);
}

/* Small pages where a large one was, and the other way round. */
static void sizes_change(void)
{
	struct ndp_tlb *tlb = ndp_tlb_create();
	struct ndp_space *s = space_open(tlb, 1);
	struct rv_span span;

	for (unsigned int i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(ndp_space_map(s, LARGE, host, LARGE, RV_READ), 0);
		CU_ASSERT_EQUAL(ndp_space_find(s, LARGE + 7 * PAGE, &span), 0);
		CU_ASSERT_EQUAL(ndp_space_unmap(s, LARGE, LARGE), 0);
		CU_ASSERT_EQUAL(ndp_space_find(s, LARGE + 7 * PAGE, &span), -EFAULT);
		CU_ASSERT_EQUAL(ndp_space_map(s, LARGE + 7 * PAGE, host, PAGE, RV_READ), 0);
		CU_ASSERT_EQUAL(ndp_space_find(s, LARGE + 7 * PAGE, &span), 0);
		CU_ASSERT_EQUAL(span.bytes, PAGE);
		CU_ASSERT_EQUAL(ndp_space_find(s, LARGE + 8 * PAGE, &span), -EFAULT);
		CU_ASSERT_EQUAL(ndp_space_unmap(s, LARGE + 7 * PAGE, PAGE), 0);
	}
	space_close(s);
	ndp_tlb_destroy(tlb);
}

/* The same addresses of two processes, in one TLB. */
static void two_processes(void)
{
	struct ndp_tlb *tlb = ndp_tlb_create();
	struct ndp_space *one = space_open(tlb, 1), *two = space_open(tlb, 2);
	struct rv_span span;

	CU_ASSERT_EQUAL(ndp_space_map(one, PAGE, host, PAGE, RV_READ), 0);
	CU_ASSERT_EQUAL(ndp_space_find(one, PAGE, &span), 0);
	CU_ASSERT_EQUAL(ndp_space_find(two, PAGE, &span), -EFAULT);
	CU_ASSERT_EQUAL(ndp_space_map(two, PAGE, host + PAGE, PAGE, RV_READ), 0);
	CU_ASSERT_EQUAL(ndp_space_find(two, PAGE, &span), 0);
	CU_ASSERT(span.host == host + PAGE);
	space_close(one);
	CU_ASSERT_EQUAL(ndp_space_find(two, PAGE, &span), 0);
	/* the next owner of the number finds nothing of the previous one */
	one = space_open(tlb, 1);
	CU_ASSERT_EQUAL(ndp_space_find(one, PAGE, &span), -EFAULT);
	space_close(one);
	space_close(two);
	ndp_tlb_destroy(tlb);
}

static void reading(void)
{
	struct ndp_tlb *tlb = ndp_tlb_create();
	struct ndp_space *s = space_open(tlb, 1);
	char to[16];

	memset(host, 0, sizeof(host));
	memcpy(host + PAGE - 4, "abcd", 4);
	memcpy(host + 2 * PAGE, "efgh", 4);
	CU_ASSERT_EQUAL(ndp_space_map(s, 16 * PAGE, host, PAGE, RV_READ), 0);
	CU_ASSERT_EQUAL(ndp_space_map(s, 17 * PAGE, host + 2 * PAGE, PAGE, RV_READ), 0);
	CU_ASSERT_EQUAL(ndp_space_map(s, 18 * PAGE, host, PAGE, RV_WRITE), 0);
	CU_ASSERT_EQUAL(ndp_space_read(s, 17 * PAGE - 4, to, 8), 0);
	CU_ASSERT(!memcmp(to, "abcdefgh", 8));
	CU_ASSERT_EQUAL(ndp_space_read(s, 18 * PAGE - 4, to, 8), -EFAULT);
	CU_ASSERT_EQUAL(ndp_space_read(s, 16 * PAGE - 4, to, 8), -EFAULT);
	CU_ASSERT(ndp_space_covers(s, 16 * PAGE, 3 * PAGE));
	CU_ASSERT_FALSE(ndp_space_covers(s, 16 * PAGE, 3 * PAGE + 1));
	CU_ASSERT_FALSE(ndp_space_covers(s, 16 * PAGE, UINT64_MAX));
	space_close(s);
	ndp_tlb_destroy(tlb);
}

/* More pages than entries: some are gone, and the others are right. */
static void crowded(void)
{
	struct ndp_tlb *tlb = ndp_tlb_create();
	const uint64_t n = 200000;
	uint64_t found = 0, wrong = 0;
	struct ndp_page page;

	CU_ASSERT_FATAL(tlb != NULL);
	for (uint64_t i = 0; i < n; i++) {
		page = (struct ndp_page){.frame = i, .prot = RV_READ, .large = i % 3 == 0};
		ndp_tlb_fill(tlb, (uint16_t)(1 + i % 5), 512 * i, &page);
	}
	for (uint64_t i = 0; i < n; i++) {
		if (!ndp_tlb_look(tlb, (uint16_t)(1 + i % 5), 512 * i, &page))
			continue;
		found++;
		wrong += page.frame != i || page.prot != RV_READ || page.large != (i % 3 == 0);
	}
	CU_ASSERT(found > 20000 && found <= 65536);
	CU_ASSERT_EQUAL(wrong, 0);
	ndp_tlb_destroy(tlb);
}

#define WINDOW 64u /* pages, across the border of a large one */
#define STEPS 4000u

/* Mappings come and go at random; each page is found where it is, and only there. */
static void at_random(void)
{
	struct ndp_tlb *tlb = ndp_tlb_create();
	struct ndp_space *s = space_open(tlb, 1);
	uint64_t seed = random_seed("ndp_space"), base = 3 * LARGE - 32 * PAGE;
	uint32_t first[WINDOW] = {0}, count[WINDOW] = {0}; /* of the mapping there, plus one */

	for (unsigned int step = 0; step < STEPS; step++) {
		uint32_t at = (uint32_t)(random_next(&seed) % WINDOW);
		uint32_t n = 1 + (uint32_t)(random_next(&seed) % 8);
		bool is_free = true;
		struct rv_span span;
		int err;

		n = n < WINDOW - at ? n : WINDOW - at;
		for (uint32_t i = at; i < at + n; i++)
			is_free = is_free && !first[i];
		if (first[at] && random_next(&seed) % 2) {
			uint32_t f = first[at] - 1, c = count[at];

			CU_ASSERT_EQUAL(ndp_space_unmap(s, base + f * PAGE, c * PAGE), 0);
			memset(&first[f], 0, c * sizeof(*first));
		} else {
			err = ndp_space_map(s, base + at * PAGE, host, n * PAGE, RV_READ);
			CU_ASSERT_EQUAL(err, is_free ? 0 : -EEXIST);
			for (uint32_t i = at; !err && i < at + n; i++) {
				first[i] = at + 1;
				count[i] = n;
			}
		}
		at = (uint32_t)(random_next(&seed) % WINDOW);
		err = ndp_space_find(s, base + at * PAGE, &span);
		CU_ASSERT_EQUAL(err, first[at] ? 0 : -EFAULT);
		if (!err)
			CU_ASSERT_EQUAL(span.va, base + (first[at] - 1) * PAGE);
	}
	space_close(s);
	ndp_tlb_destroy(tlb);
}

/* Neither more mappings nor a larger table than a process may have. */
static void limits(void)
{
	struct ndp_tlb *tlb = ndp_tlb_create();
	struct ndp_space *s = space_open(tlb, 1);
	struct rv_span span;

	for (unsigned int i = 0; i < NDP_MAPPINGS; i++)
		CU_ASSERT_EQUAL_FATAL(ndp_space_map(s, 2 * i * PAGE, host, PAGE, RV_READ), 0);
	CU_ASSERT_EQUAL(ndp_space_map(s, LARGE * 10, host, PAGE, RV_READ), -ENOSPC);
	for (unsigned int i = 0; i < NDP_MAPPINGS; i++)
		CU_ASSERT_EQUAL(ndp_space_unmap(s, 2 * i * PAGE, PAGE), 0);
	CU_ASSERT_EQUAL(ndp_space_map(s, 0, host, TOP, RV_READ), -ENOSPC);
	CU_ASSERT_EQUAL(ndp_space_find(s, 0, &span), -EFAULT);
	CU_ASSERT_EQUAL(ndp_space_unmap(s, 0, TOP), -ENOENT);
	/* the limit counts present mappings only, not earlier ones */
	for (uint64_t va = 0; va < 40000 * LARGE; va += LARGE) {
		CU_ASSERT_EQUAL(ndp_space_map(s, va + PAGE, host, PAGE, RV_READ), 0);
		CU_ASSERT_EQUAL(ndp_space_unmap(s, va + PAGE, PAGE), 0);
	}
	CU_ASSERT(s->nodes <= 1);
	space_close(s);
	ndp_tlb_destroy(tlb);
}

UNIT_SUITE(ndp_space, {"bounds", bounds}, {"pages", pages}, {"sizes change", sizes_change},
	   {"two processes", two_processes}, {"reading", reading}, {"crowded", crowded},
	   {"at random", at_random}, {"limits", limits})
