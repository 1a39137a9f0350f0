// SPDX-License-Identifier: MIT
/*
 * The benchmarks of migration plans: plan OUTPUT.json TOOL DIR [GROUP]..., where a group is cost,
 * measured, noise, grid, many or growth.
 * Measured traces are looked for in $TRACES, or in ../shared/traces.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <annex/log.h>
#include "plan.h"

const char *const plan_others[PLAN_OTHERS] = {"g10",    "g10-host",    "g10-gds",
					      "deepum", "flashneuron", "uvm"};

static void analyse(struct plan_trace *t)
{
	if (annex_vitality_create(t->trace, &t->vitality))
		bench_fail("%s: out of memory", t->label);
}

bool plan_open(const struct plan_subject *s, struct plan_trace *t)
{
	struct annex_trace_spec spec = {.model = s->name, .batch = s->batch};

	*t = (struct plan_trace){.trace = NULL};
	if (s->batch) {
		snprintf(t->label, sizeof(t->label), "%s of batch %llu", s->name,
			 (unsigned long long)s->batch);
		snprintf(t->file, sizeof(t->file), "%s-%llu.json", s->name,
			 (unsigned long long)s->batch);
		if (annex_trace_generate(&spec, &t->trace))
			bench_fail("%s", annex_last_error());
		analyse(t);
		return true;
	}
	snprintf(t->label, sizeof(t->label), "%s", s->name);
	const char *traces = getenv("TRACES");

	snprintf(t->file, sizeof(t->file), "%s/%s.json", traces ? traces : "../shared/traces",
		 s->name);
	if (access(t->file, R_OK))
		return false;
	if (annex_trace_read(t->file, &t->trace))
		bench_fail("%s: %s", t->file, annex_last_error());
	analyse(t);
	return true;
}

void plan_close(struct plan_trace *t)
{
	annex_vitality_destroy(t->vitality);
	annex_trace_free(t->trace);
}

const char *plan_prepare(const struct plan_subject *s)
{
	static char command[256];

	command[0] = '\0';
	if (s->batch)
		snprintf(command, sizeof(command),
			 "annex trace gen %s --batch %llu -o %s-%llu.json && ", s->name,
			 (unsigned long long)s->batch, s->name, (unsigned long long)s->batch);
	return command;
}

/* What this thread has computed. Others on the machine change it little. */
static double thread_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

void plan_run(const struct plan_trace *t, const struct annex_system *sys, const char *policy,
	      struct plan_run *run)
{
	struct annex_sim_options opts = {0};
	struct annex_sim_job job;
	double start = thread_seconds();
	int err;

	*run = (struct plan_run){.plan = NULL};
	err = annex_policy_find(policy)->make(t->vitality, sys, &run->plan);
	run->made_s = thread_seconds() - start;
	if (!err && annex_plan_check(run->plan, t->trace, sys))
		bench_fail("%s, policy %s: %s", t->label, policy, annex_last_error());
	job = (struct annex_sim_job){t->trace, run->plan};
	if (!err)
		err = annex_simulate(&job, 1, sys, &opts, &run->r);
	run->feasible = !err;
	if (!err)
		return;
	if (err != -ENOSPC && err != -EDEADLK)
		bench_fail("%s, policy %s: %s", t->label, policy, annex_last_error());
	annex_plan_free(run->plan);
	run->plan = NULL;
}

#define MOST_THREADS 64

struct cells {
	atomic_uint next;
	unsigned int n;
	void (*one)(void *ctx, unsigned int i);
	void *ctx;
};

static void *take_cells(void *arg)
{
	struct cells *c = arg;
	unsigned int i;

	/* Relaxed: each cell has one thread, and only the number is shared. */
	while ((i = atomic_fetch_add_explicit(&c->next, 1, memory_order_relaxed)) < c->n)
		c->one(c->ctx, i);
	return NULL;
}

void plan_each(unsigned int n, void (*one)(void *ctx, unsigned int i), void *ctx)
{
	struct cells cells = {.n = n, .one = one, .ctx = ctx};
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t threads[MOST_THREADS];
	unsigned int started = 0;

	while (started < MOST_THREADS && started < cores &&
	       !pthread_create(&threads[started], NULL, take_cells, &cells))
		started++;
	if (!started)
		bench_fail("cannot create a thread");
	while (started)
		pthread_join(threads[--started], NULL);
}

static const struct bench_group groups[] = {
	{"cost", plan_cost}, {"measured", plan_measured}, {"noise", plan_noise},
	{"grid", plan_grid}, {"many", plan_many},         {"growth", plan_growth},
	{NULL, NULL},
};

int main(int argc, char **argv)
{
	bench_groups(groups, argc, argv);
	return 0;
}
