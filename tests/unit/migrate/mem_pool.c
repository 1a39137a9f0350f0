// SPDX-License-Identifier: MIT
/*
 * Accesses, locks, pins and forks of a program while pages of its tensors are moved, in private
 * memory (pool.h). With a file the results are the same, except where a test says so.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/io_uring.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <annex/detail/atomic.h>
#include "tests/unit/mem_rig.h"
#include "migrate/request.h"
#include "migrate/space.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define PAGE ANNEX_MEM_PAGE
#ifndef UFFDIO_MOVE
#define UFFDIO_MOVE _IOC(_IOC_READ | _IOC_WRITE, UFFDIO, 0x05, 5 * sizeof(int64_t))
#endif
#define WRITERS 6u
#define WRITES 5000u
#define WORDS (PAGE / sizeof(uint64_t))

static bool all_are(const char *p, uint64_t bytes, char value)
{
	for (uint64_t i = 0; i < bytes; i += 64)
		if (p[i] != value)
			return false;
	return true;
}

/* struct writer - A thread that alone counts word @word of each page. */
struct writer {
	struct mem_rig *r;
	uint64_t *p;
	uint32_t n, word;
	uint64_t wrong;
};

static void *count_up(void *arg)
{
	struct writer *w = arg;
	struct want save = {.to = ANNEX_TIER_SSD, .keep = true, .most = UINT32_MAX};
	uint64_t state = w->word + 1, *counts = calloc(w->n, sizeof(*counts));

	for (uint32_t i = 0; i < WRITES; i++) {
		uint32_t page = random_next(&state) % w->n;
		uint64_t *at = &w->p[page * WORDS + w->word];

		w->wrong += *at != counts[page];
		if (i % 3)
			*at = ++counts[page];
		if (i % 500 == 0)
			annex_prefetch(w->r->space, w->p + random_next(&state) % w->n * WORDS, PAGE,
				       0, NULL);
		if (i % 300 == 0)
			annex_move_begin(w->r->space, w->p + random_next(&state) % w->n * WORDS,
					 PAGE, &save, NULL);
		if (i % 700 == 0)
			annex_pre_evict(w->r->space, w->p + random_next(&state) % w->n * WORDS,
					PAGE, ANNEX_TIER_HOST + i % 2 * ANNEX_TIER_SSD, NULL);
	}
	for (uint32_t i = 0; i < w->n; i++)
		w->wrong += w->p[i * WORDS + w->word] != counts[i];
	free(counts);
	return NULL;
}

/* A write at any time between a page's arrival and its leaving is in the page when it returns, also
 * if the page has been saved before. */
static void no_write_is_lost(void)
{
	struct annex_space_opts opts = {.device = MIB, .host = MIB, .fault_bytes = PAGE};
	struct writer writers[WRITERS];
	pthread_t threads[WRITERS];
	struct mem_rig r;

	mem_rig_open(&r, "mem:8M", opts);
	writers[0] =
		(struct writer){.r = &r, .p = mem_alloc(&r, "p", 4 * MIB), .n = 4 * MIB / PAGE};
	for (uint32_t i = 0; i < WRITERS; i++) {
		writers[i] = writers[0];
		writers[i].word = i;
	}
	for (uint32_t i = 0; i < WRITERS; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, count_up, &writers[i]), 0);
	for (uint32_t i = 0; i < WRITERS; i++) {
		pthread_join(threads[i], NULL);
		CU_ASSERT_EQUAL(writers[i].wrong, 0);
	}
	mem_rig_close(&r);
}

