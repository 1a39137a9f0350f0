// SPDX-License-Identifier: MIT
/*
 * The table of a range after a loss of power at any store, and when others write into it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <annex/log.h>
#include "tests/unit/hdm_rig.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define BYTES ANNEX_HDM_MIN
#define NAMES 12
#define TABLE (4096 * 2)

static uint64_t seed;

/* Which names there are; the bytes of each follow from its number. */
typedef uint32_t name_set;

static void name_of(unsigned int i, char name[8])
{
	snprintf(name, 8, "n%u", i);
}

static uint64_t bytes_of(unsigned int i)
{
	return 1 + i * 1500;
}

/* struct model - @before, @after: the names around the call that is under way. */
struct model {
	name_set before, after;
	uint64_t crashes;
};

/* The names in a range, which has nothing else in it. */
static name_set names_in(struct annex_hdm *h)
{
	struct annex_hdm_block b;
	uint64_t cursor = 0;
	name_set set = 0;

	while (annex_hdm_next(h, &cursor, &b) == 1) {
		unsigned int i = (unsigned int)strtoul(b.name + 1, NULL, 10);

		CU_ASSERT_FATAL(b.name[0] == 'n' && i < NAMES);
		CU_ASSERT_EQUAL(b.bytes, bytes_of(i));
		CU_ASSERT(!(set >> i & 1));
		set |= 1u << i;
	}
	return set;
}

/*
 * The power fails now: of the stores that have not been persisted, any may have reached the medium.
 */
static void crash(struct hdm_fake *f)
{
	struct model *m = f->ctx;
	uint64_t rest = random_next(&seed);
	struct hdm_fake *after = hdm_fake_make(f->m.bytes, f->image);
	struct annex_hdm *h = NULL;
	name_set found;

	for (uint64_t at = 0; at < TABLE; at += 8)
		if (rest % 3 == 0 || (rest % 3 == 1 && random_next(&seed) & 1))
			memcpy(after->m.base + at, f->m.base + at, 8);
	CU_ASSERT_EQUAL_FATAL(hdm_open_medium(&after->m, "after", NULL, false, &h), 0);
	found = names_in(h);
	CU_ASSERT(found == m->before || found == m->after);
	annex_hdm_close(h);
	m->crashes++;
}

/* Some names at once, of which some may be there: pieces that are replaced, all of them or none. */
static void publish_some(struct annex_hdm *h, struct model *m)
{
	struct annex_hdm_piece piece[3];
	unsigned int n = 0, want = 1 + (unsigned int)(random_next(&seed) % 3);
	char name[3][8];

	for (m->after = m->before; n < want; n++) {
		unsigned int i = (unsigned int)(random_next(&seed) % (NAMES / 3)) * 3 + n;

		name_of(i, name[n]);
		piece[n] = (struct annex_hdm_piece){NULL, bytes_of(i), name[n]};
		if (annex_hdm_alloc(h, bytes_of(i) > 9000 ? bytes_of(i) : 9000, 0, NULL,
				    &piece[n].ptr))
			break;
		m->after |= 1u << i;
	}
	if (n == want) {
		CU_ASSERT_EQUAL(annex_hdm_publish(h, piece, n, true), 0);
	} else {
		m->after = m->before;
	}
	while (n != want && n) {
		n--;
		CU_ASSERT_EQUAL(annex_hdm_free(h, piece[n].ptr), 0);
	}
	m->before = m->after;
}

