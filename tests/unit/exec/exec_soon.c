// SPDX-License-Identifier: MIT
/*
 * When plans come: after the first iteration, which differs from the others, and in the middle of
 * one.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <annex/detail/clock.h>
#include <annex/exec.h>
#include "tests/unit/unit.h"

#define MIB (1ull << 20)
#define KERNELS 2000u /* of an iteration */
#define BEFORE 100u   /* a plan comes */
#define PLANS 20u     /* at most */
#define WAIT_NS 20000000000ull

static sem_t allowed; /* to make a plan */
static sem_t ended;   /* the thread that made it */
static pthread_key_t at_end;

static void tell(void *sem)
{
	sem_post(sem);
}

static int make_when_allowed(const struct annex_vitality *v, const struct annex_system *sys,
			     struct annex_plan **plan)
{
	sem_wait(&allowed);
	pthread_setspecific(at_end, &ended);
	return annex_policy_find("annex")->make(v, sys, plan);
}

static const struct annex_policy gated = {"gated", "annex's, when it is allowed",
					  make_when_allowed};

static void run(struct annex_exec *e, const char *name, const void *p)
{
	const struct annex_exec_use use = {p, ANNEX_USE_READ | ANNEX_USE_WRITE};

	CU_ASSERT_EQUAL(annex_exec_before(e, name, &use, 1), 0);
	CU_ASSERT_EQUAL(annex_exec_after(e), 0);
}

static uint32_t planned_kernels(const struct annex_exec *e)
{
	const struct annex_trace *trace;
	const struct annex_system *sys;

	return annex_exec_plan(e, &trace, &sys) ? trace->n_kernels : 0;
}

/*
 * A plan comes in the middle of iteration 1; the first one, 0, has a kernel more than the others.
 * Return: the kernel before which a plan was there; KERNELS: none.
 */
static uint32_t iterate(struct annex_exec *e, const void *p, unsigned int number)
{
	uint32_t came = KERNELS;

	CU_ASSERT_EQUAL(annex_exec_begin(e), 0);
	for (uint32_t k = 0; k < KERNELS; k++) {
		if (k == BEFORE && number)
			sem_post(&allowed);
		if (k == BEFORE && number == 1)
			sem_wait(&ended);
		if (k >= BEFORE)
			sched_yield();
		run(e, "all", p);
		if (came == KERNELS && planned_kernels(e))
			came = k;
	}
	if (!number)
		run(e, "state", p);
	CU_ASSERT_EQUAL(annex_exec_end(e), 0);
	return came;
}

static void in_the_middle(void)
{
	struct annex_space_opts space_opts = {.device = 4 * MIB, .host = 4 * MIB, .size = 4 * MIB};
	const struct annex_exec_opts opts = {.own = &gated};
	uint64_t since = annex_now();
	struct annex_exec_stats st;
	struct annex_space *space;
	struct annex_exec *e;
	void *p;

	CU_ASSERT_EQUAL_FATAL(annex_space_create(&space_opts, &space), 0);
	CU_ASSERT_EQUAL_FATAL(annex_alloc(space, "all", MIB, &p), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_key_create(&at_end, tell), 0);
	sem_init(&allowed, 0, 0);
	sem_init(&ended, 0, 0);
	CU_ASSERT_EQUAL_FATAL(annex_exec_create(space, &opts, &e), 0);
	CU_ASSERT_EQUAL(iterate(e, p, 0), KERNELS);
	annex_exec_get_stats(e, &st);
	CU_ASSERT(st.planning && !st.plans && !st.until_plan_ns);
	CU_ASSERT_EQUAL(iterate(e, p, 1), BEFORE);
	annex_exec_get_stats(e, &st);
	/* It has one kernel more. */
	CU_ASSERT_EQUAL(planned_kernels(e), KERNELS + 1);
	CU_ASSERT(st.strayed && !st.planned && st.planning);
	CU_ASSERT(st.until_plan_ns > 0 && st.until_plan_ns < annex_now() - since);
	while (!st.planned && annex_now() - since < WAIT_NS) {
		iterate(e, p, 2);
		annex_exec_get_stats(e, &st);
	}
	CU_ASSERT(st.planned);
	CU_ASSERT_EQUAL(planned_kernels(e), KERNELS);
	/* A planner that waits for its plan could not be given back. */
	for (unsigned int i = 0; i < PLANS; i++)
		sem_post(&allowed);
	annex_exec_destroy(e);
	sem_destroy(&allowed);
	sem_destroy(&ended);
	pthread_key_delete(at_end);
	annex_space_destroy(space);
}

