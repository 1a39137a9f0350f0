// SPDX-License-Identifier: MIT
/*
 * A directory that is a table: the memory that it takes, and entries that go with their lines.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include "cache/entry.h"
#include "cache_rig.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define LINE 512u
/* Sanitizers allocate memory of their own for accessed memory, so nothing can be measured. */
#define GETS (UNIT_SANITIZED ? 5000u : 90000u)

static uint64_t anonymous(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	unsigned long kib = 0;
	char row[256];

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	while (fgets(row, sizeof(row), f))
		if (sscanf(row, "RssAnon: %lu", &kib) == 1)
			break;
	fclose(f);
	return (uint64_t)kib << 10;
}

static void get_some(const struct annex_array *a, uint64_t *seed, unsigned int n)
{
	uint64_t word = 1;

	for (unsigned int i = 0; i < n; i++) {
		CU_ASSERT_EQUAL_FATAL(annex_array_get(a, random_next(seed) % a->count, &word), 0);
		CU_ASSERT_EQUAL(word, 0);
	}
}

/* Gets all over a file without blocks: the lines and a tenth, and the transfers. */
static void takes(uint64_t size, uint64_t bytes, uint32_t line)
{
	uint64_t seed = random_seed("directory"), most = anonymous() + bytes + bytes / 10;
	char path[UNIT_PATH], uri[UNIT_PATH + 32];
	struct rig r = {.ndevs = 1};
	struct annex_array a;

	most += 4u << 20;
	unit_tmpfile(path);
	CU_ASSERT_EQUAL_FATAL(truncate(path, (off_t)size), 0);
	snprintf(uri, sizeof(uri), "file:%s?readonly=1", path);
	CU_ASSERT_EQUAL_FATAL(annex_dev_open(uri, NULL, &r.devs[0]), 0);
	rig_cache(&r, bytes, line, ANNEX_STRIPE, 0);
	CU_ASSERT_EQUAL_FATAL(annex_array_init(&a, r.c, 0, 8, size / 8), 0);
	get_some(&a, &seed, 10000);
	CU_ASSERT(UNIT_SANITIZED || anonymous() < most);
	get_some(&a, &seed, GETS);
	CU_ASSERT(UNIT_SANITIZED || anonymous() < most);
	CU_ASSERT_EQUAL(annex_cache_destroy(r.c), 0);
	annex_dev_close(r.devs[0]);
	unlink(path);
}

static void takes_little_whatever_is_behind_it(void)
{
	takes(8ull << 40, 64u << 20, 4096);
	takes(1ull << 40, 64u << 20, 4096);
	takes(8ull << 40, 64u << 10, 512);
}

/* Lines that have entries, and lines that have slots. */
static void count(const struct annex_cache *c, uint32_t *entries, uint32_t *slots)
{
	*entries = *slots = 0;
	for (uint32_t at = 1; at < c->entries; at++)
		*entries += c->lines[at] != ENTRY_NO_LINE;
	for (uint32_t i = 0; i < c->nslots; i++)
		*slots += c->owner[i] < ANNEX_SLOT_TAKEN;
}

static void table(struct rig *r, const char *uri, uint32_t slots)
{
	rig_start(r, uri, slots, LINE);
	CU_ASSERT_PTR_NOT_NULL_FATAL(r->c->heads);
}

struct churn {
	struct rig r;
	uint64_t seed;
	unsigned int rounds;
	uint32_t bad;
};

#define FAILS(line) ((line) >= 500 && (line) < 1200)

static void use_line(struct churn *ch, uint64_t line)
{
	void *p;
	int err = annex_cache_pin(ch->r.c, line, 0, &p);

	if (err != -EBUSY && err != (FAILS(line) ? -EIO : 0))
		annex_atomic_add(&ch->bad, 1, ANNEX_RELAXED);
	if (err)
		return;
	if (*(uint64_t *)p != rig_word(0, line * LINE))
		annex_atomic_add(&ch->bad, 1, ANNEX_RELAXED);
	annex_cache_unpin(ch->r.c, line, 0);
}

static void use_group(struct churn *ch, uint64_t line)
{
	uint64_t lines[12];
	void *data[12];

	for (unsigned int k = 0; k < 12; k++)
		lines[k] = (line + k) % 2048;
	if (annex_cache_pin_group(ch->r.c, lines, 12, ANNEX_PIN_WRITE, data))
		return;
	for (unsigned int k = 0; k < 12; k++)
		if (*(uint64_t *)data[k] != rig_word(0, lines[k] * LINE))
			annex_atomic_add(&ch->bad, 1, ANNEX_RELAXED);
	annex_cache_unpin_group(ch->r.c, lines, 12, ANNEX_PIN_WRITE);
}

