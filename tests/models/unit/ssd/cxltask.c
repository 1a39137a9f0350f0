// SPDX-License-Identifier: MIT
/*
 * Tasks on cores in virtual time: turns beside a sort of all events, random programs beside a
 * reference that takes one core after the other, barriers, and loads of a CXL-SSD.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <annex/models/cxlssd.h>
#include <annex/models/cxltask.h>
#include <annex/log.h>
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define LINE ANNEX_CXLSSD_LINE
#define STEPS 50u
#define MOST_TASKS 64u
#define MOST_MEETINGS 8u
#define MOST_EVENTS (MOST_TASKS * STEPS)

/* struct step - Of a program: nanoseconds of work, and an answer after @wait, told after @told. */
struct step {
	uint64_t work, wait, told;
	bool turn;
};

struct event {
	uint64_t ns, task;
};

/*
 * struct meeting - At a barrier: tasks that shall come, and have come. @latest: when the last one
 * came, or ended instead. @first: when one went on.
 */
struct meeting {
	uint32_t wanted, came;
	uint64_t latest, first;
};

/* struct world - Programs of tasks, and events in the order in which they came. */
struct world {
	struct annex_cxltasks_opts o;
	struct annex_cxltasks_stats stats;
	struct step steps[MOST_TASKS][STEPS];
	uint64_t ends[MOST_TASKS];
	struct event events[MOST_EVENTS];
	uint32_t n_tasks, n_events;
	uint64_t until;
	struct meeting meetings[MOST_MEETINGS + 1];
};

/* struct self - A task knows its number. */
struct self {
	struct world *w;
	uint32_t number;
};

static void run_world(struct world *w, void (*fn)(struct annex_cxltask *t, void *arg))
{
	struct self selves[MOST_TASKS];
	struct annex_cxltasks *all = NULL;
	struct annex_cxltasks_stats again;

	CU_ASSERT_EQUAL_FATAL(annex_cxltasks_create(&w->o, &all), 0);
	for (uint32_t i = 0; i < w->n_tasks; i++) {
		selves[i] = (struct self){w, i};
		CU_ASSERT_EQUAL_FATAL(annex_cxltasks_add(all, fn, &selves[i]), 0);
	}
	annex_cxltasks_run(all, &w->stats);
	annex_cxltasks_run(all, &again);
	CU_ASSERT_EQUAL(memcmp(&again, &w->stats, sizeof(again)), 0);
	annex_cxltasks_destroy(all);
}

static struct world *new_world(struct annex_cxltasks_opts o, uint32_t tasks)
{
	struct world *w = calloc(1, sizeof(*w));

	CU_ASSERT_PTR_NOT_NULL_FATAL(w);
	w->o = o;
	w->n_tasks = tasks;
	return w;
}

static void note(struct world *w, uint64_t ns, uint32_t task)
{
	CU_ASSERT(w->n_events < MOST_EVENTS);
	if (w->n_events < MOST_EVENTS)
		w->events[w->n_events++] = (struct event){ns, task};
}

static bool in_order(const struct world *w)
{
	for (uint32_t i = 1; i < w->n_events; i++)
		if (w->events[i].ns < w->events[i - 1].ns)
			return false;
	return true;
}

static int compare(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->task < y->task ? -1 : x->task > y->task;
}

static void run_program(struct annex_cxltask *t, void *arg)
{
	const struct self *me = arg;
	struct world *w = me->w;

	CU_ASSERT_EQUAL(annex_cxltask_core(t), me->number % w->o.cores);
	for (const struct step *s = w->steps[me->number]; s < w->steps[me->number] + STEPS; s++) {
		uint64_t now;

		annex_cxltask_work(t, s->work);
		now = annex_cxltask_now(t);
		if (s->turn) {
			annex_cxltask_turn(t);
			CU_ASSERT_EQUAL(annex_cxltask_now(t), now);
			note(w, now, me->number);
		}
		annex_cxltask_wait(t, now + s->wait, now + s->told);
	}
	w->ends[me->number] = annex_cxltask_now(t);
}

