// SPDX-License-Identifier: MIT
/*
 * annex against the others on many machines: measured and generated traces, each on every
 * combination of three GPUs, three host memories and three SSDs.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "plan.h"

#define MOST_MACHINES 27
#define MACHINES BENCH_SIZE(MOST_MACHINES, 3)
#define SWEEP "--sweep gpu=20,40,80 host=0,32,128 ssd=1.6,3.2,12.8"

static const struct plan_subject subjects[] = {
	{"bert-256", 0},     {"vit-1280", 0},    {"bert-base", 64},   {"resnet152-1280", 0},
	{"bert-base", 256},  {"bert-large", 32}, {"bert-large", 128}, {"vit-l16", 64},
	{"vit-l16", 256},    {"gpt2", 8},        {"gpt2", 32},        {"gpt2-xl", 1},
	{"gpt2-xl", 4},      {"llama-1b", 1},    {"llama-1b", 4},     {"llama-7b", 1},
	{"llama-7b", 2},     {"resnet50", 256},  {"resnet50", 1024},  {"resnet152", 256},
	{"resnet152", 1024},
};
#define MOST_SUBJECTS (sizeof(subjects) / sizeof(*subjects))
#define SUBJECTS BENCH_SIZE(MOST_SUBJECTS, 3)

/*
 * struct cell - One trace on one machine. Seconds are INFINITY where a policy cannot run it.
 * @other: the fastest of the others than annex, and whose that is.
 */
struct cell {
	double g10, annex, bound, other;
	const char *whose;
	bool taken_over;
};

struct grid {
	struct plan_trace traces[MOST_SUBJECTS];
	bool there[MOST_SUBJECTS];
	struct cell cells[MOST_SUBJECTS * MOST_MACHINES];
};

/* Machine @i of the grid; the last number changes first. Few are far from each other. */
static struct annex_system machine(unsigned int i)
{
	static const uint64_t gpu[] = {20, 40, 80}, host[] = {0, 32, 128};
	static const double ssd[] = {1.6e9, 3.2e9, 12.8e9};
	struct annex_system sys;

	i *= (MOST_MACHINES - 1) / (MACHINES - 1);
	annex_system_init(&sys);
	sys.gpu = gpu[i / 9] << 30;
	sys.host = host[i / 3 % 3] << 30;
	sys.ssd_read = sys.ssd_write = ssd[i % 3];
	return sys;
}

static double measure(const struct plan_trace *t, const struct annex_system *sys,
		      const char *policy, bool *taken_over)
{
	struct plan_run run;
	double s;

	plan_run(t, sys, policy, &run);
	s = run.feasible ? run.r.iteration : INFINITY;
	*taken_over = run.feasible && annex_plan_of(run.plan);
	annex_plan_free(run.plan);
	return s;
}

static void work(void *grid, unsigned int i)
{
	struct grid *g = grid;
	struct cell *c = &g->cells[i];
	struct plan_trace *t = &g->traces[i / MACHINES];
	struct annex_system sys = machine(i % MACHINES);
	bool unused;

	if (!g->there[i / MACHINES])
		return;
	c->annex = measure(t, &sys, "annex", &c->taken_over);
	c->other = INFINITY;
	for (unsigned int p = 0; p < PLAN_OTHERS; p++) {
		double s = measure(t, &sys, plan_others[p], &unused);

		if (!strcmp(plan_others[p], "g10"))
			c->g10 = s;
		if (s < c->other) {
			c->other = s;
			c->whose = plan_others[p];
		}
	}
	if (annex_bound(t->vitality, &sys, &c->bound))
		bench_fail("%s: out of memory", t->label);
}

/* struct sums - Over the cells that both policies can run, and over those where g10 stalls. */
struct sums {
	unsigned int runs, slower, only_annex, neither, taken_over, below, both, stalls;
	double worst, faster, faster_stalls, above, best;
};