static void *use(void *arg)
{
	struct rig_thread *t = arg;
	struct churn *ch = t->arg;
	uint64_t seed = ch->seed + t->id;

	for (unsigned int i = 0; i < ch->rounds; i++) {
		uint64_t line = random_next(&seed) % 2048;
		struct annex_range ahead = {line / 2 * LINE, 4 * LINE};

		use_line(ch, line);
		if (i % 8 == 0 && annex_cache_prefetch(ch->r.c, &ahead, 1) < 0)
			annex_atomic_add(&ch->bad, 1, ANNEX_RELAXED);
		if (i % 8 == 4)
			use_group(ch, line);
		if (i % 64 == 63 && annex_cache_flush(ch->r.c, ahead.offset, ahead.len))
			annex_atomic_add(&ch->bad, 1, ANNEX_RELAXED);
	}
	return NULL;
}

/* Lines are used, reads of them fail, and some are read ahead for nothing. */
static void churn(unsigned int threads, unsigned int rounds)
{
	static struct churn ch;
	uint32_t entries, slots;

	ch.seed = random_seed("entries");
	ch.rounds = rounds;
	ch.bad = 0;
	table(&ch.r, "mem:1M", 16);
	rig_error(&ch.r, 0, ANNEX_NVM_READ, 500, 700, 0);
	rig_threads(threads, use, &ch);
	CU_ASSERT_EQUAL(ch.bad, 0);
	count(ch.r.c, &entries, &slots);
	CU_ASSERT_EQUAL(entries, slots);
	CU_ASSERT(ch.r.c->entries <= 16 + threads * ANNEX_GROUP);
	rig_close(&ch.r);
}

static void entries_go_with_their_lines(void)
{
	churn(1, 20000);
}

static void entries_go_with_the_lines_of_threads(void)
{
	churn(8, 2000);
}

/* More lines in one chain than a search without the lock passes. */
static void lines_of_one_chain(void)
{
	const uint32_t n = 2 * ENTRY_STEPS;
	uint64_t line[2 * ENTRY_STEPS], word;
	uint32_t entries, slots, found = 0;
	struct annex_array a;
	struct rig r;
	void *p;

	table(&r, "mem:16M", n);
	CU_ASSERT_EQUAL_FATAL(annex_array_init(&a, r.c, 0, 8, (16u << 20) / 8), 0);
	for (uint64_t i = 0; found < n && i < r.c->nlines; i++)
		if (annex_table_head(r.c, i) == annex_table_head(r.c, 1))
			line[found++] = i;
	CU_ASSERT_EQUAL_FATAL(found, n);
	for (unsigned int round = 0; round < 3; round++)
		for (uint32_t i = 0; i < n; i++) {
			CU_ASSERT_EQUAL_FATAL(annex_cache_pin(r.c, line[i], 0, &p), 0);
			CU_ASSERT_EQUAL(*(uint64_t *)p, rig_word(0, line[i] * LINE));
		}
	CU_ASSERT_EQUAL(rig_stats(&r).misses, n);
	CU_ASSERT_EQUAL(annex_cache_pin(r.c, 3, 0, &p), -EBUSY);
	for (uint32_t i = 0; i < n; i++) {
		CU_ASSERT_EQUAL(annex_array_get(&a, line[i] * LINE / 8 + 1, &word), 0);
		CU_ASSERT_EQUAL(word, rig_word(0, line[i] * LINE + 8));
	}
	count(r.c, &entries, &slots);
	CU_ASSERT(entries == n && slots == n);
	for (unsigned int round = 0; round < 3; round++)
		for (uint32_t i = 0; i < n; i++)
			annex_cache_unpin(r.c, line[(i * 7) % n], round ? 0 : ANNEX_PIN_WRITE);
	CU_ASSERT_EQUAL(annex_cache_flush(r.c, line[1] * LINE, LINE), 0);
	CU_ASSERT_EQUAL(rig_stats(&r).writebacks, 1);
	rig_close(&r);
}

static void without_an_entry_is_busy(void)
{
	uint32_t entries, slots, used;
	struct rig r;
	void *p;

	table(&r, "mem:1M", 16);
	CU_ASSERT_EQUAL_FATAL(annex_cache_pin(r.c, 1, 0, &p), 0);
	used = r.c->entries;
	r.c->entries = r.c->nentries;
	CU_ASSERT_EQUAL(annex_cache_pin(r.c, 2, 0, &p), -EBUSY);
	r.c->entries = used;
	annex_cache_unpin(r.c, 2, 0);
	annex_cache_unpin(r.c, 2, ANNEX_PIN_WRITE);
	CU_ASSERT_EQUAL(annex_cache_pin(r.c, 2, 0, &p), 0);
	CU_ASSERT_EQUAL(*(uint64_t *)p, rig_word(0, 2 * LINE));
	count(r.c, &entries, &slots);
	CU_ASSERT(entries == 2 && slots == 2);
	rig_close(&r);
}

UNIT_SUITE(cache_entry, {"takes little for any device", takes_little_whatever_is_behind_it},
	   {"entries go with their lines", entries_go_with_their_lines},
	   {"entries go with the lines of threads", entries_go_with_the_lines_of_threads},
	   {"lines of one chain", lines_of_one_chain},
	   {"without an entry is busy", without_an_entry_is_busy})