static void random_programs(struct world *w, uint64_t *rng, uint64_t wait)
{
	for (uint32_t i = 0; i < w->n_tasks; i++)
		for (uint32_t k = 0; k < STEPS; k++)
			w->steps[i][k] = (struct step){
				.work = random_next(rng) % 400,
				.wait = random_next(rng) % 4 ? random_next(rng) % wait : 0,
				.told = random_next(rng) % 4 ? random_next(rng) % 200 : 0,
				.turn = random_next(rng) % 4,
			};
}

/* A task has a core of its own: the times of its turns are sums. */
static void turns(void)
{
	static const uint32_t counts[] = {1, 7, MOST_TASKS};
	uint64_t rng = random_seed("turns");

	for (unsigned int k = 0; k < 9; k++) {
		const uint32_t n = counts[k % 3];
		struct world *w = new_world(
			(struct annex_cxltasks_opts){
				.cores = n + (uint32_t)(random_next(&rng) % 5),
				.threshold_ns = k & 1 ? ANNEX_CXLTASK_NEVER : 100,
			},
			n);
		struct event *all = calloc(MOST_EVENTS, sizeof(*all));
		uint32_t n_all = 0;
		uint64_t last = 0;

		CU_ASSERT_PTR_NOT_NULL_FATAL(all);
		random_programs(w, &rng, 1000);
		for (uint32_t i = 0; i < n; i++) {
			uint64_t now = 0;

			for (uint32_t s = 0; s < STEPS; s++) {
				now += w->steps[i][s].work;
				if (w->steps[i][s].turn)
					all[n_all++] = (struct event){now, i};
				now += w->steps[i][s].wait;
			}
			last = now > last ? now : last;
		}
		qsort(all, n_all, sizeof(*all), compare);
		run_world(w, run_program);
		CU_ASSERT_EQUAL_FATAL(w->n_events, n_all);
		CU_ASSERT(in_order(w));
		/* Of the same time, any is first. */
		qsort(w->events, n_all, sizeof(*all), compare);
		for (uint32_t i = 0; i < n_all; i++)
			CU_ASSERT(!compare(&w->events[i], &all[i]));
		CU_ASSERT_EQUAL(w->stats.ns, last);
		CU_ASSERT_EQUAL(w->stats.switches, 0);
		free(all);
		free(w);
	}
}

/* struct reference - A core's tasks are alone in the world; @left: their steps that remain. */
struct reference {
	uint64_t now, idle, switches;
	uint64_t ready[MOST_TASKS], had[MOST_TASKS], ends[MOST_TASKS];
	uint32_t left[MOST_TASKS];
};

static uint32_t reference_choice(const struct reference *r, const struct world *w, uint32_t last)
{
	const uint32_t cores = w->o.cores, core = last % cores;
	uint32_t i = last, best = MOST_TASKS;

	if (w->o.policy == ANNEX_CXLTASK_ROUND_ROBIN) {
		do
			i = i + cores < w->n_tasks ? i + cores : core;
		while (r->ready[i] > r->now);
		return i;
	}
	for (i = core; i < w->n_tasks; i += cores)
		if (r->ready[i] <= r->now && (best == MOST_TASKS || r->had[i] < r->had[best]))
			best = i;
	return best;
}

static void reference_core(struct reference *r, const struct world *w, uint32_t core)
{
	const uint64_t threshold = w->o.threshold_ns;
	uint32_t i = core, next;
	uint64_t began, first;

	r->now = 0;
	for (;;) {
		began = r->now;
		r->ready[i] = UINT64_MAX;
		while (r->left[i] && r->ready[i] == UINT64_MAX) {
			const struct step *s = &w->steps[i][STEPS - r->left[i]--];

			r->now += s->work;
			if (s->told < s->wait && s->wait - s->told > threshold) {
				r->ready[i] = r->now + s->wait;
				r->now += s->told;
				r->idle += s->told;
			} else {
				r->now += s->wait;
				r->idle += s->wait;
			}
		}
		if (r->ready[i] == UINT64_MAX)
			r->ends[i] = r->now;
		r->had[i] += r->now - began;
		/* A last step that gave the core up: its task takes it once more, to end. */
		first = UINT64_MAX;
		for (uint32_t k = core; k < w->n_tasks; k += w->o.cores)
			first = r->ready[k] < first ? r->ready[k] : first;
		if (first == UINT64_MAX)
			return;
		if (first > r->now) {
			r->idle += first - r->now;
			r->now = first;
		}
		next = reference_choice(r, w, i);
		r->switches += next != i;
		r->now += next != i ? w->o.switch_ns : 0;
		i = next;
	}
}

