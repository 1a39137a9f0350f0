// SPDX-License-Identifier: MIT
/*
 * Poisoned memory is never allocated, also if the poison is found late.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <annex/log.h>
#include "tests/unit/hdm_rig.h"
#include "tests/unit/unit.h"

#define BYTES (2ull << 20)
#define PAGE 4096u

/*
 * struct sick - A medium of which more and more goes bad: @bad, as it is told. @asked: how often.
 * @err: what asking comes to. @mend_err: what clearing comes to.
 */
static struct {
	struct annex_medium_ops ops;
	struct range bad[8];
	unsigned int nbad, asked;
	int err, mend_err;
} sick;

static int tell(struct annex_medium *m)
{
	sick.asked++;
	m->poison = sick.bad;
	m->npoison = sick.nbad;
	return sick.err;
}

static void goes_bad(uint64_t at, uint64_t bytes)
{
	sick.bad[sick.nbad++] = (struct range){at, bytes};
}

/* Zero the records that begin there. Those behind are bad still. */
static int mend(struct annex_medium *m, uint64_t at, uint64_t bytes)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < sick.nbad && !sick.mend_err; i++)
		if (sick.bad[i].addr - at < bytes)
			memset(m->base + sick.bad[i].addr, 0, sick.bad[i].len);
		else
			sick.bad[kept++] = sick.bad[i];
	if (!sick.mend_err)
		sick.nbad = kept;
	return sick.mend_err ? sick.mend_err : tell(m);
}

static int open_anew(bool anew, struct annex_hdm **h)
{
	struct hdm_fake *f = hdm_fake_make(BYTES, NULL);

	sick.ops = *f->m.ops;
	sick.ops.poison = tell;
	sick.ops.clear = mend;
	sick.asked = 0;
	sick.err = sick.mend_err = 0;
	f->m.ops = &sick.ops;
	return hdm_open_medium(&f->m, "sick", NULL, anew, h);
}

static struct annex_hdm *open_sick(void)
{
	struct annex_hdm *h;

	sick.nbad = 0;
	CU_ASSERT_EQUAL_FATAL(open_anew(false, &h), 0);
	return h;
}

static uint64_t offset_of(const struct annex_hdm *h, const void *p)
{
	return (uint64_t)((const char *)p - h->m->base);
}

static bool is_bad(const struct annex_hdm *h, const void *p, uint64_t bytes)
{
	uint64_t at = offset_of(h, p);

	for (unsigned int i = 0; i < sick.nbad; i++)
		if (at < sick.bad[i].addr + sick.bad[i].len && sick.bad[i].addr < at + bytes)
			return true;
	return false;
}

static void poison_is_left_out(void)
{
	static const uint64_t bad[] = {64 << 10, 65 << 10, 1 << 20, (1 << 20) - 4096};
	struct annex_hdm_usage u;
	struct hdm_rig r;
	uint64_t seen = 0;
	char *p;

	hdm_rig_open(&r, 2 << 20, "&poison=65K&poison=64K&poison=1M&poison=1020K");
	CU_ASSERT_EQUAL_FATAL(annex_hdm_get_usage(r.h, &u), 0);
	CU_ASSERT_EQUAL(u.poisoned, 3 * 4096);
	for (; !annex_hdm_alloc(r.h, 4096 * 3, 0, NULL, (void **)&p); seen++)
		for (unsigned int i = 0; i < 4; i++) {
			uint64_t at = (uint64_t)(p - r.h->m->base);

			CU_ASSERT(at + 4096 * 3 <= bad[i] || at > bad[i]);
		}
	for (; !annex_hdm_alloc(r.h, 4096, 4096, NULL, (void **)&p); seen++)
		for (unsigned int i = 0; i < 4; i++)
			CU_ASSERT((uint64_t)(p - r.h->m->base) != bad[i] / 4096 * 4096);
	CU_ASSERT_EQUAL_FATAL(annex_hdm_get_usage(r.h, &u), 0);
	CU_ASSERT(seen > 100);
	CU_ASSERT_EQUAL(u.poisoned, 3 * 4096);
	CU_ASSERT_EQUAL(u.free, 0);
	hdm_rig_close(&r);
}