static void one_call(struct annex_hdm *h, struct model *m, void **mine)
{
	unsigned int i = (unsigned int)(random_next(&seed) % NAMES);
	unsigned int k = (unsigned int)(random_next(&seed) % 4);
	struct annex_hdm_block b;
	char name[8];
	void *p;

	if (random_next(&seed) % 3 == 0) {
		CU_ASSERT_EQUAL(annex_hdm_free(h, mine[k]), 0);
		if (annex_hdm_alloc(h, 9000 + random_next(&seed) % 20000, 0, NULL, &mine[k]))
			mine[k] = NULL;
		return;
	}
	if (random_next(&seed) % 3 == 0) {
		publish_some(h, m);
		return;
	}
	name_of(i, name);
	m->after = m->before ^ 1u << i;
	if (m->after >> i & 1) {
		int err = annex_hdm_alloc(h, bytes_of(i), 0, name, &p);

		CU_ASSERT(!err || err == -ENOSPC);
		m->after = err ? m->before : m->after;
	} else {
		CU_ASSERT_EQUAL(annex_hdm_find(h, name, &b), 0);
		CU_ASSERT_EQUAL(annex_hdm_free(h, annex_hdm_at(h, b.offset)), 0);
	}
	m->before = m->after;
}

static void every_state_recovers(void)
{
	struct model m = {.crashes = 0};

	seed = random_seed("crash");
	for (int round = 0; round < 20; round++) {
		struct hdm_fake *f = hdm_fake_make(BYTES, NULL);
		void *mine[4] = {NULL};
		struct annex_hdm *h;

		m.before = m.after = 0;
		f->ctx = &m;
		f->step = crash;
		CU_ASSERT_EQUAL_FATAL(hdm_open_medium(&f->m, "fake", NULL, false, &h), 0);
		for (int i = 0; i < 60; i++)
			one_call(h, &m, mine);
		CU_ASSERT_EQUAL(hdm_rig_count(h) - !!mine[0] - !!mine[1] - !!mine[2] - !!mine[3],
				(unsigned int)__builtin_popcount(m.before));
		f->step = NULL;
		annex_hdm_close(h);
	}
	CU_ASSERT(m.crashes > 1000);
}

/* Completed calls survive a power loss. */
static void done_is_done(void)
{
	struct model m = {.before = 0};

	seed = random_seed("done");
	for (int round = 0; round < 50; round++) {
		struct hdm_fake *f = hdm_fake_make(BYTES, NULL), *after;
		void *mine[4] = {NULL};
		struct annex_hdm *h;

		m.before = m.after = 0;
		CU_ASSERT_EQUAL_FATAL(hdm_open_medium(&f->m, "fake", NULL, false, &h), 0);
		for (int i = 0; i < 30; i++)
			one_call(h, &m, mine);
		after = hdm_fake_make(BYTES, f->image);
		annex_hdm_close(h);
		CU_ASSERT_EQUAL_FATAL(hdm_open_medium(&after->m, "after", NULL, false, &h), 0);
		CU_ASSERT_EQUAL(names_in(h), m.before);
		annex_hdm_close(h);
	}
}

static int expected(int err)
{
	return err >= 0 || err == -EILSEQ || err == -ENOSPC || err == -EMFILE || err == -EEXIST ||
	       err == -EINVAL || err == -EPERM || err == -ENOENT || err == -EPROTONOSUPPORT;
}

/* A range with some names and some runs without, as an image. */
static void make_image(char *image)
{
	struct hdm_fake *f = hdm_fake_make(BYTES, NULL);
	struct annex_hdm *h;
	char name[8];
	void *p;

	CU_ASSERT_EQUAL_FATAL(hdm_open_medium(&f->m, "fake", NULL, false, &h), 0);
	for (unsigned int i = 0; i < NAMES / 2; i++) {
		name_of(i, name);
		CU_ASSERT_EQUAL(annex_hdm_alloc(h, bytes_of(i), 0, name, &p), 0);
		CU_ASSERT_EQUAL(annex_hdm_alloc(h, 9000, 0, NULL, &p), 0);
	}
	memcpy(image, f->image, BYTES);
	annex_hdm_close(h);
}