static uint64_t all_work(const struct world *w)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < w->n_tasks; i++)
		for (uint32_t k = 0; k < STEPS; k++)
			ns += w->steps[i][k].work;
	return ns;
}

static void beside_a_reference(void)
{
	static const uint32_t counts[] = {1, 7, MOST_TASKS};
	uint64_t rng = random_seed("task");

	for (unsigned int k = 0; k < 60; k++) {
		struct world *w = new_world(
			(struct annex_cxltasks_opts){
				.cores = 1 + (uint32_t)(random_next(&rng) % 6),
				.policy = k & 1 ? ANNEX_CXLTASK_FAIRNESS
						: ANNEX_CXLTASK_ROUND_ROBIN,
				.threshold_ns = k % 5 ? random_next(&rng) % 3000
						      : ANNEX_CXLTASK_NEVER,
				.switch_ns = random_next(&rng) % 3 * 150,
			},
			counts[k % 3]);
		struct reference r = {.now = 0};
		uint64_t idle = 0, ns = 0;

		random_programs(w, &rng, 5000);
		for (uint32_t i = 0; i < w->n_tasks; i++)
			r.left[i] = STEPS;
		for (uint32_t i = 0; i < w->o.cores; i++) {
			r.now = 0;
			if (i < w->n_tasks)
				reference_core(&r, w, i);
			idle -= r.now;
			ns = r.now > ns ? r.now : ns;
		}
		idle += r.idle + w->o.cores * ns;
		run_world(w, run_program);
		CU_ASSERT(in_order(w));
		CU_ASSERT_EQUAL(w->stats.ns, ns);
		CU_ASSERT_EQUAL(w->stats.switches, r.switches);
		CU_ASSERT_EQUAL(w->stats.idle_ns, idle);
		for (uint32_t i = 0; i < w->n_tasks; i++)
			CU_ASSERT_EQUAL(w->ends[i], r.ends[i]);
		/* A core works, switches or is idle. */
		CU_ASSERT_EQUAL(idle + all_work(w) + r.switches * w->o.switch_ns, w->o.cores * ns);
		free(w);
	}
}

/* Two tasks on a core, and all that a switch costs, by hand. */
static void thresholds(void)
{
	static const struct {
		uint64_t threshold, ns, idle, switches;
	} cases[] = {
		/* One after the other: 100 + 10000, twice, with a switch. */
		{10000, 20700, 20000, 1},
		{ANNEX_CXLTASK_NEVER, 20700, 20000, 1},
		/* Work to 100 and from 600 to 700; ends at 10100 and 10700, and a switch each. */
		{9999, 11200, 9500, 3},
		{0, 11200, 9500, 3},
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world *w = new_world(
			(struct annex_cxltasks_opts){
				.cores = 1, .threshold_ns = cases[i].threshold, .switch_ns = 500},
			2);

		for (uint32_t k = 0; k < 2; k++)
			w->steps[k][0] = (struct step){.work = 100, .wait = 10000};
		run_world(w, run_program);
		CU_ASSERT_EQUAL(w->stats.ns, cases[i].ns);
		CU_ASSERT_EQUAL(w->stats.idle_ns, cases[i].idle);
		CU_ASSERT_EQUAL(w->stats.switches, cases[i].switches);
		free(w);
	}
}

/* A task works for longer the higher its number is, and gives its core up each time. */
static void take_turns(struct annex_cxltask *t, void *arg)
{
	const struct self *me = arg;

	while (annex_cxltask_now(t) < me->w->until) {
		const uint64_t ns = 100 * (me->number + 1);

		note(me->w, ns, me->number);
		annex_cxltask_work(t, ns);
		annex_cxltask_wait(t, annex_cxltask_now(t) + 1, annex_cxltask_now(t));
	}
}

