// SPDX-License-Identifier: MIT
/*
 * Several launches, several processes, and what happens to memory meanwhile.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <annex/models/ndp.h>
#include "models/ndp/device/state.h"
#include "ndp_rig.h"

static void asynchronous(void)
{
	struct answer a;
	struct near r;
	int64_t id, bad;

	near_open(&r, NULL);
	id = near_make_wait(&r);
	bad = NEAR_ONE(&r, ld(3, 0, 16), ECALL);
	near_start(&r, id, false, 0, 32, NULL, 0, &a);
	CU_ASSERT_EQUAL_FATAL(a.answered, 1);
	CU_ASSERT_FATAL(a.m2.value > 0);
	CU_ASSERT_EQUAL(near_poll(&r, a.m2.value).value, 1);
	CU_ASSERT_EQUAL(near_unregister(&r, id), -EBUSY);
	near_let_go(near_data(&r));
	while (near_poll(&r, a.m2.value).value == 1)
		;
	CU_ASSERT_EQUAL(near_poll(&r, a.m2.value).value, 0);
	CU_ASSERT_EQUAL(near_unregister(&r, id), 0);
	/* how it ended is there to be asked for, also an error */
	near_start(&r, bad, false, 0, 32, NULL, 0, &a);
	while (near_poll(&r, a.m2.value).value == 1)
		;
	CU_ASSERT_EQUAL(near_poll(&r, a.m2.value).value, -EFAULT);
	CU_ASSERT_EQUAL(near_poll(&r, a.m2.value).addr, 16);
	CU_ASSERT_EQUAL(a.answered, 1);
	CU_ASSERT_EQUAL(near_poll(&r, a.m2.value + 1).value, -ENOENT);
	CU_ASSERT_EQUAL(near_poll(&r, 0).value, -ENOENT);
	CU_ASSERT_EQUAL(near_poll(&r, -1).value, -ENOENT);
	near_close(&r);
}

/*
 * More launches than may run wait for their turn, and more than may wait are refused. One place is
 * kept for another process.
 */
static void queue(void)
{
	struct annex_ndp_opts opts = {.threads = 2, .running = 3, .waiting = 3};
	struct answer a[6];
	struct near r;
	int64_t id;

	near_open(&r, &opts);
	id = near_make_wait(&r);
	for (unsigned int i = 0; i < 6; i++)
		near_start(&r, id, true, 32 * i, 32, NULL, 0, &a[i]);
	CU_ASSERT_EQUAL(a[5].answered, 1);
	CU_ASSERT_EQUAL(a[5].m2.value, -EBUSY);
	/* the last first: each but the two that run has to wait for those before it */
	for (unsigned int i = 5; i--;)
		near_let_go(near_data(&r) + 4 * i);
	for (unsigned int i = 0; i < 5; i++) {
		CU_ASSERT(near_wait(&a[i]));
		CU_ASSERT(a[i].m2.value > 0);
	}
	CU_ASSERT_EQUAL(near_unregister(&r, id), 0);
	near_close(&r);
}

/* Objects of one process are not found by another one, even with forged messages. */
static void forged(void)
{
	struct annex_m2_answer answer;
	struct near r, other;
	struct answer a;
	int64_t id, own;

	near_open(&r, NULL);
	near_join(&other, &r);
	id = near_make_wait(&r);
	near_start(&r, id, false, 0, 32, NULL, 0, &a);
	CU_ASSERT_EQUAL(near_run(&other, id, 0, 32, NULL, 0).value, -ENOENT);
	CU_ASSERT_EQUAL(near_unregister(&other, id), -ENOENT);
	CU_ASSERT_EQUAL(near_poll(&other, a.m2.value).value, -ENOENT);
	own = near_make_wait(&other);
	CU_ASSERT(own > 0 && own != id);
	for (int64_t i = 0; i < 5000; i++)
		CU_ASSERT(i == own || near_unregister(&other, i) == -ENOENT);
	near_let_go(near_data(&r));
	/* and its memory neither, at the same address: it finds its own */
	near_data(&r)[4] = 11;
	near_data(&other)[4] = 22;
	answer = near_run(&r, NEAR_ONE(&r, ld(3, 1, 0), addi(3, 3, 1), sd(3, 1, 0), ECALL), 32, 32,
			  NULL, 0);
	CU_ASSERT(answer.value > 0);
	CU_ASSERT_EQUAL(near_data(&r)[4], 12);
	CU_ASSERT_EQUAL(near_data(&other)[4], 22);
	near_close(&other);
	near_close(&r);
}

