// SPDX-License-Identifier: MIT
/*
 * Threads that run the controller: sleeping, waking, many threads on one queue or on many.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "tests/unit/emu_host.h"
#include "tests/unit/unit.h"

#define THREADS 4

static uint64_t cpu_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * ANNEX_NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

/* Nothing queued: neither a sleeper nor the service thread burns time. */
static void idle_on(const char *uri)
{
	struct annex_cqe cqe;
	uint64_t before;
	struct host h;

	host_ready(&h, uri);
	before = cpu_time();
	CU_ASSERT_FALSE(host_wait_ms(&h, 1, &cqe, 200));
	CU_ASSERT(cpu_time() - before < 50 * ANNEX_NSEC_PER_MSEC);
	host_close(&h);
}

static void idle(void)
{
	idle_on("mem:1M");
	idle_on("mem:1M?serve=thread");
}

/*
 * A doorbell that is only stored to, as a GPU does, after a time in which any other thread has gone
 * to sleep: a busy one sees it at once, far within the second that a sleeping one may take.
 */
static void bare_store_on(const char *uri)
{
	struct annex_sqe flush = {.opcode = ANNEX_NVM_FLUSH, .nsid = 1};
	struct annex_cqe cqe;
	struct host h;

	host_ready(&h, uri);
	for (uint16_t i = 0; i < 5; i++) {
		uint64_t start;

		CU_ASSERT_FALSE(host_wait_ms(&h, 1, &cqe, 20));
		flush.cid = i;
		host_put(&h, 1, &flush);
		start = annex_now();
		annex_mmio_write32(h.ctrl->ops->doorbell(h.ctrl, 1, 0), h.q[1].tail);
		while (!host_poll(&h, 1, &cqe) && annex_now() - start < ANNEX_NSEC_PER_SEC)
			sched_yield();
		CU_ASSERT(annex_now() - start < 200 * ANNEX_NSEC_PER_MSEC);
		CU_ASSERT_EQUAL(cqe.cid, i);
	}
	host_close(&h);
}

static void bare_store(void)
{
	char path[UNIT_PATH], uri[512];

	bare_store_on("mem:1M?serve=busy");
	unit_tmpfile(path);
	snprintf(uri, sizeof(uri), "file:%s?size=1M&serve=busy", path);
	bare_store_on(uri);
	unlink(path);
}

struct sleeper {
	struct host *h;
	uint16_t qid;
	uint32_t ready;
	uint64_t ms;
	bool got;
	uint64_t when;
	struct annex_cqe cqe;
};

static void *sleeping(void *arg)
{
	struct sleeper *s = arg;

	annex_atomic_store(&s->ready, 1u, ANNEX_RELEASE);
	s->got = host_wait_ms(s->h, s->qid, &s->cqe, s->ms);
	s->when = annex_now();
	return NULL;
}

static pthread_t put_to_sleep(struct sleeper *s)
{
	pthread_t thread;

	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, sleeping, s), 0);
	while (!annex_atomic_load(&s->ready, ANNEX_ACQUIRE))
		annex_pause();
	return thread;
}

/*
 * A completion that one thread brings about wakes another that sleeps for it. Where the thread
 * that rings has carried the command out itself (@lent), it looks at the completions and passes
 * the wake on (core/ctrl.h); otherwise the controller does that.
 */
static void wake_on(const char *uri, bool lent)
{
	struct annex_sqe flush = {.opcode = ANNEX_NVM_FLUSH, .nsid = 1, .cid = 4};
	struct sleeper s = {.qid = 1, .ms = HOST_WAIT_MS};
	pthread_t thread;
	struct host h;

	host_ready(&h, uri);
	s.h = &h;
	for (unsigned int i = 0; i < 50; i++) {
		annex_atomic_store(&s.ready, 0u, ANNEX_RELAXED);
		thread = put_to_sleep(&s);
		if (i % 2)
			sched_yield();
		host_submit(&h, 1, &flush);
		if (lent)
			h.ctrl->ops->wake(h.ctrl, 1);
		pthread_join(thread, NULL);
		CU_ASSERT_FATAL(s.got && s.cqe.cid == 4);
	}
	host_close(&h);
}