static struct world *policy_world(enum annex_cxltask_policy policy, uint64_t seed)
{
	struct world *w = new_world(
		(struct annex_cxltasks_opts){.cores = 1, .policy = policy, .seed = seed}, 8);

	w->until = 500000;
	run_world(w, take_turns);
	return w;
}

static void policies(void)
{
	struct world *w = policy_world(ANNEX_CXLTASK_ROUND_ROBIN, 1), *other;
	uint64_t had[8] = {0}, had_mean = 0;
	bool seen[8][8] = {{0}};
	uint32_t in_turn = 0;

	for (uint32_t i = 0; i < w->n_events; i++)
		CU_ASSERT_EQUAL(w->events[i].task, i % 8);
	free(w);

	w = policy_world(ANNEX_CXLTASK_FAIRNESS, 1);
	for (uint32_t i = 0; i < w->n_events; i++)
		had[w->events[i].task] += w->events[i].ns;
	for (uint32_t i = 0; i < 8; i++)
		had_mean += had[i] / 8;
	for (uint32_t i = 0; i < 8; i++)
		CU_ASSERT(had[i] + 800 >= had_mean && had[i] <= had_mean + 800);
	free(w);

	w = policy_world(ANNEX_CXLTASK_RANDOM, 1);
	other = policy_world(ANNEX_CXLTASK_RANDOM, 1);
	CU_ASSERT_EQUAL(w->n_events, other->n_events);
	CU_ASSERT_EQUAL(memcmp(w->events, other->events, sizeof(w->events)), 0);
	free(other);
	other = policy_world(ANNEX_CXLTASK_RANDOM, 2);
	CU_ASSERT_NOT_EQUAL(memcmp(w->events, other->events, sizeof(w->events)), 0);
	free(other);
	/* Any task comes after any other. The same one cannot: its answer takes a nanosecond. */
	for (uint32_t i = 1; i < w->n_events; i++) {
		const uint64_t before = w->events[i - 1].task, after = w->events[i].task;

		seen[before][after] = true;
		in_turn += after == (before + 1) % 8;
	}
	for (uint32_t i = 0; i < 64; i++)
		CU_ASSERT_EQUAL(seen[i / 8][i % 8], i / 8 != i % 8);
	CU_ASSERT(in_turn > 0 && in_turn < w->n_events / 3);
	free(w);
}

/*
 * Work without a turn, so that a task can be at the barrier before one whose clock is behind. Each
 * task ends after some barriers.
 */
static void meet(struct annex_cxltask *t, void *arg)
{
	const struct self *me = arg;
	struct world *w = me->w;
	struct meeting *m = w->meetings;

	for (const struct step *s = w->steps[me->number]; s->work; s++, m++) {
		annex_cxltask_work(t, s->work);
		annex_cxltask_wait(t, annex_cxltask_now(t) + s->wait, 0);
		m->came++;
		if (annex_cxltask_now(t) > m->latest)
			m->latest = annex_cxltask_now(t);
		annex_cxltask_barrier(t);
		CU_ASSERT_EQUAL(m->came, m->wanted);
		CU_ASSERT(annex_cxltask_now(t) >= m->latest);
		if (annex_cxltask_now(t) < m->first)
			m->first = annex_cxltask_now(t);
	}
	if (annex_cxltask_now(t) > m->latest)
		m->latest = annex_cxltask_now(t);
}