static void later_poison_is_left_out(void)
{
	struct annex_hdm *h = open_sick();
	struct annex_hdm_usage u;
	uint64_t seen = 0;
	void *p, *held;

	CU_ASSERT_EQUAL_FATAL(annex_hdm_alloc(h, 16 * PAGE, 0, NULL, &held), 0);
	CU_ASSERT_EQUAL_FATAL(annex_hdm_alloc(h, 4 * PAGE, 0, "named", &p), 0);
	goes_bad(1 << 20, PAGE);
	goes_bad((1 << 20) + 7 * PAGE + 64, 64);
	goes_bad(offset_of(h, held) + 3 * PAGE, 2 * PAGE);
	CU_ASSERT_EQUAL(annex_hdm_get_usage(h, &u), 0);
	CU_ASSERT_EQUAL(u.poisoned, 2 * PAGE);
	/* A piece that was poisoned after its allocation can be freed, and is not allocated
	 * again. */
	CU_ASSERT_EQUAL(annex_hdm_free(h, held), 0);
	CU_ASSERT_EQUAL(annex_hdm_alloc(h, PAGE, 0, "another", &p), 0);
	CU_ASSERT_FALSE(is_bad(h, p, PAGE));
	for (; !annex_hdm_alloc(h, 3 * PAGE, 0, NULL, &p); seen++)
		CU_ASSERT_FALSE(is_bad(h, p, 3 * PAGE));
	goes_bad((1 << 20) + 2 * PAGE, PAGE);
	for (; !annex_hdm_alloc(h, PAGE, PAGE, NULL, &p); seen++)
		CU_ASSERT_FALSE(is_bad(h, p, PAGE));
	CU_ASSERT(seen > 100);
	CU_ASSERT_EQUAL(annex_hdm_get_usage(h, &u), 0);
	CU_ASSERT_EQUAL(u.poisoned, 4 * PAGE);
	CU_ASSERT_EQUAL(u.free, 0);
	annex_hdm_close(h);
}

static void small_pieces_of_a_page_gone_bad(void)
{
	struct annex_hdm *h = open_sick();
	void *first, *held, *p;

	CU_ASSERT_EQUAL_FATAL(annex_hdm_alloc(h, 192, 0, NULL, &first), 0);
	do {
		CU_ASSERT_EQUAL_FATAL(annex_hdm_alloc(h, 192, 0, NULL, &held), 0);
	} while (offset_of(h, held) < offset_of(h, first) + 2 * PAGE);
	/* One that begins on the page before reaches into it. */
	goes_bad(offset_of(h, held) / PAGE * PAGE, 3 * PAGE);
	h->recall = 0; /* long ago */
	for (unsigned int i = 0; i < 1000; i++) {
		CU_ASSERT_EQUAL_FATAL(annex_hdm_alloc(h, 192, 0, NULL, &p), 0);
		CU_ASSERT_FALSE(is_bad(h, p, 192));
	}
	CU_ASSERT_TRUE(is_bad(h, held, 192));
	CU_ASSERT_EQUAL(annex_hdm_free(h, held), 0);
	CU_ASSERT_EQUAL(annex_hdm_alloc(h, 192, 0, NULL, &p), 0);
	CU_ASSERT_PTR_NOT_EQUAL(p, held);
	/* A piece beside it is had again, as ever. */
	CU_ASSERT_EQUAL(annex_hdm_free(h, first), 0);
	CU_ASSERT_EQUAL(annex_hdm_alloc(h, 192, 0, NULL, &p), 0);
	CU_ASSERT_PTR_EQUAL(p, first);
	annex_hdm_close(h);
}

static void small_pieces_ask_seldom(void)
{
	struct annex_hdm *h = open_sick();
	unsigned int n = 20000;
	void *p;

	for (unsigned int i = 0; i < n; i++) {
		CU_ASSERT_EQUAL_FATAL(annex_hdm_alloc(h, 64, 0, NULL, &p), 0);
		CU_ASSERT_EQUAL_FATAL(annex_hdm_free(h, p), 0);
	}
	CU_ASSERT(sick.asked < n / 2);
	annex_hdm_close(h);
}