static void add(struct sums *s, const struct cell *c, double ideal)
{
	double times = c->g10 / c->annex;

	s->runs++;
	s->neither += isinf(c->g10) && isinf(c->annex);
	s->only_annex += isinf(c->g10) && !isinf(c->annex);
	s->slower += c->annex > c->other * PLAN_EQUAL;
	s->taken_over += c->taken_over;
	/* Sums of thousands of times differ in their last digits. */
	s->below += c->annex < c->bound * (1 - 1e-9) || c->g10 < c->bound * (1 - 1e-9);
	if (isinf(c->annex))
		return;
	s->above += log(c->annex / c->bound);
	if (isinf(c->g10))
		return;
	s->both++;
	s->worst = s->both == 1 || times < s->worst ? times : s->worst;
	s->best = times > s->best ? times : s->best;
	s->faster += log(times);
	if (c->g10 > ideal * 1.001) {
		s->stalls++;
		s->faster_stalls += log(times);
	}
}

static void report(const struct sums *s)
{
	unsigned int feasible = s->runs - s->neither;

	bench_command("annex simulate TRACE --policy all " SWEEP);
	bench_figure("grid: traces on machines", s->runs, "runs", 0, 0);
	bench_figure("grid: annex slower than another, or infeasible where one is not", s->slower,
		     "runs", 0, 1);
	bench_figure("grid: below the bound (the simulator would be wrong)", s->below, "runs", 0,
		     1);
	bench_figure("grid: only annex can run it", s->only_annex, "runs", 0, 0);
	bench_figure("grid: neither can", s->neither, "runs", 0, 0);
	bench_figure("grid: annex takes over the plan of another policy",
		     100.0 * s->taken_over / s->runs, "%", 1, 1);
	if (s->both) {
		bench_figure("grid: g10 / annex, least", s->worst, "x", 0, 0);
		bench_figure("grid: g10 / annex, geometric mean", exp(s->faster / s->both), "x", 0,
			     0);
		bench_figure("grid: g10 / annex, most", s->best, "x", 0, 0);
	}
	bench_figure("grid: where g10 is 0.1 % or more from the ideal", s->stalls, "runs", 0, 0);
	if (s->stalls)
		bench_figure("grid: g10 / annex there, geometric mean",
			     exp(s->faster_stalls / s->stalls), "x", 0, 0);
	if (feasible)
		bench_figure("grid: annex above the bound, geometric mean",
			     (exp(s->above / feasible) - 1) * 100, "%", 0, 0);
}

void plan_grid(const struct bench_ctx *ctx)
{
	struct grid *g = calloc(1, sizeof(*g));
	struct sums sums = {0};

	(void)ctx;
	if (!g)
		bench_fail("out of memory");
	for (unsigned int i = 0; i < SUBJECTS; i++)
		g->there[i] = plan_open(&subjects[i], &g->traces[i]);
	annex_set_log(NULL, NULL); /* some of them cannot run here and there */
	plan_each(SUBJECTS * MACHINES, work, g);
	for (unsigned int i = 0; i < SUBJECTS * MACHINES; i++) {
		const struct plan_trace *t = &g->traces[i / MACHINES];
		struct annex_system sys = machine(i % MACHINES);
		const struct cell *c = &g->cells[i];

		if (!g->there[i / MACHINES])
			continue;
		add(&sums, c, (double)t->vitality->start[t->trace->n_kernels] / 1e9);
		if (isinf(c->g10) != isinf(c->annex) || c->taken_over)
			bench_note("%s: %s, gpu %llu, host %llu, ssd %.1f",
				   c->taken_over ? "another's plan" : "not both can", t->label,
				   (unsigned long long)sys.gpu >> 30,
				   (unsigned long long)sys.host >> 30, sys.ssd_read / 1e9);
		if (c->annex > c->other * PLAN_EQUAL)
			bench_note("slower: %s, gpu %llu, host %llu, ssd %.1f: %.6f s, %s %.6f s",
				   t->label, (unsigned long long)sys.gpu >> 30,
				   (unsigned long long)sys.host >> 30, sys.ssd_read / 1e9, c->annex,
				   c->whose, c->other);
	}
	report(&sums);
	for (unsigned int i = 0; i < SUBJECTS; i++)
		plan_close(&g->traces[i]);
	free(g);
}