static void barriers(void)
{
	static const uint32_t counts[] = {1, 7, MOST_TASKS};
	uint64_t rng = random_seed("barrier");

	for (unsigned int k = 0; k < 60; k++) {
		struct world *w = new_world(
			(struct annex_cxltasks_opts){
				.cores = 1 + (uint32_t)(random_next(&rng) % 70),
				.policy = (enum annex_cxltask_policy)(k / 2 % 3),
				.threshold_ns = k & 1 ? 100 : ANNEX_CXLTASK_NEVER,
			},
			counts[k % 3]);

		for (uint32_t i = 0; i < w->n_tasks; i++) {
			/* Some tasks come to no barrier. */
			const uint32_t n = (uint32_t)(random_next(&rng) % MOST_MEETINGS);

			for (uint32_t s = 0; s < n; s++) {
				w->steps[i][s] = (struct step){
					.work = 1 + random_next(&rng) % 1000,
					.wait = random_next(&rng) % 300,
				};
				w->meetings[s].wanted++;
			}
		}
		for (uint32_t s = 0; s < MOST_MEETINGS; s++)
			w->meetings[s].first = UINT64_MAX;
		run_world(w, meet);
		for (const struct meeting *m = w->meetings; m->wanted; m++) {
			CU_ASSERT_EQUAL(m->came, m->wanted);
			CU_ASSERT_EQUAL(m->first, m->latest);
		}
		free(w);
	}
}

/* The first task ends late, the others are at a barrier early, in the order of their numbers. */
static void end_late(struct annex_cxltask *t, void *arg)
{
	const struct self *me = arg;

	if (!me->number) {
		annex_cxltask_work(t, 5000);
		return;
	}
	annex_cxltask_work(t, 1000 / me->number);
	annex_cxltask_barrier(t);
	note(me->w, annex_cxltask_now(t), me->number);
	annex_cxltask_work(t, 1000 / me->number);
	annex_cxltask_barrier(t);
	note(me->w, annex_cxltask_now(t), me->number);
}

static void barrier_times(void)
{
	struct world *w = new_world((struct annex_cxltasks_opts){.cores = 4}, 4);

	run_world(w, end_late);
	CU_ASSERT_EQUAL(w->n_events, 6);
	for (uint32_t i = 0; i < 6; i++)
		CU_ASSERT_EQUAL(w->events[i].ns, i < 3 ? 5000 : 6000);
	CU_ASSERT_EQUAL(w->stats.ns, 6000);
	/* 1000 of the first core, and of the others all but twice their work. */
	CU_ASSERT_EQUAL(w->stats.idle_ns, 1000 + 4000 + 5000 + 5334);
	free(w);
}

static void for_ever(struct annex_cxltask *t, void *arg)
{
	const struct self *me = arg;

	annex_cxltask_work(t, UINT64_MAX - 1000 * me->number);
	annex_cxltask_turn(t);
	note(me->w, annex_cxltask_now(t), me->number);
	annex_cxltask_wait(t, UINT64_MAX, 0);
	annex_cxltask_barrier(t);
	annex_cxltask_work(t, 1);
	annex_cxltask_wait(t, UINT64_MAX, UINT64_MAX);
	note(me->w, annex_cxltask_now(t), me->number);
}

/* Clocks that have come to their ends stand still, and all tasks end. */
static void end_of_time(void)
{
	struct world *w =
		new_world((struct annex_cxltasks_opts){.cores = 2, .switch_ns = UINT64_MAX}, 7);

	run_world(w, for_ever);
	CU_ASSERT_EQUAL(w->n_events, 14);
	CU_ASSERT(in_order(w));
	CU_ASSERT_EQUAL(w->stats.ns, UINT64_MAX - 1);
	free(w);
}

static void wrong_words(void)
{
	static const struct annex_cxltasks_opts wrong[] = {
		{.cores = 0},
		{.cores = 1, .policy = (enum annex_cxltask_policy)3},
		{.cores = 1, .stack = 1},
		{.cores = 1, .stack = (16 << 10) - 1},
		{.cores = 1, .stack = (1u << 30) + 1},
	};
	struct world *w = new_world((struct annex_cxltasks_opts){.cores = 3}, 0);
	struct annex_cxltasks *all = NULL;

	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		CU_ASSERT_EQUAL(annex_cxltasks_create(&wrong[i], &all), -EINVAL);
		CU_ASSERT(strlen(annex_last_error()) > 0);
		CU_ASSERT_PTR_NULL(all);
	}
	annex_cxltasks_destroy(NULL);
	/* No task; and one that comes too late. */
	run_world(w, run_program);
	CU_ASSERT_EQUAL(w->stats.ns + w->stats.idle_ns + w->stats.switches, 0);
	CU_ASSERT_EQUAL_FATAL(annex_cxltasks_create(&w->o, &all), 0);
	CU_ASSERT_EQUAL(annex_cxltasks_add(all, run_program, NULL), 0);
	annex_cxltasks_destroy(all);
	CU_ASSERT_EQUAL_FATAL(annex_cxltasks_create(&w->o, &all), 0);
	annex_cxltasks_run(all, &w->stats);
	CU_ASSERT_EQUAL(annex_cxltasks_add(all, run_program, NULL), -EINVAL);
	annex_cxltasks_destroy(all);
	free(w);
}