/* Whatever the calls say, they say it, and touch nothing outside. */
static void use(struct annex_hdm *h)
{
	struct annex_hdm_usage u;
	struct annex_hdm_block b;
	uint64_t cursor = 0;
	unsigned int n = 0;
	char name[8];
	void *p[4];

	for (unsigned int i = 0; i < 4; i++) {
		int err;

		name_of((unsigned int)(random_next(&seed) % NAMES), name);
		err = annex_hdm_alloc(h, 1 + random_next(&seed) % 30000, 0, i & 1 ? NULL : name,
				      &p[i]);
		CU_ASSERT(expected(err));
		if (err)
			p[i] = NULL;
		else
			memset(p[i], 1, 1);
		err = annex_hdm_find(h, name, &b);
		CU_ASSERT(expected(err));
		if (!err)
			CU_ASSERT(b.bytes <= BYTES && b.offset <= BYTES - b.bytes);
	}
	while (annex_hdm_next(h, &cursor, &b) == 1 && n++ < 100)
		CU_ASSERT(b.bytes <= BYTES && b.offset <= BYTES - b.bytes);
	CU_ASSERT(n < 100);
	CU_ASSERT(expected(annex_hdm_get_usage(h, &u)));
	for (unsigned int i = 0; i < 4; i++)
		CU_ASSERT(expected(annex_hdm_free(h, p[i])));
}

static void flip(char *table)
{
	uint64_t n = 1 + random_next(&seed) % 4;

	while (n--) {
		uint64_t at = random_next(&seed) % TABLE;

		/* Words and names more often than the empty rest. */
		if (random_next(&seed) % 4)
			at = at % 2 ? 4096 + at % (64 * 8) : at % 64;
		table[at] ^= (char)(1u << random_next(&seed) % 8);
	}
}

static void damaged_before_it_is_opened(void)
{
	unsigned int opened = 0, rejected = 0;
	char *image = malloc(BYTES);

	seed = random_seed("damaged");
	make_image(image);
	for (int round = 0; round < 1000; round++) {
		struct hdm_fake *f = hdm_fake_make(BYTES, image);
		struct annex_hdm *h = NULL;
		int err;

		flip(f->m.base);
		err = hdm_open_medium(&f->m, "fake", NULL, false, &h);
		CU_ASSERT(expected(err));
		opened += !err;
		rejected += !!err;
		if (err)
			continue;
		use(h);
		annex_hdm_close(h);
	}
	/* Most damage is detected: only granules without a word may have any contents. */
	CU_ASSERT(rejected > 500);
	CU_ASSERT(opened > 10);
	free(image);
}

/* A word that is right by its check, but not among the others. */
static void forge(struct annex_hdm *h)
{
	struct hdm_run r = {
		.kind = (enum hdm_kind)(random_next(&seed) % 6),
		.at = (uint32_t)(random_next(&seed) % h->t.g.granules),
		.len = (uint32_t)(random_next(&seed) >> random_next(&seed) % 64 & 0xffffff),
		.index = (uint32_t)(random_next(&seed) >> random_next(&seed) % 64 & 0xffff)};
	uint32_t hint = h->t.hint;

	CU_ASSERT_EQUAL(hdm_run_commit(&h->t, &r), 0);
	h->t.hint = hint;
}

static void damaged_while_it_is_open(void)
{
	char *image = malloc(BYTES);

	seed = random_seed("open");
	make_image(image);
	for (int round = 0; round < 600; round++) {
		struct hdm_fake *f = hdm_fake_make(BYTES, image);
		struct annex_hdm *h;

		CU_ASSERT_EQUAL_FATAL(hdm_open_medium(&f->m, "fake", NULL, false, &h), 0);
		for (int i = 0; i < 6; i++) {
			if (random_next(&seed) & 1)
				flip(h->m->base);
			else
				forge(h);
			use(h);
		}
		annex_hdm_close(h);
	}
	free(image);
}

static void forged_before_it_is_opened(void)
{
	char *image = malloc(BYTES);
	unsigned int rejected = 0;

	seed = random_seed("forged");
	make_image(image);
	for (int round = 0; round < 600; round++) {
		struct hdm_fake *f = hdm_fake_make(BYTES, image);
		struct annex_hdm *h;
		int err;

		CU_ASSERT_EQUAL_FATAL(hdm_open_medium(&f->m, "fake", NULL, false, &h), 0);
		forge(h);
		memcpy(image, f->image, BYTES);
		annex_hdm_close(h);
		f = hdm_fake_make(BYTES, image);
		err = hdm_open_medium(&f->m, "fake", NULL, false, &h);
		CU_ASSERT(expected(err));
		rejected += !!err;
		if (!err) {
			use(h);
			annex_hdm_close(h);
		}
		make_image(image);
	}
	CU_ASSERT(rejected > 60);
	free(image);
}

