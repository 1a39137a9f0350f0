// SPDX-License-Identifier: MIT
/*
 * annex against every other policy on machines of several GPUs and SSDs, with and without CXL
 * memory: each GPU runs the same trace, or one of several.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "plan.h"

#define MOST_SUBJECTS 4u
#define SUBJECTS BENCH_SIZE(MOST_SUBJECTS, 2u)
#define MIXES (SUBJECTS + 1) /* each of them alone, and all in turn */
#define MOST 8u
#define POLICIES (PLAN_OTHERS + 1)

static const struct plan_subject subjects[MOST_SUBJECTS] = {
	{"bert-large", 32}, {"vit-l16", 64}, {"gpt2-xl", 4}, {"llama-1b", 4}};

/*
 * struct cell - Seconds of annex and the others, INFINITY where one cannot run. @over: plans that
 * were taken over.
 */
struct cell {
	double s[POLICIES];
	unsigned int plans, over;
};

static const struct {
	uint32_t gpus, ssds;
	uint64_t cxl; /* GiB */
} machines[] = {{1, 2, 0}, {2, 1, 64}, {1, 4, 64}, {1, 8, 0},  {2, 4, 0}, {2, 8, 64},
		{4, 1, 0}, {4, 2, 64}, {4, 8, 0},  {8, 1, 64}, {8, 2, 0}, {8, 8, 64}};
#define MOST_MACHINES (sizeof(machines) / sizeof(*machines))
#define MACHINES BENCH_SIZE(MOST_MACHINES, 2)

struct many {
	struct plan_trace traces[MOST_SUBJECTS];
	struct cell cells[(MOST_SUBJECTS + 1) * MOST_MACHINES];
};

/* A GPU has 20 GiB, and 32 GiB of the host's memory. */
static struct annex_system machine(unsigned int i)
{
	struct annex_system sys;

	annex_system_init(&sys);
	sys.gpus = machines[i].gpus;
	sys.ssds = machines[i].ssds;
	sys.cxl = machines[i].cxl << 30;
	sys.cxl_rate = 24e9;
	sys.gpu = 20ull << 30;
	sys.host = sys.gpus * (32ull << 30);
	return sys;
}

/* One plan for each trace; GPU number i runs that of number i, in turn. */
static double measure(const struct many *m, unsigned int mix, const struct annex_system *sys,
		      const char *name, struct cell *c)
{
	unsigned int first = mix < SUBJECTS ? mix : 0, n = mix < SUBJECTS ? 1 : SUBJECTS;
	struct annex_plan *plans[MOST_SUBJECTS] = {NULL};
	struct annex_sim_job jobs[MOST];
	struct annex_sim_result r;
	int err = 0;

	for (unsigned int i = 0; i < n && i < sys->gpus && !err; i++) {
		const struct plan_trace *t = &m->traces[first + i];

		err = annex_plan_make(annex_policy_find(name), t->vitality, sys, &plans[i]);
		if (!err && annex_plan_check(plans[i], t->trace, sys))
			bench_fail("%s, policy %s: %s", t->label, name, annex_last_error());
		c->plans += !err;
		c->over += !err && annex_plan_of(plans[i]);
	}
	for (unsigned int i = 0; i < sys->gpus; i++)
		jobs[i] = (struct annex_sim_job){m->traces[first + i % n].trace, plans[i % n]};
	if (!err)
		err = annex_simulate(jobs, sys->gpus, sys, NULL, &r);
	if (err && err != -ENOSPC && err != -EDEADLK)
		bench_fail("policy %s: %s", name, annex_last_error());
	for (unsigned int i = 0; i < n; i++)
		annex_plan_free(plans[i]);
	return err ? INFINITY : r.iteration;
}

static const char *name_of(unsigned int policy)
{
	return policy ? plan_others[policy - 1] : "annex";
}

static void work(void *many, unsigned int i)
{
	struct many *m = many;
	struct annex_system sys = machine(i % MACHINES);
	struct cell ignored = {0};

	for (unsigned int p = 0; p < POLICIES; p++)
		m->cells[i].s[p] = measure(m, i / MACHINES, &sys, name_of(p),
					   p ? &ignored : &m->cells[i]);
}

/* struct sums - @slower: than some other, where all GPUs run the same, and where they do not. */
struct sums {
	unsigned int runs, slower[2], plans, over;
};

static void add(struct sums *s, const struct many *m, unsigned int i)
{
	const struct cell *c = &m->cells[i];
	const struct annex_system sys = machine(i % MACHINES);
	unsigned int mix = i / MACHINES, best = 0;

	for (unsigned int p = 1; p < POLICIES; p++)
		if (c->s[p] < c->s[best])
			best = p;
	s->runs++;
	s->plans += c->plans;
	s->over += c->over;
	if (!(c->s[0] > c->s[best] * PLAN_EQUAL))
		return;
	s->slower[mix == SUBJECTS]++;
	bench_note("slower: %s, %u GPUs, %u SSDs, CXL %llu: %.6f s, %s %.6f s",
		   mix < SUBJECTS ? m->traces[mix].label : "all in turn", sys.gpus, sys.ssds,
		   (unsigned long long)sys.cxl >> 30, c->s[0], name_of(best), c->s[best]);
}

void plan_many(const struct bench_ctx *ctx)
{
	struct many *m = calloc(1, sizeof(*m));
	struct sums sums = {0};

	(void)ctx;
	if (!m)
		bench_fail("out of memory");
	for (unsigned int i = 0; i < SUBJECTS; i++)
		plan_open(&subjects[i], &m->traces[i]);
	annex_set_log(NULL, NULL); /* some of them cannot run here and there */
	plan_each(MIXES * MACHINES, work, m);
	for (unsigned int i = 0; i < MIXES * MACHINES; i++)
		add(&sums, m, i);
	bench_command("annex simulate TRACE... --policy all --gpu 20G --gpus 1-8 --ssds 1-8 "
		      "--cxl 0|64G --cxl-rate 24G --host GPUSx32G");
	bench_figure("several GPUs: machines", sums.runs, "runs", 0, 0);
	bench_figure("several GPUs: annex slower than another policy", sums.slower[0], "runs", 0,
		     1);
	bench_figure("several GPUs: the same, with other traces on them", sums.slower[1], "runs", 0,
		     1);
	bench_figure("several GPUs: annex takes over the plan of another policy",
		     100.0 * sums.over / (sums.plans ? sums.plans : 1), "%", 1, 1);
	for (unsigned int i = 0; i < SUBJECTS; i++)
		plan_close(&m->traces[i]);
	free(m);
}