#define EXTRA_VA 0x80000000ull

/* When an unmap returns, no unit touches the memory: a store would end the test program. */
static void unmap_meanwhile(void)
{
	const size_t bytes = 1u << 20;
	struct answer a[4];
	struct near r;
	uint64_t arg = EXTRA_VA;
	struct kernel k = {0};
	int64_t id;
	char *mem;

	near_open(&r, NULL);
	KERNEL_PART(&k, body[0], lui(3, ANNEX_M2_SCRATCHPAD >> 12), ld(3, 3, 0), add(3, 3, 2),
		    addi(4, 0, 1), amoadd_d(0, 4, 3), amoadd_d(0, 4, 1), jump(-8));
	id = near_register(&r, &k, 8, 8);
	for (unsigned int round = 0; round < 20; round++) {
		mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CU_ASSERT_FATAL(mem != MAP_FAILED);
		CU_ASSERT_EQUAL(ndp_client_map(r.client, EXTRA_VA, mem, bytes, RV_READ | RV_WRITE),
				0);
		for (unsigned int i = 0; i < 4; i++)
			near_start(&r, id, true, 32 * 64 * i, 32 * 64, &arg, 1, &a[i]);
		CU_ASSERT(near_grows((uint64_t *)(void *)mem, 100));
		CU_ASSERT_EQUAL(ndp_client_unmap(r.client, EXTRA_VA, bytes / 2), -ENOENT);
		CU_ASSERT_EQUAL(ndp_client_unmap(r.client, EXTRA_VA, bytes), 0);
		munmap(mem, bytes);
		for (unsigned int i = 0; i < 4; i++) {
			CU_ASSERT(near_wait(&a[i]));
			CU_ASSERT_EQUAL(a[i].m2.value, -EFAULT);
			CU_ASSERT(a[i].m2.addr >= EXTRA_VA && a[i].m2.addr < EXTRA_VA + 32 * 64);
		}
	}
	near_close(&r);
}

static int64_t shoot_down(struct near *r, uint32_t asid, uint64_t va)
{
	struct annex_m2_shootdown asked = {.asid = asid, .page = va >> 12};
	struct answer a;

	near_call(r, ANNEX_M2_SHOOTDOWN, &asked, sizeof(asked), &a);
	CU_ASSERT_EQUAL(a.answered, 1);
	return a.m2.value;
}

/* It takes a privilege, and those whose page it is go on with a new translation. */
static void shootdown(void)
{
	struct ndp_counters before, after;
	struct near r, boss;
	struct answer a;
	uint32_t asid;

	near_open(&r, NULL);
	boss.ndp = r.ndp;
	CU_ASSERT_EQUAL_FATAL(ndp_client_open(r.ndp, true, &boss.client), 0);
	asid = ndp_client_asid(r.client);
	CU_ASSERT(asid != ndp_client_asid(boss.client));
	CU_ASSERT_EQUAL(shoot_down(&r, asid, NEAR_POOL), -EPERM);
	CU_ASSERT_EQUAL(shoot_down(&boss, 0, NEAR_POOL), -ENOENT);
	CU_ASSERT_EQUAL(shoot_down(&boss, 77, NEAR_POOL), -ENOENT);
	CU_ASSERT_EQUAL(shoot_down(&boss, 70000, NEAR_POOL), -ENOENT);
	CU_ASSERT_EQUAL(shoot_down(&boss, asid, 1ull << 47), -EINVAL);
	near_start(&r, near_make_count(&r), true, 0, 32 * 64, NULL, 0, &a);
	CU_ASSERT(near_grows(near_data(&r), 10));
	ndp_count(r.ndp, &before);
	for (unsigned int i = 0; i < 50; i++) {
		CU_ASSERT_EQUAL(shoot_down(&boss, asid, NEAR_POOL), 0);
		CU_ASSERT(near_grows(near_data(&r), 100));
	}
	ndp_count(r.ndp, &after);
	CU_ASSERT(after.tlb_misses - before.tlb_misses >= 50);
	ndp_client_close(boss.client);
	CU_ASSERT(near_grows(near_data(&r), 100));
	near_close(&r);
	CU_ASSERT_EQUAL(a.m2.value, -ENODEV);
}

