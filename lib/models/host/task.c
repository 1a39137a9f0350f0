// SPDX-License-Identifier: MIT
/*
 * Tasks and their cores. The core with the earliest clock runs: fibers switch to each other
 * directly, and to the caller's stack when all have ended.
 */
#include <errno.h>
#include <stdlib.h>
#include <annex/models/cxltask.h>
#include <annex/detail/random.h>
#include "core/log.h"
#include "fiber.h"

#define DEFAULT_STACK (64u << 10)
#define NEVER UINT64_MAX
/* Clocks stop here. */
#define LAST (NEVER - 1)

/*
 * struct annex_cxltask - A task.
 * @fiber: its fiber.
 * @all: all tasks.
 * @core: its core.
 * @number: its number.
 * @fn: its function.
 * @arg: argument of @fn.
 * @ready: time from which it can run; NEVER: at a barrier, or ended.
 * @since: time at which it got the core.
 * @had: time on the core before that.
 */
struct annex_cxltask {
	struct fiber fiber;
	struct annex_cxltasks *all;
	struct core *core;
	uint32_t number;
	void (*fn)(struct annex_cxltask *t, void *arg);
	void *arg;
	uint64_t ready, since, had;
};

/*
 * struct core - A core.
 * @now: its clock.
 * @next: its clock, or the time at which one of its tasks is ready.
 * @task: the running task, or NULL.
 * @tasks: its tasks.
 * @n: number of its tasks.
 * @last: index of the task that ran last.
 */
struct core {
	uint64_t now, next;
	struct annex_cxltask *task;
	struct annex_cxltask **tasks;
	uint32_t n, last;
};

/*
 * struct annex_cxltasks - All tasks.
 * @o: options.
 * @cores: the cores.
 * @tasks: the tasks.
 * @n: number of tasks.
 * @alive: number of tasks that have not ended.
 * @arrived: number of tasks at the barrier.
 * @ran: annex_cxltasks_run() was called.
 * @horizon: time until which the running core has the earliest clock.
 * @random: state of the random generator.
 * @caller: the stack of the caller.
 * @stats: counters.
 */
struct annex_cxltasks {
	struct annex_cxltasks_opts o;
	struct core *cores;
	struct annex_cxltask **tasks;
	uint32_t n, alive, arrived;
	bool ran;
	uint64_t horizon, random;
	struct fiber caller;
	struct annex_cxltasks_stats stats;
};

int annex_cxltasks_create(const struct annex_cxltasks_opts *opts, struct annex_cxltasks **out)
{
	struct annex_cxltasks *all;
	const size_t stack = opts->stack ? opts->stack : DEFAULT_STACK;

	if (!opts->cores || opts->policy > ANNEX_CXLTASK_FAIRNESS || stack < 16u << 10 ||
	    stack > 1u << 30)
		return annex_fail(-EINVAL, "CXL tasks: %u cores, policy %u, stacks of %zu bytes",
				  opts->cores, opts->policy, stack);
	all = calloc(1, sizeof(*all));
	if (all)
		all->cores = calloc(opts->cores, sizeof(*all->cores));
	if (!all || !all->cores) {
		free(all);
		return annex_fail(-ENOMEM, "CXL tasks: out of memory");
	}
	all->o = *opts;
	all->o.stack = stack;
	all->random = opts->seed;
	*out = all;
	return 0;
}

void annex_cxltasks_destroy(struct annex_cxltasks *all)
{
	if (!all)
		return;
	for (uint32_t i = 0; i < all->n; i++) {
		fiber_free(&all->tasks[i]->fiber);
		free(all->tasks[i]);
	}
	for (uint32_t i = 0; i < all->o.cores; i++)
		free(all->cores[i].tasks);
	free(all->cores);
	free(all->tasks);
	free(all);
}

/* When a core's next task can go on, if no task has it. */
static uint64_t next_ready(const struct core *c)
{
	uint64_t first = NEVER;

	for (uint32_t i = 0; i < c->n; i++)
		if (c->tasks[i]->ready < first)
			first = c->tasks[i]->ready;
	return first > c->now ? first : c->now;
}

static void advance(struct core *c, uint64_t ns)
{
	c->now = ns < LAST - c->now ? c->now + ns : LAST;
}

static bool is_ready(const struct core *c, uint32_t i)
{
	return c->tasks[i]->ready <= c->now;
}

/* The task of a core that goes on now; one at least is ready. */
static uint32_t choose(struct annex_cxltasks *all, const struct core *c)
{
	uint32_t best = 0, ready = 0;

	switch (all->o.policy) {
	case ANNEX_CXLTASK_RANDOM:
		/* The second one takes the place of the first with one half, and so on. */
		for (uint32_t i = 0; i < c->n; i++)
			if (is_ready(c, i) && annex_random(&all->random) % ++ready == 0)
				best = i;
		return best;
	case ANNEX_CXLTASK_FAIRNESS:
		best = c->n;
		for (uint32_t i = 0; i < c->n; i++)
			if (is_ready(c, i) &&
			    (best == c->n || c->tasks[i]->had < c->tasks[best]->had))
				best = i;
		return best;
	default:
		best = (c->last + 1) % c->n;
		while (!is_ready(c, best))
			best = (best + 1) % c->n;
		return best;
	}
}

/* A core without a task takes one. */
static void take(struct annex_cxltasks *all, struct core *c)
{
	const uint64_t began = c->now;
	uint32_t i;

	c->now = c->next;
	all->stats.idle_ns += c->now - began;
	i = choose(all, c);
	if (i != c->last) {
		advance(c, all->o.switch_ns);
		all->stats.switches++;
	}
	c->last = i;
	c->task = c->tasks[i];
	c->task->since = c->now;
}