static void waking(void)
{
	char path[UNIT_PATH], uri[512];

	wake_on("mem:1M", true);
	wake_on("mem:1M?serve=thread", false);
	wake_on("mem:1M?serve=busy", false);
	unit_tmpfile(path);
	snprintf(uri, sizeof(uri), "file:%s?size=1M", path);
	wake_on(uri, false);
	snprintf(uri, sizeof(uri), "file:%s?serve=thread", path);
	wake_on(uri, false);
	snprintf(uri, sizeof(uri), "file:%s?serve=alone", path);
	wake_on(uri, false);
	unlink(path);
}

/* A sleeper wakes for a timer that was set while it slept. */
static void timer_wakes_on(const char *uri)
{
	struct annex_sqe flush = {.opcode = ANNEX_NVM_FLUSH, .nsid = 1, .cid = 4};
	struct sleeper s = {.qid = 1, .ms = HOST_WAIT_MS};
	uint64_t start = annex_now();
	pthread_t thread;
	struct host h;

	host_ready(&h, uri);
	s.h = &h;
	thread = put_to_sleep(&s);
	host_submit(&h, 1, &flush);
	pthread_join(thread, NULL);
	CU_ASSERT(s.got && s.cqe.cid == 4);
	CU_ASSERT(s.when - start >= 30 * ANNEX_NSEC_PER_MSEC);
	CU_ASSERT(s.when - start < 10 * ANNEX_NSEC_PER_SEC);
	host_close(&h);
}

static void timer_wakes(void)
{
	timer_wakes_on("mem:1M?fault=delay,us=30000");
	timer_wakes_on("mem:1M?serve=thread&fault=delay,us=30000");
	timer_wakes_on("mem:1M?serve=busy&fault=delay,us=30000");
}

static void *one_sleep(void *arg)
{
	struct sleeper *s = arg;
	uint32_t seen = s->h->ctrl->ops->event(s->h->ctrl, s->qid);

	annex_atomic_store(&s->ready, 1u, ANNEX_RELEASE);
	s->h->ctrl->ops->sleep(s->h->ctrl, s->qid, seen, annex_deadline_ms(HOST_WAIT_MS));
	return NULL;
}

/* The controller vanishes while a thread sleeps on a queue that nothing comes from. */
static void removal_wakes_on(const char *uri)
{
	struct annex_sqe flush = {.opcode = ANNEX_NVM_FLUSH, .nsid = 1, .cid = 4};
	uint64_t start = annex_now();
	struct sleeper s = {.qid = 2};
	pthread_t thread;
	struct host h;

	host_ready(&h, uri);
	CU_ASSERT_EQUAL(host_create(&h, 2, 8), 0);
	s.h = &h;
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, one_sleep, &s), 0);
	while (!annex_atomic_load(&s.ready, ANNEX_ACQUIRE))
		annex_pause();
	host_submit(&h, 1, &flush);
	pthread_join(thread, NULL);
	CU_ASSERT(annex_now() - start < HOST_WAIT_MS / 2 * ANNEX_NSEC_PER_MSEC);
	while (h.ctrl->ops->status(h.ctrl) != UINT32_MAX)
		CU_ASSERT_FATAL(annex_now() - start < HOST_WAIT_MS * ANNEX_NSEC_PER_MSEC);
	host_close(&h);
}

static void removal_wakes(void)
{
	char path[UNIT_PATH], uri[512];

	removal_wakes_on("mem:1M?fault=remove");
	removal_wakes_on("mem:1M?serve=thread&fault=remove");
	removal_wakes_on("mem:1M?serve=busy&fault=remove");
	unit_tmpfile(path);
	snprintf(uri, sizeof(uri), "file:%s?size=1M&fault=remove", path);
	removal_wakes_on(uri);
	unlink(path);
}

/* Each thread with its own queue pair, or all with theirs on one completion event stream. */
struct worker {
	struct host *h;
	uint16_t qid;
	unsigned int rounds;
	unsigned int failed;
	char *buf;
};

