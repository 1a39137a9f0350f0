// SPDX-License-Identifier: MIT
/*
 * M2func with many launches at a time, and waits that are over when their time is.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <annex/models/ndp.h>
#include "m2_rig.h"
#include "ndp/kernels/kernels.h"

#define JOBS 200u

/* Each with a piece and an argument of its own. */
static void prepare(struct m2_rig *r, uint32_t id, struct annex_m2_job *jobs, uint64_t *add,
		    unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		add[i] = i + 1;
		r->pool[4 * i] = 0;
		jobs[i] = (struct annex_m2_job){.id = id,
						.pool = &r->pool[4 * i],
						.bytes = 32,
						.args = &add[i],
						.nargs = 8,
						.err = 99};
	}
}

static unsigned int of_error(const struct annex_m2_job *jobs, unsigned int n, int err)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < n; i++)
		count += jobs[i].err == err;
	return count;
}

static void run_over(const struct annex_m2_opts *opts)
{
	struct annex_m2_job jobs[JOBS];
	uint64_t add[JOBS];
	struct m2_rig r;
	uint32_t id;

	m2_rig_open(&r, opts);
	id = m2_rig_register(r.m2, m2_rig_counter(&r), 8);
	CU_ASSERT_EQUAL(annex_m2_run_many(r.m2, jobs, 0), 0);
	prepare(&r, id, jobs, add, 3);
	CU_ASSERT_EQUAL(annex_m2_run_many(r.m2, jobs, 3), 0);
	CU_ASSERT(r.pool[0] == 1 && r.pool[4] == 2 && r.pool[8] == 3);
	prepare(&r, id, jobs, add, JOBS);
	/* Retry launches that the device has no room for. */
	for (unsigned int left = JOBS; left;) {
		int err = annex_m2_run_many(r.m2, jobs, left);
		unsigned int refused = 0;

		CU_ASSERT_FATAL(err == 0 || err == -EBUSY);
		for (unsigned int i = 0; i < left; i++) {
			CU_ASSERT_FATAL(jobs[i].err ? jobs[i].err == -EBUSY && !jobs[i].instance
						    : jobs[i].instance > 0);
			if (jobs[i].err)
				jobs[refused++] = jobs[i];
		}
		left = refused;
	}
	for (unsigned int i = 0; i < JOBS; i++)
		CU_ASSERT_EQUAL(r.pool[4 * i], i + 1);
	m2_rig_close(&r);
}

static void run_many(void)
{
	run_over(NULL);
	run_over(&(struct annex_m2_opts){.slots = 1});
	run_over(&(struct annex_m2_opts){.slots = 64, .mem_ns = 1000});
}

/* They do not wait: all are under way at the same time, each with a number of its own. */
static void launch_over(const struct annex_m2_opts *opts)
{
	struct annex_m2_job jobs[8] = {0};
	struct m2_rig r;
	uint32_t id;

	m2_rig_open(&r, opts);
	id = m2_rig_register(r.m2, m2_rig_gate(&r), 0);
	for (unsigned int i = 0; i < 8; i++)
		jobs[i] = (struct annex_m2_job){.id = id, .pool = &r.pool[4 * i], .bytes = 32};
	CU_ASSERT_EQUAL(annex_m2_launch_many(r.m2, jobs, 8), 0);
	for (unsigned int i = 0; i < 8; i++) {
		CU_ASSERT_EQUAL(annex_m2_poll(r.m2, jobs[i].instance, NULL), 1);
		for (unsigned int k = 0; k < i; k++)
			CU_ASSERT_NOT_EQUAL(jobs[i].instance, jobs[k].instance);
	}
	for (unsigned int i = 0; i < 8; i++)
		m2_rig_let_go(&r.pool[4 * i]);
	for (unsigned int i = 0; i < 8; i++)
		CU_ASSERT_EQUAL(annex_m2_wait(r.m2, jobs[i].instance, M2_RIG_LONG_MS, NULL), 0);
	m2_rig_close(&r);
}

