// SPDX-License-Identifier: MIT
/*
 * Arrays of rows: elements of any size at any offset, which may span lines.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cache/cache.h"
#include "cache_rig.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define THREADS 6
#define MOST 80000u /* bytes that one call moves here */

/* The first byte of the array, in the memory that it should equal. */
struct twin {
	struct rig r;
	struct annex_array a;
	char *plain;
	uint64_t size;
	uint64_t seed;
	uint64_t idx[300];
	char vals[MOST], out[MOST];
};

/* Elements of at most MOST bytes together, also the same one several times. */
static unsigned int choose(struct twin *t)
{
	uint64_t within = random_next(&t->seed) & 1 || t->a.count < 20 ? t->a.count : 20;
	uint32_t most = MOST / t->a.elem < 300 ? MOST / t->a.elem : 300;
	unsigned int n = (unsigned int)(random_next(&t->seed) % (most + 1));

	for (unsigned int k = 0; k < n; k++)
		t->idx[k] = random_next(&t->seed) % within;
	return n;
}

static void scatter(struct twin *t, unsigned int n)
{
	size_t elem = t->a.elem;

	random_fill(&t->seed, t->vals, n * elem);
	if (n == 1)
		CU_ASSERT_EQUAL_FATAL(annex_array_set(&t->a, t->idx[0], t->vals), 0);
	if (n != 1)
		CU_ASSERT_EQUAL_FATAL(annex_array_scatter(&t->a, t->idx, n, t->vals), 0);
	for (unsigned int k = 0; k < n; k++)
		memcpy(t->plain + t->idx[k] * elem, t->vals + k * elem, elem);
}

static void gather(struct twin *t, unsigned int n)
{
	size_t elem = t->a.elem;

	if (n == 1)
		CU_ASSERT_EQUAL_FATAL(annex_array_get(&t->a, t->idx[0], t->out), 0);
	if (n != 1)
		CU_ASSERT_EQUAL_FATAL(annex_array_gather(&t->a, t->idx, n, t->out), 0);
	for (unsigned int k = 0; k < n; k++)
		CU_ASSERT_EQUAL_FATAL(memcmp(t->out + k * elem, t->plain + t->idx[k] * elem, elem),
				      0);
}

/* A loop over spans from a random element, to a random one. */
static void spans(struct twin *t)
{
	static const unsigned int kinds[] = {0, ANNEX_PIN_WRITE, ANNEX_PIN_NEW};
	unsigned int flags = kinds[random_next(&t->seed) % 3];
	uint64_t i = random_next(&t->seed) % t->a.count;
	uint64_t end = i + 1 + random_next(&t->seed) % (t->a.count - i);
	struct annex_span s;

	if (end - i > MOST / t->a.elem)
		end = i + MOST / t->a.elem;
	for (; i < end; i += s.count) {
		char *plain = t->plain + i * t->a.elem;
		uint64_t byte = t->a.base + i * t->a.elem, line = t->r.c->line;
		int err = annex_array_span(&t->a, i, end - i, flags, &s);

		if (flags && (byte + t->a.elem - 1) / line - byte / line >= t->r.c->nslots) {
			CU_ASSERT_EQUAL_FATAL(err, -EBUSY);
			return;
		}
		CU_ASSERT_EQUAL_FATAL(err, 0);
		CU_ASSERT_FATAL(s.count > 0 && s.count <= end - i);
		if (flags) {
			random_fill(&t->seed, s.data, s.count * t->a.elem);
			memcpy(plain, s.data, s.count * t->a.elem);
		} else {
			CU_ASSERT_EQUAL_FATAL(memcmp(s.data, plain, s.count * t->a.elem), 0);
		}
		annex_array_span_end(&t->a, &s);
		annex_array_span_end(&t->a, &s);
	}
}

static void step(struct twin *t)
{
	uint64_t i = random_next(&t->seed) % t->a.count;

	switch (random_next(&t->seed) % 8) {
	case 0:
		spans(t);
		break;
	case 1:
		CU_ASSERT(annex_array_prefetch(&t->a, i,
					       random_next(&t->seed) % (t->a.count - i + 1)) >= 0);
		break;
	case 2:
		scatter(t, choose(t));
		break;
	case 3:
		gather(t, choose(t));
		break;
	default:
		t->idx[0] = i;
		(i & 1 ? scatter : gather)(t, 1);
	}
}