static void *work(void *arg)
{
	struct worker *w = arg;

	for (unsigned int i = 0; i < w->rounds; i++) {
		uint64_t lba = (w->qid * 64u) + i % 64;
		struct annex_sqe sqe = host_rw(ANNEX_NVM_WRITE, lba, 1, w->buf, NULL);
		struct annex_cqe cqe;

		memset(w->buf, (int)(i + w->qid), 512);
		for (unsigned int step = 0; step < 2; step++) {
			sqe.cid = (uint16_t)(2 * i + step);
			host_submit(w->h, w->qid, &sqe);
			if (!host_wait(w->h, w->qid, &cqe) || cqe.cid != sqe.cid || cqe.status >> 1)
				w->failed++;
			sqe.opcode = ANNEX_NVM_READ;
			if (!step)
				memset(w->buf, 0, 512);
		}
		if (w->buf[0] != (char)(i + w->qid) || memcmp(w->buf, w->buf + 1, 511))
			w->failed++;
	}
	return NULL;
}

static void crowd_on(const char *uri, unsigned int rounds)
{
	struct worker w[THREADS] = {{0}};
	struct host h;

	host_open(&h, uri);
	for (uint16_t i = 0; i < THREADS; i++) {
		w[i] = (struct worker){.h = &h,
				       .qid = (uint16_t)(i + 1),
				       .rounds = rounds,
				       .buf = host_alloc(&h, 4096)};
		CU_ASSERT_EQUAL(host_create(&h, w[i].qid, 8), 0);
	}
	unit_threads(THREADS, work, w, sizeof(*w));
	for (unsigned int i = 0; i < THREADS; i++)
		CU_ASSERT_EQUAL(w[i].failed, 0);
	host_close(&h);
}

static void crowd(void)
{
	char path[UNIT_PATH], uri[512];

	crowd_on("mem:1M", 2000);
	crowd_on("mem:1M?serve=thread", 300);
	crowd_on("mem:1M?serve=busy", 300);
	crowd_on("mem:1M?fault=delay,us=100,after=20,count=100", 500);
	unit_tmpfile(path);
	snprintf(uri, sizeof(uri), "file:%s?size=1M", path);
	crowd_on(uri, 200);
	snprintf(uri, sizeof(uri), "file:%s?serve=thread", path);
	crowd_on(uri, 200);
	unlink(path);
}

/* Ranges come and go while commands run. */
static void *map_and_unmap(void *arg)
{
	struct host *h = arg;
	char *p = h->mem + HOST_MEM; /* never mapped memory: refused, but looked at */
	uint64_t addr;

	for (unsigned int i = 0; i < 200; i++) {
		void *q = annex_provider_pages()->alloc(NULL, 8192, 4096);

		if (!h->ctrl->ops->map(h->ctrl, q, 8192, &addr))
			h->ctrl->ops->unmap(h->ctrl, addr, 8192);
		annex_provider_pages()->free(NULL, q, 8192);
		h->ctrl->ops->unmap(h->ctrl, host_addr(p), 4096);
	}
	return NULL;
}

static void mapping_on(const char *uri)
{
	struct worker w = {.qid = 1, .rounds = 500};
	pthread_t worker, mapper;
	struct host h;

	host_ready(&h, uri);
	w.h = &h;
	w.buf = host_alloc(&h, 4096);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&worker, NULL, work, &w), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&mapper, NULL, map_and_unmap, &h), 0);
	pthread_join(worker, NULL);
	pthread_join(mapper, NULL);
	CU_ASSERT_EQUAL(w.failed, 0);
	host_close(&h);
}

static void mapping(void)
{
	char path[UNIT_PATH], uri[512];

	mapping_on("mem:1M");
	unit_tmpfile(path);
	snprintf(uri, sizeof(uri), "file:%s?size=1M", path);
	mapping_on(uri);
	unlink(path);
}

UNIT_SUITE(emu_sleep, {"idle", idle}, {"a bare store", bare_store}, {"waking", waking},
	   {"a timer wakes", timer_wakes}, {"removal wakes", removal_wakes}, {"crowd", crowd},
	   {"mapping meanwhile", mapping})