static void launch_many(void)
{
	launch_over(NULL);
	launch_over(&(struct annex_m2_opts){.slots = 3});
}

/* One that fails keeps no other from running. */
static void each_has_its_end(void)
{
	struct annex_m2_job jobs[7] = {0};
	uint64_t add = 3, instance;
	struct m2_rig r;
	uint32_t id, illegal;

	m2_rig_open(&r, NULL);
	id = m2_rig_register(r.m2, m2_rig_counter(&r), 8);
	illegal = m2_rig_register(r.m2, M2_IMAGE(&r, NONE), 0);
	for (unsigned int i = 0; i < 7; i++)
		jobs[i] = (struct annex_m2_job){
			.id = id, .pool = &r.pool[4 * i], .bytes = 32, .args = &add, .nargs = 8};
	jobs[1].id = 4711;
	jobs[2].pool = (void *)4096;
	jobs[3] = (struct annex_m2_job){.id = illegal, .pool = r.pool, .bytes = 32};
	jobs[4].bytes = 0;
	jobs[5].nargs = 300;
	CU_ASSERT_EQUAL(annex_m2_run_many(r.m2, jobs, 7), -ENOENT);
	CU_ASSERT(!jobs[0].err && jobs[0].instance && r.pool[0] == 3);
	CU_ASSERT(jobs[1].err == -ENOENT && !jobs[1].instance);
	CU_ASSERT_EQUAL(jobs[2].err, -EFAULT);
	CU_ASSERT(jobs[3].err == -ENOEXEC && jobs[3].end.pc);
	CU_ASSERT_EQUAL(jobs[4].err, -EINVAL);
	CU_ASSERT_EQUAL(jobs[5].err, -EINVAL);
	CU_ASSERT(!jobs[6].err && jobs[6].instance && r.pool[24] == 3 && !jobs[6].end.pc);
	/* A launch that is not waited for has no end yet. */
	CU_ASSERT_EQUAL(annex_m2_launch_many(r.m2, &jobs[3], 1), 0);
	instance = jobs[3].instance;
	CU_ASSERT_EQUAL(annex_m2_wait(r.m2, instance, M2_RIG_LONG_MS, &jobs[3].end), -ENOEXEC);
	m2_rig_close(&r);
}

/* More than the device has room for: so many are refused, and the others run. */
static void some_are_refused(void)
{
	const struct annex_m2_opts opts = {.slots = 64};
	struct annex_m2_job jobs[40];
	unsigned int taken;
	struct m2_rig r;
	uint32_t id;

	m2_rig_open(&r, &opts);
	id = m2_rig_register(r.m2, m2_rig_gate(&r), 0);
	for (unsigned int i = 0; i < 40; i++)
		jobs[i] = (struct annex_m2_job){.id = id, .pool = &r.pool[4 * i], .bytes = 32};
	CU_ASSERT_EQUAL(annex_m2_launch_many(r.m2, jobs, 40), -EBUSY);
	taken = of_error(jobs, 40, 0);
	CU_ASSERT(taken == 15 || taken == 16);
	CU_ASSERT_EQUAL(of_error(jobs, 40, -EBUSY), 40 - taken);
	for (unsigned int i = 0; i < 40; i++)
		m2_rig_let_go(&r.pool[4 * i]);
	for (unsigned int i = 0; i < 40; i++)
		if (!jobs[i].err)
			CU_ASSERT_EQUAL(annex_m2_wait(r.m2, jobs[i].instance, M2_RIG_LONG_MS, NULL),
					0);
	m2_rig_close(&r);
}