static unsigned int pins(const struct annex_cache *c)
{
	uint64_t n = c->heads ? c->entries : c->nlines;
	unsigned int refs = 0;

	for (uint64_t at = 0; at < n; at++)
		refs += (unsigned int)(c->dir[at] & ANNEX_LINE_REFS);
	return refs;
}

/* All bytes of the devices, through another cache. */
static void check_all(struct twin *t, enum annex_layout layout, const char *all)
{
	uint32_t line = t->r.c->line;
	struct annex_array a;

	CU_ASSERT_EQUAL(pins(t->r.c), 0);
	CU_ASSERT_EQUAL(annex_cache_destroy(t->r.c), 0);
	rig_cache(&t->r, 64 * line, line, layout, t->size);
	CU_ASSERT_EQUAL_FATAL(annex_array_init(&a, t->r.c, 0, 1, t->size), 0);
	for (uint64_t at = 0; at < t->size;) {
		struct annex_span s;

		CU_ASSERT_EQUAL_FATAL(annex_array_span(&a, at, 0, 0, &s), 0);
		CU_ASSERT_EQUAL_FATAL(memcmp(s.data, all + at, s.count), 0);
		at += s.count;
		annex_array_span_end(&a, &s);
	}
}

/* A random array over devices of the same size, and the same operations on plain memory. */
static void like_plain_memory(struct twin *t, unsigned int ndevs, enum annex_layout layout)
{
	static const uint32_t sizes[] = {1, 3, 8, 12, 64, 400, 512, 1536, 4096, 8192, 40000};
	uint32_t line = 512u << random_next(&t->seed) % 4;
	uint32_t slots = 2u << random_next(&t->seed) % 8;
	uint32_t elem = random_next(&t->seed) & 1 ? sizes[random_next(&t->seed) % 11]
						  : 1 + (uint32_t)(random_next(&t->seed) % 5000);
	uint64_t base = random_next(&t->seed) % 5000, count;
	char *all;

	rig_open(&t->r, ndevs, "mem:64K", NULL);
	t->size = (layout == ANNEX_STRIPE ? ndevs : 1) * 65536ull -
		  512 * (random_next(&t->seed) & 1);
	rig_cache(&t->r, slots * line, line, layout, t->size);
	count = (t->size - base) / elem;
	CU_ASSERT_EQUAL_FATAL(annex_array_init(&t->a, t->r.c, base, elem, count), 0);
	all = malloc(t->size);
	CU_ASSERT_PTR_NOT_NULL_FATAL(all);
	for (uint64_t at = 0; at < t->size; at += line) {
		unsigned int dev = layout == ANNEX_STRIPE ? at / line % ndevs : 0;
		uint64_t there = layout == ANNEX_STRIPE ? at / line / ndevs * line : at;
		uint32_t len = t->size - at < line ? (uint32_t)(t->size - at) : line;

		if (layout == ANNEX_REPLICA)
			for (unsigned int d = 1; d < ndevs; d++) {
				rig_read(&t->r, 0, there, all + at, len);
				rig_write(&t->r, d, there, all + at, len);
			}
		rig_read(&t->r, dev, there, all + at, len);
	}
	t->plain = all + base;
	for (unsigned int i = 0; count && i < 60; i++)
		step(t);
	check_all(t, layout, all);
	free(all);
	rig_close(&t->r);
}

static void rows_are_like_plain_memory(void)
{
	static struct twin t;

	t.seed = random_seed("rows");
	for (unsigned int i = 0; i < 60; i++) {
		like_plain_memory(&t, 1, ANNEX_STRIPE);
		like_plain_memory(&t, 3, ANNEX_STRIPE);
		like_plain_memory(&t, 2, ANNEX_REPLICA);
	}
}