/* Memory that a tensor has left is the next one's, as zeroes, and is freed when it is asked for. */
static void memory_changes_hands(void)
{
	uint64_t before, full;
	struct mem_rig r;
	char *a, *b;

	mem_rig_open(&r, "mem:64M", (struct annex_space_opts){.device = 24 * MIB});
	before = mem_resident();
	a = mem_filled(&r, "a", 20 * MIB, 1);
	full = mem_resident();
	for (unsigned int i = 0; i < 4; i++) {
		mem_evict(&r, a, 20 * MIB, ANNEX_TIER_SSD);
		b = mem_alloc(&r, "b", 16 * MIB);
		CU_ASSERT(all_are(b, 16 * MIB, 0));
		memset(b, 2, 16 * MIB);
		CU_ASSERT_EQUAL(annex_free(r.space, b), 0);
		CU_ASSERT(all_are(a, 20 * MIB, 1));
		/* The store is in this process, too, and its buffers, of up to 8 MiB. */
		CU_ASSERT(UNIT_SANITIZED || mem_resident() < full + 34 * MIB);
	}
	mem_evict(&r, a, 20 * MIB, ANNEX_TIER_SSD);
	CU_ASSERT_EQUAL(annex_space_resize(r.space, 2 * MIB), 0);
	CU_ASSERT(UNIT_SANITIZED || mem_resident() < before + 34 * MIB);
	annex_space_trim(r.space);
	CU_ASSERT(UNIT_SANITIZED || mem_resident() < before + 32 * MIB);
	CU_ASSERT(all_are(a, 20 * MIB, 1));
	mem_rig_close(&r);
}

/* Fill the device tier with others, so that all leaves that can. */
static void crowd(struct mem_rig *r)
{
	char *others = mem_filled(r, "others", 4 * MIB, 9);

	CU_ASSERT(all_are(others, 4 * MIB, 9));
	CU_ASSERT_EQUAL(annex_free(r->space, others), 0);
}

/* Number of its pages in the device tier. */
static uint32_t pages_there(struct mem_rig *r, const char *p, uint64_t bytes)
{
	uint32_t first = (uint32_t)((uint64_t)(p - (char *)r->space->base) / PAGE), n = 0;

	pthread_mutex_lock(&r->space->lock);
	for (uint32_t i = 0; i < bytes / PAGE; i++)
		n += (r->space->pages[first + i].flags & PAGE_DEVICE) != 0;
	pthread_mutex_unlock(&r->space->lock);
	return n;
}

/* Locked pages leave and return as others do. */
static void locked_by_the_program(void)
{
	struct mem_rig r;
	char *p;

	/* Sanitizers make munlock() do nothing. */
	if (UNIT_SANITIZED)
		return;
	mem_rig_open(&r, "mem:16M", (struct annex_space_opts){.device = 2 * MIB});
	p = mem_filled(&r, "p", MIB, 1);
	CU_ASSERT(!mlock(p + 3 * PAGE, 5 * PAGE) || errno == ENOMEM || errno == EPERM);
	crowd(&r);
	mem_evict(&r, p, MIB, ANNEX_TIER_SSD);
	CU_ASSERT(all_are(p, MIB, 1));
	crowd(&r);
	mem_fetch(&r, p, MIB);
	CU_ASSERT(!mlock2(p, MIB, MLOCK_ONFAULT) || errno == ENOMEM || errno == EPERM);
	memset(p, 3, MIB);
	mem_evict(&r, p, MIB, ANNEX_TIER_SSD);
	CU_ASSERT_EQUAL(pages_there(&r, p, MIB), 0);
	CU_ASSERT(all_are(p, MIB, 3));
	CU_ASSERT(!mlock(p + 3 * PAGE, 5 * PAGE) || errno == ENOMEM || errno == EPERM);
	mem_fetch(&r, p, MIB);
	CU_ASSERT(all_are(p, MIB, 3));
	munlock(p, MIB);
	mem_rig_close(&r);
}