/* A device that ends answers all its clients, waiting ones too. */
static void destroyed(void)
{
	struct annex_ndp_opts opts = {.threads = 2, .running = 3, .waiting = 20};
	struct answer a[20];
	struct near r, other;

	near_open(&r, &opts);
	near_join(&other, &r);
	for (unsigned int i = 0; i < 10; i++) {
		near_start(&r, near_make_count(&r), true, 32 * i, 32 * 300, NULL, 0, &a[i]);
		near_start(&other, near_make_wait(&other), true, 32 * i, 32 * 300, NULL, 0,
			   &a[10 + i]);
	}
	annex_ndp_destroy(r.ndp);
	for (unsigned int i = 0; i < 20; i++)
		CU_ASSERT(a[i].answered == 1 && a[i].m2.value == -ENODEV);
	munmap(r.mem, NEAR_BYTES);
	munmap(other.mem, NEAR_BYTES);
}

#define CALLERS 4
#define ROUNDS 300

struct caller {
	struct near *r;
	int64_t id;
	unsigned int number, failed;
	bool lends;
};

static void *launch_many(void *arg)
{
	struct caller *c = arg;
	struct answer a[8];

	if (c->lends)
		ndp_lend(c->r->ndp);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		for (unsigned int j = 0; j < 8; j++)
			near_start(c->r, c->id, true, 4096 * (8 * c->number + j), 32 << (j % 4 * 2),
				   NULL, 0, &a[j]);
		/* Acquire: with done(). */
		for (unsigned int j = 0; j < 8; j++)
			while (c->lends && !annex_atomic_load(&a[j].answered, ANNEX_ACQUIRE))
				ndp_assist(c->r->ndp);
		for (unsigned int j = 0; j < 8; j++)
			c->failed += !near_wait(&a[j]) || a[j].m2.value <= 0;
	}
	if (c->lends)
		ndp_unlend(c->r->ndp);
	return NULL;
}

/* From many threads at once, also from such as lend themselves to the device. */
static void crowd_of(unsigned int threads, unsigned int lending)
{
	struct annex_ndp_opts opts = {.threads = threads};
	struct caller c[CALLERS] = {{0}};
	struct ndp_counters count;
	struct near r;
	int64_t id;

	near_open(&r, &opts);
	id = NEAR_ONE(&r, addi(3, 0, 1), amoadd_d(0, 3, 1), ECALL);
	for (unsigned int i = 0; i < CALLERS; i++)
		c[i] = (struct caller){.r = &r, .id = id, .number = i, .lends = i < lending};
	unit_threads(CALLERS, launch_many, c, sizeof(*c));
	for (unsigned int i = 0; i < CALLERS; i++)
		CU_ASSERT_EQUAL(c[i].failed, 0);
	for (unsigned int i = 0; i < 8 * CALLERS; i++)
		CU_ASSERT_EQUAL(near_data(&r)[512 * i], ROUNDS);
	ndp_count(r.ndp, &count);
	CU_ASSERT_EQUAL(count.launches, 8 * CALLERS * ROUNDS);
	CU_ASSERT_EQUAL(near_unregister(&r, id), 0);
	near_close(&r);
}

static void crowd(void)
{
	crowd_of(2, 0);
	crowd_of(1, 1);
	crowd_of(3, CALLERS);
}

/* From the answer of one call the next is made. */
struct chain {
	struct near *r;
	struct annex_m2_launch launch;
	unsigned int left;
	struct answer end;
};

static void next_of_chain(void *ctx, const struct annex_m2_answer *m2)
{
	struct chain *c = ctx;

	if (m2->value > 0 && --c->left) {
		ndp_call(c->r->client, ANNEX_M2_LAUNCH, &c->launch, sizeof(c->launch),
			 next_of_chain, c);
		return;
	}
	c->end.m2 = *m2;
	/* Release: with near_wait(). */
	annex_atomic_add(&c->end.answered, 1u, ANNEX_RELEASE);
}