static void bounds(void)
{
	uint64_t idx[3] = {0, 10, 5};
	struct annex_span span;
	struct annex_array a;
	char row[3 * 400] = {0}, was[400];
	struct rig r;

	rig_start(&r, "mem:1M", 64, 512);
	CU_ASSERT_EQUAL(annex_array_init(&a, r.c, 0, 0, 1), -EINVAL);
	CU_ASSERT_EQUAL(annex_array_init(&a, r.c, 128, 400, 2622), -ERANGE);
	CU_ASSERT_EQUAL(annex_array_init(&a, r.c, 128, 400, UINT64_MAX / 400), -ERANGE);
	CU_ASSERT_EQUAL(annex_array_init(&a, r.c, 128, 400, UINT64_MAX / 400 + 1), -ERANGE);
	CU_ASSERT_EQUAL(annex_array_init(&a, r.c, UINT64_MAX - 399, 400, 1), -ERANGE);
	CU_ASSERT_EQUAL(annex_array_init(&a, r.c, 1, 1 << 20, 1), -ERANGE);
	CU_ASSERT_EQUAL(annex_array_init(&a, r.c, 0, 1 << 20, 1), 0);
	CU_ASSERT_EQUAL(annex_array_init(&a, r.c, 0, UINT32_MAX, 0), 0);
	CU_ASSERT_EQUAL(annex_array_get(&a, 0, row), -ERANGE);
	CU_ASSERT_EQUAL(annex_array_init(&a, r.c, 128, 400, 2621), 0);
	CU_ASSERT_EQUAL(annex_array_get(&a, 2620, row), 0);
	CU_ASSERT_EQUAL(annex_array_init(&a, r.c, 128, 400, 10), 0);
	CU_ASSERT_EQUAL(annex_array_get(&a, 0, was), 0);
	CU_ASSERT_EQUAL(*(uint64_t *)(void *)was, rig_word(0, 128));
	CU_ASSERT_EQUAL(annex_array_get(&a, 10, row), -ERANGE);
	CU_ASSERT_EQUAL(annex_array_get(&a, UINT64_MAX / 400 + 1, row), -ERANGE);
	CU_ASSERT_EQUAL(annex_array_set(&a, 10, row), -ERANGE);
	CU_ASSERT_EQUAL(annex_array_span(&a, 10, 0, 0, &span), -ERANGE);
	CU_ASSERT_EQUAL(annex_array_prefetch(&a, 5, 6), -ERANGE);
	CU_ASSERT_EQUAL(annex_array_gather(&a, idx, 3, row), -ERANGE);
	memset(row, 0x5a, sizeof(row));
	CU_ASSERT_EQUAL(annex_array_scatter(&a, idx, 3, row), -ERANGE);
	CU_ASSERT_EQUAL(annex_array_get(&a, 0, row), 0);
	CU_ASSERT_EQUAL(memcmp(row, was, 400), 0);
	rig_close(&r);
}

static void additions_need_aligned_elements(void)
{
	struct annex_array a;
	uint32_t was;
	struct rig r;

	rig_start(&r, "mem:1M", 64, 512);
	CU_ASSERT_EQUAL_FATAL(annex_array_init(&a, r.c, 2, 4, 100), 0);
	CU_ASSERT_EQUAL(annex_array_add_u32(&a, 0, 1, &was), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "byte 2"));
	CU_ASSERT_EQUAL_FATAL(annex_array_init(&a, r.c, 4, 8, 100), 0);
	CU_ASSERT_EQUAL(annex_array_add_u64(&a, 0, 1, NULL), -EINVAL);
	CU_ASSERT_EQUAL_FATAL(annex_array_init(&a, r.c, 4, 4, 100), 0);
	CU_ASSERT_EQUAL(annex_array_add_u32(&a, 0, 1, NULL), 0);
	rig_close(&r);
}