/* A child shares no page with its parent, which goes on moving them. */
static void beside_a_child(void)
{
	int status = -1, go[2];
	struct mem_rig r;
	pid_t child;
	char *p, c;

	mem_rig_open(&r, "mem:16M", (struct annex_space_opts){.device = 2 * MIB});
	p = mem_filled(&r, "p", MIB, 1);
	CU_ASSERT_EQUAL_FATAL(pipe(go), 0);
	child = fork();
	if (!child) {
		close(go[1]);
		_exit(read(go[0], &c, 1) != 0);
	}
	close(go[0]);
	for (unsigned int i = 0; i < 3; i++) {
		crowd(&r);
		CU_ASSERT(all_are(p, MIB, (char)(i + 1)));
		memset(p, (int)i + 2, MIB);
		mem_evict(&r, p, MIB, ANNEX_TIER_SSD);
		CU_ASSERT_EQUAL(pages_there(&r, p, MIB), 0);
	}
	close(go[1]);
	CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
	CU_ASSERT_EQUAL(status, 0);
	mem_rig_close(&r);
}

/* Memory that the program gives back reads as zeroes, or as it was. */
static void given_back_by_the_program(void)
{
	struct mem_rig r;
	char *p;

	mem_rig_open(&r, "mem:16M", (struct annex_space_opts){.device = 2 * MIB});
	p = mem_filled(&r, "p", MIB, 1);
	CU_ASSERT_EQUAL(madvise(p, MIB / 2, MADV_DONTNEED), 0);
	CU_ASSERT(all_are(p, MIB / 4, 0) || all_are(p, MIB / 4, 1));
	mem_evict(&r, p, MIB, ANNEX_TIER_SSD);
	crowd(&r);
	CU_ASSERT(all_are(p, MIB / 2, p[0]));
	CU_ASSERT(all_are(p + MIB / 2, MIB / 2, 1));
	CU_ASSERT_EQUAL(madvise(p, MIB, MADV_DONTNEED), 0);
	memset(p, 5, MIB);
	crowd(&r);
	CU_ASSERT(all_are(p, MIB, 5));
	mem_rig_close(&r);
}

/* A ring with a buffer that it pins; -1: it cannot. */
static int pin(void *p, uint64_t bytes)
{
	struct iovec buffer = {.iov_base = p, .iov_len = bytes};
	struct io_uring_params params = {0};
	int ring = (int)syscall(SYS_io_uring_setup, 1, &params);

	if (ring >= 0 &&
	    syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &buffer, 1)) {
		close(ring);
		ring = -1;
	}
	return ring;
}

/*
 * A device may write to pinned pages at any time, so they stay in private memory, also without a
 * hold. Nobody waits for them: others are brought in beyond the tier's size.
 */
static void pinned_by_a_device(void)
{
	struct mem_rig r;
	char *p, *others;
	int ring;

	mem_rig_open(&r, "mem:16M", (struct annex_space_opts){.device = MIB});
	p = mem_filled(&r, "p", MIB - 8 * PAGE, 1);
	ring = r.space->pool ? pin(p, MIB - 8 * PAGE) : -1;
	if (ring >= 0) {
		others = mem_filled(&r, "others", MIB, 2);
		CU_ASSERT(all_are(others, MIB, 2));
		mem_try_evict(&r, p, MIB - 8 * PAGE, ANNEX_TIER_SSD);
		CU_ASSERT_EQUAL(pages_there(&r, p, MIB - 8 * PAGE), MIB / PAGE - 8);
		CU_ASSERT(all_are(p, MIB - 8 * PAGE, 1));
		CU_ASSERT(mem_stats(&r).over > 0);
		close(ring);
		CU_ASSERT_EQUAL(annex_free(r.space, others), 0);
	}
	crowd(&r);
	CU_ASSERT(all_are(p, MIB - 8 * PAGE, 1));
	mem_rig_close(&r);
}

static uint32_t half;

int __real_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);