static struct annex_cxlssd *ssd;

/* Loads of random lines, which flash has; each page holds its number. */
static void load(struct annex_cxltask *t, void *arg)
{
	const struct self *me = arg;
	uint64_t rng = me->number;

	for (uint32_t i = 0; i < STEPS; i++) {
		const uint64_t page = random_next(&rng) % 4096;
		struct annex_cxlssd_time a;
		uint64_t v = 0;

		annex_cxltask_work(t, 100);
		annex_cxltask_turn(t);
		a.now = annex_cxltask_now(t) + 1000000000;
		note(me->w, a.now, me->number);
		CU_ASSERT_EQUAL(annex_cxlssd_read(ssd, page * 4096, &v, sizeof(v), &a), 0);
		CU_ASSERT_EQUAL(v, page);
		annex_cxltask_wait(t, a.done - 1000000000, a.told - 1000000000);
		CU_ASSERT(annex_cxltask_now(t) + 1000000000 >= a.done);
	}
}

static struct world *load_all(uint64_t threshold)
{
	struct world *w = new_world((struct annex_cxltasks_opts){.cores = 2,
								 .policy = ANNEX_CXLTASK_FAIRNESS,
								 .threshold_ns = threshold,
								 .switch_ns = 1000},
				    16);

	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_open("cxlssd:?size=16M&dram=128K&media=slc", &ssd), 0);
	for (uint64_t page = 0; page < 4096; page++) {
		char buf[LINE] = {0};

		memcpy(buf, &page, sizeof(page));
		CU_ASSERT_EQUAL_FATAL(annex_cxlssd_write(ssd, page * 4096, buf, LINE, NULL), 0);
	}
	CU_ASSERT_EQUAL(annex_cxlssd_flush(ssd, NULL), 0);
	run_world(w, load);
	CU_ASSERT_EQUAL(annex_cxlssd_close(ssd), 0);
	CU_ASSERT_EQUAL(w->n_events, 16 * STEPS);
	CU_ASSERT(in_order(w));
	return w;
}

static void loads_of_an_ssd(void)
{
	struct world *without = load_all(ANNEX_CXLTASK_NEVER), *with = load_all(2000);
	struct world *again = load_all(2000);

	printf(" %llu us, with %llu switches %llu us ",
	       (unsigned long long)without->stats.ns / 1000,
	       (unsigned long long)with->stats.switches, (unsigned long long)with->stats.ns / 1000);
	/* Each core has a load under way at a time, or several. */
	CU_ASSERT(with->stats.ns < without->stats.ns / 2);
	CU_ASSERT(with->stats.idle_ns < without->stats.idle_ns);
	CU_ASSERT(with->stats.switches > without->stats.switches);
	CU_ASSERT_EQUAL(memcmp(&again->stats, &with->stats, sizeof(again->stats)), 0);
	CU_ASSERT_EQUAL(memcmp(again->events, with->events, sizeof(again->events)), 0);
	free(without);
	free(with);
	free(again);
}

UNIT_SUITE(cxltask, {"turns", turns}, {"beside a reference", beside_a_reference},
	   {"thresholds", thresholds}, {"policies", policies}, {"barriers", barriers},
	   {"barrier times", barrier_times}, {"end of time", end_of_time},
	   {"wrong words", wrong_words}, {"loads of a CXL-SSD", loads_of_an_ssd})