/* A program prepares itself, and then says so: its first iteration is like those after it. */
static void after_preparation(void)
{
	struct annex_space_opts opts = {.device = 4 * MIB, .host = 4 * MIB, .size = 4 * MIB};
	const struct annex_exec_use use = {.how = ANNEX_USE_WRITE};
	const struct annex_exec_opts steady = {.drift = 1e6}; /* on a machine that is busy, too */
	uint64_t since = annex_now();
	struct annex_exec_stats st = {0};
	struct annex_space *space;
	struct annex_exec *e;
	void *p;

	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &space), 0);
	CU_ASSERT_EQUAL_FATAL(annex_alloc(space, "all", MIB, &p), 0);
	CU_ASSERT_EQUAL_FATAL(annex_exec_create(space, &steady, &e), 0);
	CU_ASSERT_EQUAL(annex_exec_restart(e), -EINVAL);
	CU_ASSERT_EQUAL(annex_exec_begin(e), 0);
	run(e, "prepare", p);
	CU_ASSERT_EQUAL(annex_exec_before(e, "nothing", &use, 0), 0);
	CU_ASSERT_EQUAL(annex_exec_restart(e), -EINVAL);
	CU_ASSERT_EQUAL(annex_exec_after(e), 0);
	CU_ASSERT_EQUAL(annex_exec_restart(e), 0);
	run(e, "all", p);
	CU_ASSERT_EQUAL(annex_exec_end(e), 0);
	annex_exec_get_stats(e, &st);
	CU_ASSERT_EQUAL(st.iterations, 1);
	CU_ASSERT(st.planning);
	while (!st.planned && annex_now() - since < WAIT_NS) {
		CU_ASSERT_EQUAL(annex_exec_begin(e), 0);
		run(e, "all", p);
		CU_ASSERT_EQUAL(annex_exec_end(e), 0);
		annex_exec_get_stats(e, &st);
	}
	CU_ASSERT_EQUAL(planned_kernels(e), 1);
	CU_ASSERT_EQUAL(st.plans, 1);
	annex_exec_destroy(e);
	annex_space_destroy(space);
}

#define TENSORS 8u

struct run {
	struct annex_space *space;
	struct annex_exec *exec;
	void *tensors[TENSORS];
};

static void open_run(struct run *r, uint64_t device)
{
	struct annex_space_opts opts = {.device = device, .host = 16 * MIB, .size = 16 * MIB};
	const struct annex_exec_opts steady = {.drift = 1e6};

	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &r->space), 0);
	for (uint32_t i = 0; i < TENSORS; i++)
		CU_ASSERT_EQUAL_FATAL(annex_alloc(r->space, "t", MIB, &r->tensors[i]), 0);
	CU_ASSERT_EQUAL_FATAL(annex_exec_create(r->space, &steady, &r->exec), 0);
}

static void close_run(struct run *r)
{
	annex_exec_destroy(r->exec);
	annex_space_destroy(r->space);
}

static struct annex_exec_stats iterate_once(struct run *r)
{
	struct annex_exec_stats st;

	CU_ASSERT_EQUAL(annex_exec_begin(r->exec), 0);
	for (uint32_t i = 0; i < TENSORS; i++) {
		run(r->exec, "one", r->tensors[i]);
		++*(uint32_t *)r->tensors[i];
	}
	CU_ASSERT_EQUAL(annex_exec_end(r->exec), 0);
	annex_exec_get_stats(r->exec, &st);
	return st;
}

/* Text of the plan, or of its trace. */
static char *text_of(const struct annex_exec *e, bool of_plan)
{
	const struct annex_trace *trace = NULL;
	const struct annex_system *sys;
	const struct annex_plan *plan = annex_exec_plan(e, &trace, &sys);
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	CU_ASSERT_FATAL(plan && f);
	CU_ASSERT_EQUAL(of_plan ? annex_plan_write(plan, f) : annex_trace_write(trace, f), 0);
	fclose(f);
	return text;
}

/* Give a plan to a space of @device bytes. Return: what annex_exec_give() does. */
static int give(struct run *r, uint64_t device, const char *plan_text, const char *trace_text)
{
	struct annex_trace *trace;
	struct annex_plan *plan;
	int err;

	open_run(r, device);
	CU_ASSERT_EQUAL_FATAL(annex_trace_parse(trace_text, strlen(trace_text), &trace), 0);
	CU_ASSERT_EQUAL_FATAL(annex_plan_parse(plan_text, strlen(plan_text), &plan), 0);
	err = annex_exec_give(r->exec, trace, plan);
	if (err) {
		annex_trace_free(trace);
		annex_plan_free(plan);
	}
	return err;
}

/* A plan of an earlier run, with tensors at other addresses, is followed at once. */
static void of_an_earlier_run(void)
{
	struct run first, second;
	struct annex_exec_stats st;
	uint64_t since = annex_now();
	char *plan, *trace;

	open_run(&first, 4 * MIB);
	do
		st = iterate_once(&first);
	while (!st.planned && annex_now() - since < WAIT_NS);
	plan = text_of(first.exec, true);
	trace = text_of(first.exec, false);
	CU_ASSERT_EQUAL(give(&second, 4 * MIB, plan, trace), 0);
	for (uint32_t i = 0; i < 3; i++) {
		st = iterate_once(&second);
		CU_ASSERT(st.planned && !st.strayed && !st.planning);
		CU_ASSERT_EQUAL(st.plans, 0);
	}
	CU_ASSERT_EQUAL(*(uint32_t *)second.tensors[0], 3);
	close_run(&second);
	CU_ASSERT_EQUAL(give(&second, 2 * MIB, plan, trace), -EINVAL); /* it is too small */
	close_run(&second);
	close_run(&first);
	free(plan);
	free(trace);
}

UNIT_SUITE(exec_soon, {"in the middle", in_the_middle}, {"after preparation", after_preparation},
	   {"of an earlier run", of_an_earlier_run})
