// SPDX-License-Identifier: MIT
/*
 * Places and time, shared among processes.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <annex/models/ndp.h>
#include "models/ndp/device/state.h"
#include "ndp_rig.h"

static bool is_answered(const struct answer *a)
{
	/* Acquire: pairs with the release of the answer. */
	return annex_atomic_load(&a->answered, ANNEX_ACQUIRE);
}

/* One process has taken all places it could get: another one still runs. */
static void place_kept(void)
{
	struct annex_ndp_opts opts = {.threads = 1, .running = 2, .waiting = 2};
	struct near r, other;
	struct answer a[3];
	int64_t id;

	near_open(&r, &opts);
	near_join(&other, &r);
	id = near_make_count(&r);
	for (unsigned int i = 0; i < 3; i++)
		near_start(&r, id, true, 32 * i, 32, NULL, 0, &a[i]);
	CU_ASSERT_EQUAL(a[2].m2.value, -EBUSY); /* one runs, one waits */
	CU_ASSERT(near_run(&other, NEAR_ONE(&other, ECALL), 0, 32, NULL, 0).value > 0);
	near_close(&other);
	CU_ASSERT_FALSE(is_answered(&a[1])); /* it is kept for the next one */
	near_close(&r);
	CU_ASSERT_EQUAL(a[0].m2.value, -ENODEV);
	CU_ASSERT_EQUAL(a[1].m2.value, -ENODEV);
}

/* A process that connects after the places were taken finds one all the same. */
static void newcomer(void)
{
	struct annex_ndp_opts opts = {.threads = 1, .running = 4, .waiting = 2};
	struct near r, other;
	struct answer a[6];
	int64_t id;

	near_open(&r, &opts);
	id = near_make_count(&r);
	for (unsigned int i = 0; i < 6; i++)
		near_start(&r, id, true, 32 * i, 32, NULL, 0, &a[i]);
	CU_ASSERT_EQUAL(a[5].m2.value, -EBUSY); /* three run, two wait */
	near_join(&other, &r);
	CU_ASSERT(near_run(&other, NEAR_ONE(&other, ECALL), 0, 32, NULL, 0).value > 0);
	for (unsigned int i = 0; i < 5; i++) /* nothing had to end for it */
		CU_ASSERT_FALSE(is_answered(&a[i]));
	near_close(&other);
	near_close(&r);
}

/* More processes than places of either kind: the first launch of each is taken, and ends well. */
static void never_refused(void)
{
	struct annex_ndp_opts opts = {.threads = 1, .running = 2, .waiting = 2};
	struct answer first[6], second[6];
	unsigned int refused = 0;
	struct near r[6];
	int64_t id;

	for (unsigned int i = 0; i < 6; i++) {
		if (i)
			near_join(&r[i], &r[0]);
		else
			near_open(&r[i], &opts);
		id = near_make_wait(&r[i]);
		near_start(&r[i], id, true, 0, 32, NULL, 0, &first[i]);
		near_start(&r[i], id, true, 32, 32, NULL, 0, &second[i]);
		CU_ASSERT_FALSE(is_answered(&first[i]));
	}
	for (unsigned int i = 6; i--;) {
		near_let_go(near_data(&r[i]));
		near_let_go(near_data(&r[i]) + 4);
	}
	for (unsigned int i = 0; i < 6; i++) {
		CU_ASSERT(near_wait(&first[i]) && first[i].m2.value > 0);
		CU_ASSERT(near_wait(&second[i]));
		refused += second[i].m2.value == -EBUSY;
	}
	CU_ASSERT_EQUAL(refused, 4);
	for (unsigned int i = 6; i--;)
		near_close(&r[i]);
}