/* The core that is furthest behind goes on; none can: the caller does. */
static void go_on(struct annex_cxltasks *all, struct fiber *from)
{
	struct core *first = &all->cores[0];
	struct fiber *to = &all->caller;

	all->horizon = NEVER;
	for (struct core *c = first + 1; c < all->cores + all->o.cores; c++) {
		if (c->next < first->next) {
			all->horizon = first->next;
			first = c;
		} else if (c->next < all->horizon) {
			all->horizon = c->next;
		}
	}
	if (first->next < NEVER) {
		if (!first->task)
			take(all, first);
		to = &first->task->fiber;
	}
	if (to != from)
		fiber_switch(from, to);
}

/* The task gives its core up until @ready. */
static void give_up(struct annex_cxltask *t, uint64_t ready)
{
	struct core *c = t->core;

	t->ready = ready;
	t->had += c->now - t->since;
	c->task = NULL;
	c->next = next_ready(c);
}

static void end_barrier(struct annex_cxltasks *all, uint64_t now)
{
	all->arrived = 0;
	for (uint32_t i = 0; i < all->n; i++)
		if (all->tasks[i]->fn && all->tasks[i]->ready == NEVER)
			all->tasks[i]->ready = now;
	for (struct core *c = all->cores; c < all->cores + all->o.cores; c++)
		if (!c->task)
			c->next = next_ready(c);
}

static void run_task(void *arg)
{
	struct annex_cxltask *t = arg;
	struct annex_cxltasks *all = t->all;

	t->fn(t, t->arg);
	/* Ends and arrivals at barriers come in the order of their times, too. */
	annex_cxltask_turn(t);
	t->fn = NULL;
	t->fiber.ended = true;
	all->alive--;
	if (t->core->now > all->stats.ns)
		all->stats.ns = t->core->now;
	give_up(t, NEVER);
	if (all->alive && all->arrived == all->alive)
		end_barrier(all, t->core->now);
	go_on(all, &t->fiber);
}

/* Room for one more in a list whose room is a power of two. */
static bool grow(struct annex_cxltask ***list, uint32_t n)
{
	struct annex_cxltask **more;

	if (n & (n - 1))
		return true;
	more = realloc(*list, (n ? 2 * (size_t)n : 1) * sizeof(void *));
	if (more)
		*list = more;
	return more;
}

int annex_cxltasks_add(struct annex_cxltasks *all, void (*fn)(struct annex_cxltask *t, void *arg),
		       void *arg)
{
	struct core *c = &all->cores[all->n % all->o.cores];
	struct annex_cxltask *t;

	if (all->ran)
		return annex_fail(-EINVAL, "CXL tasks: a task that comes after the run");
	t = calloc(1, sizeof(*t));
	if (!t || !grow(&all->tasks, all->n) || !grow(&c->tasks, c->n) ||
	    !fiber_init(&t->fiber, run_task, t, all->o.stack)) {
		free(t);
		return annex_fail(-ENOMEM, "CXL tasks: out of memory");
	}
	t->all = all;
	t->core = c;
	t->number = (uint32_t)(c - all->cores);
	t->fn = fn;
	t->arg = arg;
	all->tasks[all->n++] = t;
	c->tasks[c->n++] = t;
	return 0;
}

void annex_cxltasks_run(struct annex_cxltasks *all, struct annex_cxltasks_stats *out)
{
	*out = all->stats;
	if (all->ran)
		return;
	all->ran = true;
	all->alive = all->n;
	for (struct core *c = all->cores; c < all->cores + all->o.cores; c++) {
		/* The first task is there without a switch. */
		c->task = c->n ? c->tasks[0] : NULL;
		c->next = c->n ? 0 : NEVER;
	}
	if (all->n)
		go_on(all, &all->caller);
	for (struct core *c = all->cores; c < all->cores + all->o.cores; c++)
		all->stats.idle_ns += all->stats.ns - c->now;
	*out = all->stats;
}

uint32_t annex_cxltask_core(const struct annex_cxltask *t)
{
	return t->number;
}

uint64_t annex_cxltask_now(const struct annex_cxltask *t)
{
	return t->core->now;
}

void annex_cxltask_work(struct annex_cxltask *t, uint64_t ns)
{
	advance(t->core, ns);
}

void annex_cxltask_turn(struct annex_cxltask *t)
{
	struct core *c = t->core;

	if (c->now <= t->all->horizon)
		return;
	c->next = c->now;
	go_on(t->all, &t->fiber);
}

void annex_cxltask_wait(struct annex_cxltask *t, uint64_t until, uint64_t told)
{
	struct annex_cxltasks *all = t->all;
	struct core *c = t->core;

	until = until < LAST ? until : LAST;
	if (until <= c->now)
		return;
	told = told < c->now ? c->now : told;
	if (told >= until || until - told <= all->o.threshold_ns) {
		all->stats.idle_ns += until - c->now;
		c->now = until;
		return;
	}
	all->stats.idle_ns += told - c->now;
	c->now = told;
	give_up(t, until);
	go_on(all, &t->fiber);
}

void annex_cxltask_barrier(struct annex_cxltask *t)
{
	struct annex_cxltasks *all = t->all;

	annex_cxltask_turn(t);
	give_up(t, NEVER);
	if (++all->arrived == all->alive)
		end_barrier(all, t->core->now);
	go_on(all, &t->fiber);
}