/* Rows of one element a span where they cross lines, and of many elsewhere. */
static void a_loop_over_spans(void)
{
	uint64_t i = 0, copies = 0;
	struct annex_array a;
	struct annex_span s;
	struct rig r;
	char row[400];

	rig_start(&r, "mem:1M", 256, 4096);
	CU_ASSERT_PTR_NULL_FATAL(r.c->heads);
	CU_ASSERT_EQUAL_FATAL(annex_array_init(&a, r.c, 128, 400, 100), 0);
	for (; i < 100; i += s.count) {
		uint64_t off = (128 + i * 400) % 4096, whole = (4096 - off) / 400;

		CU_ASSERT_EQUAL_FATAL(annex_array_span(&a, i, 0, ANNEX_PIN_WRITE, &s), 0);
		copies += !whole;
		CU_ASSERT_EQUAL(s.count, !whole ? 1 : whole < 100 - i ? whole : 100 - i);
		CU_ASSERT_EQUAL((uintptr_t)s.data % 16, 0);
		memset(s.data, 0x11, 400);
		annex_array_span_end(&a, &s);
	}
	CU_ASSERT_EQUAL(copies, 9);
	CU_ASSERT_EQUAL(pins(r.c), 0);
	CU_ASSERT_EQUAL(annex_array_get(&a, 9, row), 0);
	CU_ASSERT(row[0] == 0x11 && row[399] == 0x11);
	/* A copy for reading pins nothing, and one for writing all its lines. */
	CU_ASSERT_EQUAL_FATAL(annex_array_span(&a, 9, 0, 0, &s), 0);
	CU_ASSERT_EQUAL(pins(r.c), 0);
	annex_array_span_end(&a, &s);
	CU_ASSERT_EQUAL_FATAL(annex_array_span(&a, 9, 0, ANNEX_PIN_WRITE, &s), 0);
	CU_ASSERT_EQUAL(pins(r.c), 2);
	annex_array_span_end(&a, &s);
	rig_close(&r);
}

static void elements_of_more_lines_than_slots(void)
{
	static char in[100000], out[100000];
	struct annex_array a;
	struct annex_span s;
	uint64_t seed = 1;
	struct rig r;

	rig_start(&r, "mem:1M", 2, 512);
	CU_ASSERT_EQUAL_FATAL(annex_array_init(&a, r.c, 77, 100000, 10), 0);
	random_fill(&seed, in, sizeof(in));
	CU_ASSERT_EQUAL(annex_array_set(&a, 3, in), 0);
	CU_ASSERT_EQUAL(annex_array_get(&a, 3, out), 0);
	CU_ASSERT_EQUAL(memcmp(in, out, sizeof(in)), 0);
	CU_ASSERT_EQUAL_FATAL(annex_array_span(&a, 3, 0, 0, &s), 0);
	CU_ASSERT_EQUAL(memcmp(in, s.data, sizeof(in)), 0);
	annex_array_span_end(&a, &s);
	CU_ASSERT_EQUAL(annex_array_span(&a, 3, 0, ANNEX_PIN_WRITE, &s), -EBUSY);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "196 lines"));
	rig_close(&r);
}

static void hits_and_bytes_asked_are_counted(void)
{
	uint64_t idx[20];
	static char out[20 * 400];
	struct annex_array a;
	struct annex_span s;
	struct rig r;

	rig_start(&r, "mem:1M", 256, 4096);
	CU_ASSERT_EQUAL_FATAL(annex_array_init(&a, r.c, 128, 400, 1000), 0);
	for (unsigned int i = 0; i < 20; i++)
		idx[i] = i;
	CU_ASSERT_EQUAL(annex_array_gather(&a, idx, 20, out), 0);
	CU_ASSERT_EQUAL(rig_stats(&r).misses, 2);
	CU_ASSERT_EQUAL(rig_stats(&r).hits, 0);
	CU_ASSERT_EQUAL(annex_array_gather(&a, idx, 20, out), 0);
	CU_ASSERT_EQUAL(rig_stats(&r).hits, 21); /* element 9 is in two lines */
	CU_ASSERT_EQUAL(annex_array_get(&a, 9, out), 0);
	CU_ASSERT_EQUAL(rig_stats(&r).hits, 23);
	CU_ASSERT_EQUAL(annex_array_set(&a, 9, out), 0);
	CU_ASSERT_EQUAL(annex_array_span(&a, 9, 0, 0, &s), 0);
	annex_array_span_end(&a, &s);
	CU_ASSERT_EQUAL(annex_array_span(&a, 9, 0, ANNEX_PIN_WRITE, &s), 0);
	annex_array_span_end(&a, &s);
	CU_ASSERT_EQUAL(rig_stats(&r).bytes_asked, (20 + 20 + 4) * 400);
	CU_ASSERT_EQUAL(rig_stats(&r).bytes_read, 2 * 4096);
	rig_close(&r);
}