static void a_medium_that_cannot_say(void)
{
	struct annex_hdm *h = open_sick();
	struct annex_hdm_usage u;
	void *p;

	CU_ASSERT_EQUAL(annex_hdm_alloc(h, 64, 0, NULL, &p), 0);
	sick.err = -ENODEV;
	CU_ASSERT_EQUAL(annex_hdm_alloc(h, PAGE, 0, "name", &p), -ENODEV);
	CU_ASSERT_EQUAL(annex_hdm_alloc(h, 100000, 0, NULL, &p), -ENODEV);
	h->recall = 0;
	CU_ASSERT_EQUAL(annex_hdm_alloc(h, 64, 0, NULL, &p), -ENODEV);
	/* Nor by calls before the medium is asked again. */
	h->recall = UINT64_MAX;
	CU_ASSERT_EQUAL(annex_hdm_alloc(h, 64, 0, NULL, &p), -ENODEV);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "its poison is not known"));
	CU_ASSERT_EQUAL(annex_hdm_get_usage(h, &u), -ENODEV);
	sick.err = 0;
	CU_ASSERT_EQUAL(annex_hdm_alloc(h, PAGE, 0, "name", &p), 0);
	CU_ASSERT_EQUAL(annex_hdm_alloc(h, 64, 0, NULL, &p), 0);
	annex_hdm_close(h);
}

static void a_table_gone_bad(void)
{
	struct annex_hdm *h = open_sick();
	void *p;

	goes_bad(PAGE + 64, 64);
	CU_ASSERT_EQUAL(annex_hdm_alloc(h, PAGE, 0, "name", &p), -EIO);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "table is poisoned"));
	annex_hdm_close(h);
}

static void free_memory_is_mended(void)
{
	struct annex_hdm *h = open_sick();
	struct annex_hdm_usage u;
	char *held, *p;

	CU_ASSERT_EQUAL_FATAL(annex_hdm_alloc(h, 16 * PAGE, 0, NULL, (void **)&held), 0);
	memset(held, 7, 16 * PAGE);
	goes_bad(offset_of(h, held) + 3 * PAGE, PAGE);
	goes_bad(1 << 20, PAGE);
	goes_bad((1 << 20) + 9 * PAGE, 64);
	CU_ASSERT_EQUAL(annex_hdm_get_usage(h, &u), 0);
	CU_ASSERT_EQUAL(u.poisoned, 2 * PAGE);
	CU_ASSERT_EQUAL(annex_hdm_clear(h, NULL), 0);
	CU_ASSERT_EQUAL(annex_hdm_get_usage(h, &u), 0);
	CU_ASSERT_EQUAL(u.poisoned, 0);
	/* A piece keeps its data until its owner clears it. */
	CU_ASSERT_EQUAL(sick.nbad, 1);
	CU_ASSERT_EQUAL(held[3 * PAGE], 7);
	CU_ASSERT_EQUAL(annex_hdm_clear(h, held), 0);
	CU_ASSERT_EQUAL(sick.nbad, 0);
	CU_ASSERT_EQUAL(held[3 * PAGE], 0);
	CU_ASSERT_EQUAL(held[2 * PAGE], 7);
	CU_ASSERT_EQUAL(annex_hdm_free(h, held), 0);
	/* All of it is allocated again. */
	CU_ASSERT_EQUAL(annex_hdm_get_usage(h, &u), 0);
	CU_ASSERT_EQUAL(u.largest, BYTES - u.table);
	CU_ASSERT_EQUAL(annex_hdm_alloc(h, u.largest, 0, NULL, (void **)&p), 0);
	annex_hdm_close(h);
}