/* One deadline for all: stored calls are abandoned, the others have found no slot. */
static void they_end_in_time(void)
{
	const struct annex_m2_opts opts = {.slots = 2, .timeout_ms = 200};
	uint64_t since, deadline = annex_deadline_ms(M2_RIG_LONG_MS);
	struct annex_m2_job jobs[5];
	struct m2_rig r;
	uint32_t id;

	m2_rig_open(&r, &opts);
	id = m2_rig_register(r.m2, m2_rig_gate(&r), 0);
	for (unsigned int i = 0; i < 5; i++)
		jobs[i] = (struct annex_m2_job){.id = id, .pool = &r.pool[4 * i], .bytes = 32};
	since = annex_now();
	CU_ASSERT_EQUAL(annex_m2_run_many(r.m2, jobs, 5), -ETIMEDOUT);
	CU_ASSERT(annex_now() - since >= 200 * ANNEX_NSEC_PER_MSEC);
	CU_ASSERT_EQUAL(of_error(jobs, 5, -ETIMEDOUT), 2);
	CU_ASSERT_EQUAL(of_error(jobs, 5, -EBUSY), 3);
	for (unsigned int i = 0; i < 5; i++)
		m2_rig_let_go(&r.pool[4 * i]);
	/* Their slots come back with their answers. */
	while (annex_m2_run_many(r.m2, jobs, 5) && annex_now() < deadline)
		;
	CU_ASSERT_EQUAL(of_error(jobs, 5, 0), 5);
	m2_rig_close(&r);
}

/* struct band - A thread that runs many, again and again. */
struct band {
	struct m2_rig *r;
	struct annex_m2_job jobs[24];
	uint64_t add[24];
	uint32_t id;
	unsigned int first, rounds;
	int err;
};

static void *play(void *arg)
{
	struct band *b = arg;

	for (unsigned int i = 0; i < b->rounds && !b->err; i++) {
		for (unsigned int k = 0; k < 24; k++) {
			b->add[k] = 1;
			b->jobs[k] = (struct annex_m2_job){.id = b->id,
							   .pool = &b->r->pool[4 * (b->first + k)],
							   .bytes = 32,
							   .args = &b->add[k],
							   .nargs = 8};
		}
		b->err = annex_m2_run_many(b->r->m2, b->jobs, 24);
	}
	return NULL;
}

/* Slots are everybody's. */
static void many_by_many(void)
{
	const struct annex_m2_opts opts = {.slots = 5};
	struct band b[3];
	struct m2_rig r;
	uint32_t id;

	m2_rig_open(&r, &opts);
	id = m2_rig_register(r.m2, m2_rig_counter(&r), 8);
	for (unsigned int i = 0; i < 3; i++)
		b[i] = (struct band){.r = &r, .id = id, .first = 24 * i, .rounds = 20};
	unit_threads(3, play, b, sizeof(*b));
	for (unsigned int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(b[i].err, 0);
	for (unsigned int i = 0; i < 72; i++)
		CU_ASSERT_EQUAL(r.pool[4 * i], 20);
	m2_rig_close(&r);
}

static void *run_gates(void *arg)
{
	struct band *b = arg;

	b->err = annex_m2_run_many(b->r->m2, b->jobs, 24);
	return NULL;
}

static void destroyed_meanwhile(void)
{
	const struct annex_m2_opts opts = {.slots = 4};
	struct band b = {0};
	pthread_t thread;
	struct m2_rig r;

	m2_rig_open(&r, &opts);
	b.r = &r;
	b.id = m2_rig_register(r.m2, m2_rig_gate(&r), 0);
	for (unsigned int k = 0; k < 24; k++)
		b.jobs[k] = (struct annex_m2_job){.id = b.id, .pool = &r.pool[4 * k], .bytes = 32};
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, run_gates, &b), 0);
	CU_ASSERT(m2_rig_becomes(&r.pool[1]));
	annex_ndp_destroy(r.ndp);
	r.ndp = NULL;
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(b.err, -ENODEV);
	CU_ASSERT_EQUAL(of_error(b.jobs, 24, -ENODEV), 24);
	CU_ASSERT_EQUAL(annex_m2_launch_many(r.m2, b.jobs, 24), -ENODEV);
	CU_ASSERT_EQUAL(of_error(b.jobs, 24, -ENODEV), 24);
	m2_rig_close(&r);
}