/* The third of an element's lines cannot be read. */
static void errors_inside_of_an_element(void)
{
	uint64_t idx[3] = {1, 0, 2};
	static char row[3 * 2048];
	struct annex_array a;
	struct annex_span s;
	struct rig r;

	rig_start(&r, "mem:1M", 512, 512);
	CU_ASSERT_PTR_NULL_FATAL(r.c->heads);
	CU_ASSERT_EQUAL_FATAL(annex_array_init(&a, r.c, 8, 2048, 100), 0);
	rig_error(&r, 0, ANNEX_NVM_READ, 2, 1, 0);
	CU_ASSERT_EQUAL(annex_array_get(&a, 0, row), -EIO);
	CU_ASSERT_EQUAL(annex_array_set(&a, 0, row), -EIO);
	CU_ASSERT_EQUAL(annex_array_gather(&a, idx, 3, row), -EIO);
	CU_ASSERT_EQUAL(annex_array_scatter(&a, idx, 3, row), -EIO);
	CU_ASSERT_EQUAL(annex_array_span(&a, 0, 0, 0, &s), -EIO);
	CU_ASSERT_EQUAL(annex_array_span(&a, 0, 0, ANNEX_PIN_WRITE, &s), -EIO);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "line 2 "));
	CU_ASSERT_EQUAL(annex_array_get(&a, 1, row), 0);
	CU_ASSERT_EQUAL(pins(r.c), 0);
	rig_close(&r);
}

/* Return: how many calls were not refused as they should be. */
static int in_child(const struct annex_array *a, struct annex_span *open)
{
	uint64_t idx[2] = {2, 9};
	struct annex_span s;
	char row[2 * 400] = {0};
	int wrong = (annex_array_get(a, 9, row) != -ECHILD) +
		    (annex_array_set(a, 9, row) != -ECHILD) +
		    (annex_array_gather(a, idx, 2, row) != -ECHILD) +
		    (annex_array_scatter(a, idx, 2, row) != -ECHILD) +
		    (annex_array_span(a, 9, 0, 0, &s) != -ECHILD) +
		    (annex_array_span(a, 9, 0, ANNEX_PIN_WRITE, &s) != -ECHILD) +
		    (annex_array_prefetch(a, 9, 1) != -ECHILD);

	annex_array_span_end(a, open);
	return wrong;
}

static void a_child_is_refused(void)
{
	struct annex_array a;
	struct annex_span s;
	int status = 1;
	char row[400];
	struct rig r;
	pid_t pid;

	rig_start(&r, "mem:1M", 256, 4096);
	CU_ASSERT_EQUAL_FATAL(annex_array_init(&a, r.c, 128, 400, 1000), 0);
	CU_ASSERT_EQUAL_FATAL(annex_array_span(&a, 9, 0, ANNEX_PIN_WRITE, &s), 0);
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(in_child(&a, &s));
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT_EQUAL(status, 0);
	memset(s.data, 3, 400);
	annex_array_span_end(&a, &s);
	CU_ASSERT_EQUAL(annex_array_get(&a, 9, row), 0);
	CU_ASSERT(row[0] == 3 && row[399] == 3);
	CU_ASSERT_EQUAL(pins(r.c), 0);
	rig_close(&r);
}

struct shared {
	struct rig r;
	struct annex_array a;
	uint64_t seed;
	uint64_t same; /* rows that all threads write, with equal bytes; others have owners */
	uint32_t bad;
};

#define ROW 700u /* the most bytes of a row here */
#define ROWS 60u /* in a batch */

static void stamp(char *row, uint32_t elem, uint64_t i, unsigned int version)
{
	for (uint32_t k = 0; k < elem; k++)
		row[k] = (char)(i * 7 + k + version * 31);
}

static void verify(struct shared *s, const char *row, uint64_t i, unsigned int version)
{
	char right[ROW];

	stamp(right, s->a.elem, i, version);
	if (memcmp(row, right, s->a.elem))
		annex_atomic_add(&s->bad, 1, ANNEX_RELAXED);
}