static void opens_with(const char *image, int want, const char *words)
{
	struct hdm_fake *f = hdm_fake_make(BYTES, image);
	struct annex_hdm *h = NULL;

	CU_ASSERT_EQUAL(hdm_open_medium(&f->m, "fake", NULL, false, &h), want);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), words));
	if (h)
		annex_hdm_close(h);
}

static void heads_that_are_refused(void)
{
	struct hdm_head *head;
	char *image = malloc(2 * BYTES);
	struct hdm_fake *f;
	struct annex_hdm *h = NULL;

	make_image(image);
	head = (void *)image;
	head->version++;
	opens_with(image, -EILSEQ, "head of the table");
	/* Its check again: as another version would have it. */
	head->check = 0x9e3779b97f4a7c15ull * head->version ^ HDM_MAGIC ^ head->bytes;
	head->check = (head->check ^ head->check >> 31) * 0xbf58476d1ce4e5b9ull;
	head->check ^= head->check >> 29;
	opens_with(image, -EPROTONOSUPPORT, "version 2");
	make_image(image);
	head->magic ^= 1ull << 63;
	opens_with(image, -EILSEQ, "format=1");
	make_image(image);
	memset(image + BYTES, 0, BYTES);
	f = hdm_fake_make(2 * BYTES, image);
	CU_ASSERT_EQUAL(hdm_open_medium(&f->m, "fake", NULL, false, &h), -EILSEQ);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "made for 262144"));
	/* Within the run of granules 3 to 5. */
	image[4096 + 4 * 8] = 1;
	opens_with(image, -EILSEQ, "damaged at granule 4");
	make_image(image);
	/* One that was not finished is made anew. */
	head->magic = HDM_UNFINISHED;
	f = hdm_fake_make(BYTES, image);
	CU_ASSERT_EQUAL_FATAL(hdm_open_medium(&f->m, "fake", NULL, false, &h), 0);
	CU_ASSERT_EQUAL(hdm_rig_count(h), 0);
	annex_hdm_close(h);
	/* Where contents mean nothing, garbage is nothing. */
	make_image(image);
	head->check++;
	f = hdm_fake_make(BYTES, image);
	f->m.scratch = true;
	CU_ASSERT_EQUAL_FATAL(hdm_open_medium(&f->m, "fake", NULL, false, &h), 0);
	CU_ASSERT_EQUAL(hdm_rig_count(h), 0);
	annex_hdm_close(h);
	free(image);
}

/* Two words that are right, and whose slots are right, but of the same name. */
static void one_name_twice(void)
{
	struct hdm_fake *f = hdm_fake_make(BYTES, NULL);
	struct hdm_run r = {.kind = HDM_NAMED, .len = 1};
	char *image = malloc(BYTES);
	struct annex_hdm *h;

	CU_ASSERT_EQUAL_FATAL(hdm_open_medium(&f->m, "fake", NULL, false, &h), 0);
	for (r.at = 10; r.at < 12; r.at++) {
		CU_ASSERT_EQUAL(hdm_name_put(&h->t, "twin", 1, r.at, &r.index), 0);
		CU_ASSERT_EQUAL(hdm_run_commit(&h->t, &r), 0);
	}
	memcpy(image, f->image, BYTES);
	annex_hdm_close(h);
	opens_with(image, -EILSEQ, "two pieces are called twin");
	free(image);
}

UNIT_SUITE(hdm_crash, {"one name twice", one_name_twice},
	   {"every state recovers", every_state_recovers}, {"done is done", done_is_done},
	   {"damaged before it is opened", damaged_before_it_is_opened},
	   {"damaged while it is open", damaged_while_it_is_open},
	   {"forged before it is opened", forged_before_it_is_opened},
	   {"heads that are refused", heads_that_are_refused})