/* Move pages, and count half of them: Linux 6.18 does so after a retry for a page in migration. */
int __wrap_ioctl(int fd, unsigned long request, ...)
{
	int64_t *fields;
	va_list args;
	int rc;

	va_start(args, request);
	fields = va_arg(args, int64_t *);
	va_end(args);
	rc = __real_ioctl(fd, request, fields);
	/* The last field of struct uffdio_move: the number of bytes. */
	if (request == UFFDIO_MOVE && annex_atomic_load(&half, ANNEX_RELAXED) &&
	    fields[4] > (int64_t)PAGE) {
		fields[4] = fields[4] / (2 * (int64_t)PAGE) * (int64_t)PAGE;
		errno = EAGAIN;
		rc = -1;
	}
	return rc;
}

static void moved_without_a_count(void)
{
	struct mem_rig r;
	char *a, *b;

	mem_rig_open(&r, "mem:16M", (struct annex_space_opts){.device = MIB});
	a = mem_filled(&r, "a", MIB - 8 * PAGE, 1);
	annex_atomic_store(&half, 1u, ANNEX_RELAXED);
	b = mem_filled(&r, "b", MIB, 2);
	for (int i = 0; i < 4; i++) {
		char *z = mem_alloc(&r, "z", MIB / 2);

		CU_ASSERT(all_are(a, MIB - 8 * PAGE, 1));
		CU_ASSERT(all_are(b, MIB, 2));
		CU_ASSERT_EQUAL(annex_hold(r.space, z), 0);
		mem_fetch(&r, z, MIB / 2);
		CU_ASSERT(all_are(z, MIB / 2, 0));
		memset(z, 3, MIB / 2);
		CU_ASSERT_EQUAL(annex_let_go(r.space, z), 0);
		CU_ASSERT_EQUAL(annex_free(r.space, z), 0);
	}
	annex_atomic_store(&half, 0u, ANNEX_RELAXED);
	mem_rig_close(&r);
}

/* How far the clock goes on while it is read. */
static uint64_t pace, passed;

uint64_t __real_annex_host_now(void);
uint64_t __wrap_annex_host_now(void);

uint64_t __wrap_annex_host_now(void)
{
	uint64_t more = annex_atomic_load(&pace, ANNEX_RELAXED);

	return __real_annex_host_now() + annex_atomic_add(&passed, more, ANNEX_RELAXED);
}

/* Between a look for room and the verdict that there is none, pinned pages may be tried again. */
static void pinned_until_now(void)
{
	struct mem_rig r;
	struct annex_move *move;
	int ring, failed = 0;
	char *p, *others;

	mem_rig_open(&r, "mem:16M", (struct annex_space_opts){.device = MIB});
	p = mem_filled(&r, "p", MIB - 8 * PAGE, 1);
	ring = r.space->pool ? pin(p, MIB - 8 * PAGE) : -1;
	CU_ASSERT_EQUAL(annex_alloc(r.space, "others", MIB, (void **)&others), 0);
	CU_ASSERT_EQUAL(annex_hold(r.space, others), 0);
	annex_atomic_store(&pace, 3 * ANNEX_NSEC_PER_MSEC, ANNEX_RELAXED);
	for (uint32_t i = 0; i < MIB / PAGE && ring >= 0; i++) {
		CU_ASSERT_EQUAL(annex_prefetch(r.space, others + i * PAGE, PAGE, 0, &move), 0);
		failed += annex_move_wait(move, 60000) != 0;
	}
	annex_atomic_store(&pace, 0, ANNEX_RELAXED);
	CU_ASSERT_EQUAL(failed, 0);
	CU_ASSERT_EQUAL(annex_let_go(r.space, others), 0);
	if (ring >= 0)
		close(ring);
	mem_rig_close(&r);
	annex_atomic_store(&passed, 0, ANNEX_RELAXED);
}

UNIT_SUITE(mem_pool, {"no write is lost", no_write_is_lost},
	   {"memory changes hands", memory_changes_hands},
	   {"locked by the program", locked_by_the_program}, {"beside a child", beside_a_child},
	   {"given back by the program", given_back_by_the_program},
	   {"pinned by a device", pinned_by_a_device}, {"pinned until now", pinned_until_now},
	   {"moved without a count", moved_without_a_count})