static void refused_pieces(void)
{
	struct annex_hdm *h = open_sick();
	char *held, *small;

	CU_ASSERT_EQUAL_FATAL(annex_hdm_alloc(h, 16 * PAGE, 0, NULL, (void **)&held), 0);
	CU_ASSERT_EQUAL_FATAL(annex_hdm_alloc(h, 64, 0, NULL, (void **)&small), 0);
	CU_ASSERT_EQUAL(annex_hdm_clear(h, small), -EINVAL);
	CU_ASSERT_EQUAL(annex_hdm_clear(h, held + 64), -EINVAL);
	CU_ASSERT_EQUAL(annex_hdm_clear(h, held + PAGE), -EINVAL);
	CU_ASSERT_EQUAL(annex_hdm_clear(h, h->m->base), -EINVAL);
	CU_ASSERT_EQUAL(annex_hdm_clear(h, h->m->base - PAGE), -EINVAL);
	CU_ASSERT_EQUAL(annex_hdm_clear(h, h->m->base + BYTES), -EINVAL);
	CU_ASSERT_EQUAL(annex_hdm_clear(h, held), 0); /* nothing to do */
	goes_bad(1 << 20, PAGE);
	sick.mend_err = -EACCES;
	CU_ASSERT_EQUAL(annex_hdm_clear(h, NULL), -EACCES);
	sick.err = -ENODEV;
	CU_ASSERT_EQUAL(annex_hdm_clear(h, NULL), -ENODEV);
	sick.err = sick.mend_err = 0;
	sick.ops.clear = NULL;
	CU_ASSERT_EQUAL(annex_hdm_clear(h, NULL), -EOPNOTSUPP);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "cannot be cleared"));
	/* Others cleared it, which only clearing brings up. */
	sick.ops.clear = mend;
	sick.nbad = 0;
	CU_ASSERT_EQUAL(annex_hdm_clear(h, NULL), 0);
	CU_ASSERT_FALSE(hdm_poisoned(h, 1 << 20, PAGE));
	annex_hdm_close(h);
}

static void a_table_is_mended_if_made_anew(void)
{
	struct annex_hdm *h;

	sick.nbad = 0;
	goes_bad(PAGE + 64, 64);
	goes_bad(1 << 20, PAGE);
	CU_ASSERT_EQUAL(open_anew(false, &h), -EIO);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "table is poisoned"));
	CU_ASSERT_EQUAL_FATAL(open_anew(true, &h), 0);
	CU_ASSERT_EQUAL(sick.nbad, 1);
	annex_hdm_close(h);
}

/* Report one more page with each call. */
static int tell_more(struct annex_medium *m)
{
	if (sick.nbad < 8)
		goes_bad((1 << 20) + sick.nbad * 5 * PAGE, PAGE);
	return tell(m);
}

static void *take_and_give(void *arg)
{
	struct annex_hdm *h = arg;
	bool right = true;
	void *small, *page;

	for (unsigned int i = 0; i < 1000 && right; i++) {
		right = !annex_hdm_alloc(h, 192, 0, NULL, &small) &&
			!annex_hdm_alloc(h, PAGE, 0, NULL, &page) && !annex_hdm_free(h, small) &&
			!annex_hdm_free(h, page);
	}
	return right ? h : NULL;
}

static void many_ask(void)
{
	struct annex_hdm *h = open_sick();
	pthread_t threads[4];
	void *p, *right;

	sick.ops.poison = tell_more;
	for (unsigned int i = 0; i < 4; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, take_and_give, h), 0);
	for (unsigned int i = 0; i < 4; i++) {
		pthread_join(threads[i], &right);
		CU_ASSERT_PTR_NOT_NULL(right);
	}
	CU_ASSERT_EQUAL(sick.nbad, 8);
	while (!annex_hdm_alloc(h, PAGE, PAGE, NULL, &p))
		CU_ASSERT_FALSE(is_bad(h, p, PAGE));
	annex_hdm_close(h);
}

UNIT_SUITE(hdm_poison, {"poison is left out", poison_is_left_out},
	   {"memory poisoned later is left out", later_poison_is_left_out},
	   {"small pieces of a page gone bad", small_pieces_of_a_page_gone_bad},
	   {"small pieces ask seldom", small_pieces_ask_seldom},
	   {"a medium that cannot say", a_medium_that_cannot_say}, {"many ask", many_ask},
	   {"a table gone bad", a_table_gone_bad}, {"free memory is mended", free_memory_is_mended},
	   {"pieces that are not mended", refused_pieces},
	   {"a table is mended if it is made anew", a_table_is_mended_if_made_anew})