static void not_in_a_child(void)
{
	struct annex_m2_job job = {.id = 1};
	struct m2_rig r;
	int status = -1;
	pid_t child;

	m2_rig_open(&r, NULL);
	job.pool = r.pool;
	job.bytes = 32;
	child = fork();
	if (!child)
		_exit(annex_m2_run_many(r.m2, &job, 1) != -ECHILD || job.err != -ECHILD);
	waitpid(child, &status, 0);
	CU_ASSERT_EQUAL(status, 0);
	m2_rig_close(&r);
}

/* A wait has its own deadline, independent of the options of calls and the holders of slots. */
static void waits_end_in_time(void)
{
	const struct annex_m2_opts opts = {.slots = 1, .timeout_ms = 20000};
	uint64_t instance, since;
	struct m2_call other;
	struct m2_rig r;
	uint32_t id;

	m2_rig_open(&r, &opts);
	id = m2_rig_register(r.m2, m2_rig_gate(&r), 0);
	CU_ASSERT_EQUAL(annex_m2_launch(r.m2, id, r.pool, 32, NULL, 0, &instance), 0);
	CU_ASSERT_EQUAL(annex_m2_wait(r.m2, instance, 0, NULL), -ETIMEDOUT);
	other = (struct m2_call){.m2 = r.m2};
	CU_ASSERT_EQUAL_FATAL(m2_slot_take(&other, true), 0);
	since = annex_now();
	CU_ASSERT_EQUAL(annex_m2_wait(r.m2, instance, 30, NULL), -ETIMEDOUT);
	CU_ASSERT(annex_now() - since >= 30 * ANNEX_NSEC_PER_MSEC);
	CU_ASSERT(annex_now() - since < 10 * ANNEX_NSEC_PER_SEC);
	m2_slot_give(&other, false);
	m2_rig_let_go(&r.pool[0]);
	CU_ASSERT_EQUAL(annex_m2_wait(r.m2, instance, M2_RIG_LONG_MS, NULL), 0);
	CU_ASSERT_EQUAL(annex_m2_wait(r.m2, instance, 0, NULL), 0);
	m2_rig_close(&r);
}

/* A running kernel is not unloaded, and the handle remains for another try. */
static void kernels_are_closed_when_they_can_be(void)
{
	struct annex_m2_kernel *gate = calloc(1, sizeof(*gate));
	struct annex_kernels *k;
	uint64_t instance;
	struct m2_rig r;

	m2_rig_open(&r, NULL);
	CU_ASSERT_EQUAL(annex_kernels_close(NULL), 0);
	CU_ASSERT_EQUAL_FATAL(annex_kernels_open(r.m2, r.hdm, &k), 0);
	CU_ASSERT_EQUAL(annex_ndp_memset(k, r.pool, 0, 4096), 0);
	gate->hdm = r.hdm;
	gate->image = m2_rig_gate(&r);
	gate->id = m2_rig_register(r.m2, gate->image, 0);
	k->kernel[K_copy] = gate;
	CU_ASSERT_EQUAL(annex_m2_launch(r.m2, gate->id, r.pool, 32, NULL, 0, &instance), 0);
	CU_ASSERT(m2_rig_becomes(&r.pool[1]));
	CU_ASSERT_EQUAL_FATAL(annex_kernels_close(k), -EBUSY);
	CU_ASSERT(!k->kernel[K_memset] && k->kernel[K_copy] == gate);
	m2_rig_let_go(&r.pool[0]);
	CU_ASSERT_EQUAL(annex_m2_wait(r.m2, instance, M2_RIG_LONG_MS, NULL), 0);
	CU_ASSERT_EQUAL(annex_kernels_close(k), 0);
	m2_rig_close(&r);
}

UNIT_SUITE(m2func_many, {"run many", run_many}, {"launch many", launch_many},
	   {"each has its end", each_has_its_end}, {"some are refused", some_are_refused},
	   {"they end in time", they_end_in_time}, {"many by many", many_by_many},
	   {"destroyed meanwhile", destroyed_meanwhile}, {"not in a child", not_in_a_child},
	   {"waits end in time", waits_end_in_time},
	   {"kernels are closed when they can be", kernels_are_closed_when_they_can_be})