static void chained(void)
{
	struct chain c = {.left = 1000};
	struct near r;

	near_open(&r, NULL);
	c.r = &r;
	c.launch = (struct annex_m2_launch){.id = (uint32_t)NEAR_ONE(&r, ECALL),
					    .sync = 1,
					    .base = NEAR_POOL,
					    .bound = NEAR_POOL + 32};
	ndp_call(r.client, ANNEX_M2_LAUNCH, &c.launch, sizeof(c.launch), next_of_chain, &c);
	CU_ASSERT(near_wait(&c.end));
	CU_ASSERT(c.end.m2.value > 0 && !c.left);
	near_close(&r);
}

struct slow {
	uint32_t in, out;
};

static void slow_done(void *ctx, const struct annex_m2_answer *m2)
{
	struct slow *s = ctx;

	(void)m2;
	annex_atomic_store(&s->in, 1u, ANNEX_RELEASE);
	for (unsigned int i = 0; i < 5000; i++)
		sched_yield();
	annex_atomic_store(&s->out, 1u, ANNEX_RELAXED); /* the close orders it */
}

/* A process is not closed while a thread is answering it. */
static void answer_meanwhile(void)
{
	struct annex_m2_launch launch = {.sync = 1, .base = NEAR_POOL, .bound = NEAR_POOL + 32};
	struct slow s = {0};
	struct near r;

	near_open(&r, NULL);
	launch.id = (uint32_t)NEAR_ONE(&r, ECALL);
	ndp_call(r.client, ANNEX_M2_LAUNCH, &launch, sizeof(launch), slow_done, &s);
	while (!annex_atomic_load(&s.in, ANNEX_ACQUIRE))
		sched_yield();
	ndp_client_close(r.client);
	CU_ASSERT_EQUAL(annex_atomic_load(&s.out, ANNEX_RELAXED), 1);
	r.client = NULL;
	near_close(&r);
}

static bool all_sleep(struct annex_ndp *ndp)
{
	uint64_t deadline = annex_deadline_ms(20000);
	bool all = false;

	while (!all && annex_now() < deadline) {
		pthread_mutex_lock(&ndp->lock);
		all = ndp->sleeping == ndp->opts.threads && !ndp->spinning;
		pthread_mutex_unlock(&ndp->lock);
		sched_yield();
	}
	return all;
}

/* Threads without work sleep; so does one whose helper that polls has gone. */
static void idle(void)
{
	struct near r;

	near_open(&r, NULL);
	ndp_lend(r.ndp);
	ndp_unlend(r.ndp);
	CU_ASSERT(near_run(&r, NEAR_ONE(&r, ECALL), 0, 32, NULL, 0).value > 0);
	CU_ASSERT(all_sleep(r.ndp));
	CU_ASSERT_FALSE(ndp_assist(r.ndp));
	CU_ASSERT(near_run(&r, NEAR_ONE(&r, ECALL), 0, 32, NULL, 0).value > 0);
	CU_ASSERT(all_sleep(r.ndp));
	near_close(&r);
}

/* As many processes as there are places, each with a number of its own, which is used again. */
static void processes(void)
{
	struct ndp_client *c[1024], *more;
	struct annex_ndp *ndp;

	CU_ASSERT_EQUAL_FATAL(annex_ndp_create(NULL, &ndp), 0);
	for (unsigned int i = 0; i < 1024; i++)
		CU_ASSERT_EQUAL_FATAL(ndp_client_open(ndp, false, &c[i]), 0);
	CU_ASSERT_EQUAL(ndp_client_open(ndp, false, &more), -ENOSPC);
	ndp_client_close(c[500]);
	CU_ASSERT_EQUAL(ndp_client_open(ndp, false, &more), 0);
	annex_ndp_destroy(ndp);
}

UNIT_SUITE(ndp_share, {"asynchronous", asynchronous}, {"queue", queue}, {"forged numbers", forged},
	   {"unmap meanwhile", unmap_meanwhile}, {"shoot-down", shootdown},
	   {"device destroyed", destroyed}, {"crowd", crowd}, {"chained", chained},
	   {"answered before it is closed", answer_meanwhile}, {"idle", idle},
	   {"processes", processes})