static void must(struct shared *s, int err)
{
	if (err)
		annex_atomic_add(&s->bad, 1, ANNEX_RELAXED);
}

/* Rows that all threads write. */
static void use_same(struct shared *s, uint64_t *seed)
{
	static _Thread_local char rows[ROWS * ROW];
	unsigned int n = 1 + (unsigned int)(random_next(seed) % ROWS);
	uint64_t idx[ROWS];

	for (unsigned int k = 0; k < n; k++) {
		idx[k] = random_next(seed) % s->same;
		stamp(rows + k * s->a.elem, s->a.elem, idx[k], 0);
	}
	if (random_next(seed) % 3 == 0)
		must(s, annex_array_scatter(&s->a, idx, n, rows));
	must(s, annex_array_gather(&s->a, idx, n, rows));
	for (unsigned int k = 0; k < n; k++)
		verify(s, rows + k * s->a.elem, idx[k], 0);
}

/* A row of its own, between rows of other threads in the same lines. */
static void use_own(struct shared *s, uint64_t *seed, unsigned int id, uint8_t *versions)
{
	uint64_t own = random_next(seed) % ((s->a.count - s->same) / THREADS);
	uint64_t i = s->same + own * THREADS + id;
	struct annex_span span;
	char row[ROW];

	must(s, annex_array_get(&s->a, i, row));
	verify(s, row, i, versions[own]);
	stamp(row, s->a.elem, i, ++versions[own]);
	if (random_next(seed) & 1) {
		must(s, annex_array_set(&s->a, i, row));
		return;
	}
	while (annex_array_span(&s->a, i, 1, ANNEX_PIN_WRITE, &span) == -EBUSY)
		;
	memcpy(span.data, row, s->a.elem);
	annex_array_span_end(&s->a, &span);
}

static void *use(void *arg)
{
	struct rig_thread *t = arg;
	struct shared *s = t->arg;
	uint64_t seed = s->seed + t->id;
	uint8_t versions[1000] = {0};

	for (unsigned int round = 0; round < (UNIT_SANITIZED ? 40 : 150); round++) {
		use_same(s, &seed);
		use_own(s, &seed, t->id, versions);
	}
	return NULL;
}

static void threads(const char *uri, uint64_t slots, uint64_t base, uint32_t elem)
{
	static struct shared s;
	char row[ROW];

	memset(&s, 0, sizeof(s));
	s.seed = random_seed("row threads");
	rig_start(&s.r, uri, slots, 512);
	CU_ASSERT_EQUAL_FATAL(annex_array_init(&s.a, s.r.c, base, elem, 300), 0);
	s.same = 60;
	for (uint64_t i = 0; i < s.a.count; i++) {
		stamp(row, elem, i, 0);
		CU_ASSERT_EQUAL_FATAL(annex_array_set(&s.a, i, row), 0);
	}
	rig_threads(THREADS, use, &s);
	CU_ASSERT_EQUAL(s.bad, 0);
	CU_ASSERT_EQUAL(pins(s.r.c), 0);
	rig_close(&s.r);
}

static void threads_under_eviction(void)
{
	threads("mem:256K", 30, 128, 400);
	threads("mem:256K", 20, 3, 700);
	threads("mem:256K", 20, 2, 4);
}

static void threads_with_everything_cached(void)
{
	threads("mem:256K", 512, 128, 400);
	threads("mem:1M", 512, 128, 400);
}

UNIT_SUITE(array_rows, {"rows are like plain memory", rows_are_like_plain_memory},
	   {"bounds", bounds}, {"additions need aligned elements", additions_need_aligned_elements},
	   {"a loop over spans", a_loop_over_spans},
	   {"elements of more lines than slots", elements_of_more_lines_than_slots},
	   {"hits and bytes asked are counted", hits_and_bytes_asked_are_counted},
	   {"errors inside of an element", errors_inside_of_an_element},
	   {"a child is refused", a_child_is_refused},
	   {"threads under eviction", threads_under_eviction},
	   {"threads with everything cached", threads_with_everything_cached})