/* The processor's time that the device's only thread has had. */
static uint64_t device_time(const struct near *r)
{
	struct timespec ts = {0};
	clockid_t clock;

	CU_ASSERT_EQUAL(pthread_getcpuclockid(r->ndp->thread[0], &clock), 0);
	CU_ASSERT_EQUAL(clock_gettime(clock, &ts), 0);
	return (uint64_t)ts.tv_sec * ANNEX_NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

/* What eight launches have counted. Relaxed: each number by itself. */
static uint64_t sum(struct near *r)
{
	uint64_t all = 0;

	for (unsigned int i = 0; i < 8; i++)
		all += annex_atomic_load(near_data(r) + 256 * i, ANNEX_RELAXED);
	return all;
}

/*
 * One process with many endless kernels and another with one: both get on, at the same pace. What
 * the one counted while the others' numbers were read lies between two readings of its own.
 */
static void fair(void)
{
	struct near many, one;
	struct answer a[9];
	uint64_t least, most, others;
	int64_t id;

	near_open(&many, &(struct annex_ndp_opts){.threads = 1});
	near_join(&one, &many);
	id = near_make_count(&many);
	for (unsigned int i = 0; i < 8; i++)
		near_start(&many, id, true, 32 * 64 * i, 32 * 64, NULL, 0, &a[i]);
	near_start(&one, near_make_count(&one), true, 0, 32 * 64, NULL, 0, &a[8]);
	CU_ASSERT(near_grows(near_data(&one), 100));
	most = annex_atomic_load(near_data(&one), ANNEX_RELAXED);
	others = sum(&many);
	least = annex_atomic_load(near_data(&one), ANNEX_RELAXED);
	CU_ASSERT(near_grows(near_data(&one), UNIT_SANITIZED ? 40000 : 200000));
	least = annex_atomic_load(near_data(&one), ANNEX_RELAXED) - least;
	others = sum(&many) - others;
	most = annex_atomic_load(near_data(&one), ANNEX_RELAXED) - most;
	CU_ASSERT(others > least / 2 && others / 2 < most);
	ndp_client_close(one.client);
	munmap(one.mem, NEAR_BYTES);
	near_close(&many);
	for (unsigned int i = 0; i < 9; i++)
		CU_ASSERT(a[i].answered == 1 && a[i].m2.value == -ENODEV);
}

/* Sixteen divisions of 1024 numbers each: the instruction that takes longest. */
#define LONG_ONES                                                                                  \
	vsetvli(3, 0, 0xc3), vmv_v_i(8, 13), vmv_v_i(16, 3), addi(4, 0, 16), vdiv_vv(0, 8, 16),    \
		addi(4, 4, -1), bne(4, 0, -8)

/* struct relay - A launch that is made again when it has ended, until it shall @stop. */
struct relay {
	struct near *r;
	struct annex_m2_launch launch;
	uint64_t times;
	uint32_t stop;
	struct answer end;
};

static void again(void *ctx, const struct annex_m2_answer *m2)
{
	struct relay *c = ctx;

	/* Relaxed: it is counted, and nothing else. */
	annex_atomic_add(&c->times, 1u, ANNEX_RELAXED);
	if (m2->value > 0 && !annex_atomic_load(&c->stop, ANNEX_RELAXED)) {
		ndp_call(c->r->client, ANNEX_M2_LAUNCH, &c->launch, sizeof(c->launch), again, c);
		return;
	}
	c->end.m2 = *m2;
	/* Release: with near_wait(). */
	annex_atomic_add(&c->end.answered, 1u, ANNEX_RELEASE);
}

#define TIMES (UNIT_SANITIZED ? 8u : 30u)

/*
 * A process whose instructions take long, in one short kernel after the other, and one that counts:
 * the first has half of the time and no more, whatever its instructions are.
 */
static void long_instructions(void)
{
	struct annex_ndp_opts opts = {.threads = 1, .vlen = 1024};
	uint64_t alone, both, times;
	struct relay c = {0};
	struct near r, other;
	struct answer a;

	near_open(&r, &opts);
	near_join(&other, &r);
	other.ndp = r.ndp;
	c.r = &r;
	c.launch = (struct annex_m2_launch){.id = (uint32_t)NEAR_ONE(&r, LONG_ONES, ECALL),
					    .sync = 1,
					    .base = NEAR_POOL,
					    .bound = NEAR_POOL + 32 * 64};
	ndp_call(r.client, ANNEX_M2_LAUNCH, &c.launch, sizeof(c.launch), again, &c);
	CU_ASSERT(near_grows(&c.times, 2));
	alone = device_time(&r);
	CU_ASSERT(near_grows(&c.times, TIMES));
	alone = device_time(&r) - alone;
	near_start(&other, near_make_count(&other), true, 0, 32 * 64, NULL, 0, &a);
	CU_ASSERT(near_grows(near_data(&other), 100));
	times = annex_atomic_load(&c.times, ANNEX_RELAXED);
	both = device_time(&r);
	CU_ASSERT(near_grows(&c.times, TIMES));
	both = device_time(&r) - both;
	times = annex_atomic_load(&c.times, ANNEX_RELAXED) - times;
	/* Of what there was for both, it has had as much as so many took when it was alone. */
	alone = alone * times / TIMES;
	CU_ASSERT(alone < both / 4 * 3 && alone > both / 4);
	annex_atomic_store(&c.stop, 1u, ANNEX_RELAXED);
	CU_ASSERT(near_wait(&c.end));
	ndp_client_close(other.client);
	munmap(other.mem, NEAR_BYTES);
	near_close(&r);
}

#define POLLING_NS (50 * ANNEX_NSEC_PER_MSEC)

/*
 * A thread that polls for its own client runs others' kernels too, but of one whose instructions
 * take long it does less than a tenth of the time; the device's own thread, which was asleep, does.
 */
static void polling_thread(void)
{
	struct annex_ndp_opts opts = {.threads = 1, .units = 4, .vlen = 1024};
	uint64_t began, now, kept = 0, counted, deadline;
	unsigned int declined = 0;
	struct answer a;
	struct near r;
	int64_t id;

	near_open(&r, &opts);
	id = NEAR_ONE(&r, LONG_ONES, addi(3, 0, 1), amoadd_d(0, 3, 1), jump(-4 * 6));
	ndp_lend(r.ndp);
	near_start(&r, id, true, 0, 32 * 64 * 8, NULL, 0, &a);
	began = now = annex_now();
	deadline = annex_deadline_ms(20000);
	while ((now - began < POLLING_NS || (now - began) / 10 < kept || declined < 10) &&
	       now < deadline) {
		bool worked = ndp_assist(r.ndp);
		uint64_t then = now;

		now = annex_now();
		kept += worked ? now - then : 0;
		declined += !worked;
	}
	CU_ASSERT(now < deadline);
	/* Any of its units: a thread continues the units that it has begun. */
	counted = sum(&r);
	while (sum(&r) == counted && annex_now() < deadline)
		sched_yield();
	CU_ASSERT(sum(&r) != counted);
	ndp_unlend(r.ndp);
	near_close(&r);
	CU_ASSERT_EQUAL(a.m2.value, -ENODEV);
}

UNIT_SUITE(ndp_fair, {"a place is kept for others", place_kept}, {"a newcomer", newcomer},
	   {"never refused", never_refused}, {"fair", fair},
	   {"long instructions", long_instructions}, {"a thread that polls", polling_thread})
