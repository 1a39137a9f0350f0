// SPDX-License-Identifier: MIT
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <annex/detail/clock.h>
#include <annex/exec.h>
#include "core/array.h"
#include "core/log.h"
#include "core/thread.h"
#include "plan/file.h"
#include "kind.h"
#include "machine.h"
#include "planning.h"
#include "fault.h"
#include "request.h"
#include "guard.h"
#include "uses.h"

#define RECORD 1u
#define AT_ONCE 2u /* number of plans made from kinds that occurred once: a program's first ones */
#define DRIFT 1.3
#define TIMEOUT_MS 60000u
#define WORTH 10 /* differences below 1/WORTH of an iteration are ignored */

int annex_exec_create(struct annex_space *s, const struct annex_exec_opts *opts,
		      struct annex_exec **out)
{
	struct annex_exec *e;
	const char *name;
	int err = 0;

	if (s->fork.child)
		return fork_refuse("space");
	e = calloc(1, sizeof(*e));
	if (!e)
		return annex_fail(-ENOMEM, "exec: no memory");
	if (opts)
		e->opts = *opts;
	if (e->opts.own && e->opts.policy)
		err = annex_fail(-EINVAL, "exec: a policy of one's own, and a name beside it");
	else if (e->opts.own)
		err = annex_policy_sound(e->opts.own);
	if (err) {
		free(e);
		return err;
	}
	name = e->opts.policy ? e->opts.policy : "annex";
	e->policy = e->opts.own ? e->opts.own : annex_policy_find(name);
	e->opts.drift = e->opts.drift != 0 ? e->opts.drift : DRIFT;
	e->opts.record = e->opts.record ? e->opts.record : RECORD;
	e->opts.timeout_ms = e->opts.timeout_ms ? e->opts.timeout_ms : TIMEOUT_MS;
	if (e->opts.system)
		e->system = *e->opts.system;
	e->space = s;
	if (!e->policy && strcmp(name, "none"))
		err = annex_fail(-EINVAL, "exec: there is no policy \"%s\"", name);
	else if (!(e->opts.drift > 1))
		err = annex_fail(-EINVAL, "exec: a drift of %g, which must be above 1",
				 e->opts.drift);
	if (err)
		free(e);
	else
		*out = e;
	return err;
}

void annex_exec_destroy(struct annex_exec *e)
{
	KEEP_LAST_ERROR(true);

	if (!e || e->space->fork.child)
		return;
	if (e->runs && e->flies)
		annex_exec_after(e);
	annex_uses_let_go(e);
	annex_flights_end(e);
	if (e->next)
		annex_kinds_keep(&e->kinds, e->next);
	annex_kinds_clear(&e->kinds);
	annex_log_clear(&e->now);
	free(e->held);
	free(e);
}

/* Keep a finished plan. A failed one is kept as well, unless planning is to be tried again when its
 * kind occurs again. */
static void take_plan(struct annex_exec *e)
{
	struct planning *made = e->next;

	if (!made || !annex_planning_ended(made))
		return;
	annex_planning_join(made);
	e->next = NULL;
	if (made->err && made->once) {
		annex_planning_clear(made);
		free(made);
		return;
	}
	e->stats.plan_err = made->err;
	e->stats.plans += !made->err;
	annex_kinds_keep(&e->kinds, made);
}

static void start(struct annex_exec *e)
{
	e->plan = annex_kinds_match(&e->kinds, &e->now, 0);
	e->strayed = e->joined = false;
	e->step = 0;
	e->stall = e->stalled = 0;
	annex_machine_begin(e);
	e->serial = annex_tensor_serials(e->space);
	e->began = annex_now();
	e->first = e->stats.iterations ? e->first : e->began;
}

int annex_exec_begin(struct annex_exec *e)
{
	if (e->space->fork.child)
		return fork_refuse("exec");
	if (e->iterates)
		return annex_fail(-EINVAL, "exec: an iteration is under way");
	if (e->space->guard)
		annex_signal_keep();
	take_plan(e);
	/* The next iteration is expected to be like the last one, whose plan is preferred. */
	annex_kinds_used(&e->kinds, annex_kinds_plan(&e->kinds, &e->kinds.logs[0]));
	e->iterates = true;
	start(e);
	return 0;
}

int annex_exec_restart(struct annex_exec *e)
{
	int err;

	if (e->space->fork.child)
		return fork_refuse("exec");
	if (!e->iterates || e->runs)
		return annex_fail(-EINVAL, "exec: no iteration is under way, or a kernel runs");
	err = annex_flights_wait(e);
	annex_log_clear(&e->now);
	start(e);
	return err;
}

/* The current tensor for a tensor of the plan; NULL: it has not been allocated yet. */
static const struct log_tensor *find(const struct annex_exec *e, uint32_t number)
{
	const struct log_tensor *t = &e->plan->log.tensors[number];

	if (number < e->now.n_tensors)
		return &e->now.tensors[number];
	return t->global ? t : NULL;
}

static int carry_out(struct annex_exec *e, const struct annex_plan_step *step)
{
	const struct log_tensor *t = find(e, step->tensor);
	struct want want = {
		.patient = true,
		.most = (uint32_t)((step->bytes + ANNEX_MEM_PAGE - 1) / ANNEX_MEM_PAGE)};
	struct annex_move *move;
	int err;

	if (!t && step->op == ANNEX_PLAN_ALLOC && e->plan->log.tensors[step->tensor].any)
		annex_tensor_expect(e->space, e->plan->log.tensors[step->tensor].bytes);
	if (!t || step->op == ANNEX_PLAN_ALLOC || step->op == ANNEX_PLAN_FREE)
		return 0;
	switch (step->op) {
	case ANNEX_PLAN_PREFETCH:
		want.keep = step->keep;
		want.deadline = ++e->order;
		break;
	case ANNEX_PLAN_SAVE:
		want.keep = true;
		want.to = step->tier;
		break;
	case ANNEX_PLAN_EVICT:
		want.to = step->tier;
		break;
	default: /* wait until its moves have ended */
		want.most = 0;
	}
	err = annex_move_begin(e->space, t->ptr, t->bytes, &want,
			       step->op == ANNEX_PLAN_WAIT ? &move : NULL);
	/* -EINVAL: the program has freed it meanwhile. */
	if (err || step->op != ANNEX_PLAN_WAIT)
		return err == -EINVAL ? 0 : err;
	err = annex_uses_wait(e, move);
	return err == -ECANCELED ? 0 : err;
}

/* Carry out the plan's steps before kernel @k, if the plan was made for this iteration. */
static int follow(struct annex_exec *e, uint32_t k)
{
	const struct annex_plan *plan;
	uint64_t since;
	int err = 0;

	if (!e->plan || e->strayed)
		return 0;
	if (!e->stats.until_plan_ns)
		e->stats.until_plan_ns = annex_now() - e->first;
	plan = e->plan->plan;
	if (e->step == plan->n_steps || plan->steps[e->step].kernel > k)
		return 0;
	since = thread_cpu(CLOCK_THREAD_CPUTIME_ID);
	while (!err && e->step < plan->n_steps && plan->steps[e->step].kernel <= k)
		err = carry_out(e, &plan->steps[e->step++]);
	e->moving += thread_cpu(CLOCK_THREAD_CPUTIME_ID) - since;
	return err;
}

/* From kernel @next on follow a plan with the same first @n kernels, if there is one. */
static bool change(struct annex_exec *e, uint32_t n, uint32_t next)
{
	struct planning *other = annex_kinds_match(&e->kinds, &e->now, n);

	if (!other)
		return false;
	e->plan = other;
	e->strayed = false;
	for (e->step = 0;
	     e->step < other->plan->n_steps && other->plan->steps[e->step].kernel < next;)
		e->step++;
	return true;
}

/*
 * If kernel @k differs from the plan, change to the plan of another kind of iteration with the same
 * beginning. Steps before kernel @next are skipped.
 */
static void compare(struct annex_exec *e, uint32_t k, uint32_t next)
{
	if (e->plan && !e->strayed && !annex_log_alike(&e->now, &e->plan->log, k))
		e->strayed = !change(e, k + 1, next);
}

/* Follow a plan that is finished in the middle of an iteration without one, from kernel @k on. */
static void join(struct annex_exec *e, uint32_t k)
{
	if ((e->plan && !e->strayed) || !e->next || !annex_planning_ended(e->next))
		return;
	e->plan = NULL; /* the new one may replace it */
	take_plan(e);
	e->joined = change(e, k + 1, k);
}

/*
 * Under unified memory a kernel starts at once and faults, and cannot get an error if storage
 * fails. So this is only for programs that request such a policy: under a plan that annex has
 * adopted, a kernel starts when all of its tensors are in the device tier.
 */
static bool faults(const struct annex_exec *e)
{
	static const char taken_over[] = "annex+";
	uint32_t both = ANNEX_PLAN_OVERLAP | ANNEX_PLAN_RECLAIM;

	return e->plan && !e->strayed && (e->plan->plan->flags & both) == both &&
	       strncmp(e->plan->plan->policy, taken_over, strlen(taken_over));
}

/*
 * Waits for page faults cannot be distinguished from work: a kernel with faults counts at most as
 * long as when the plan was made.
 */
static uint64_t time_of(const struct annex_exec *e, uint32_t k, uint64_t ns)
{
	uint64_t was;

	if (!e->now.kernels[k].faulted || !e->plan || k >= e->plan->log.n_kernels)
		return ns;
	was = e->plan->log.kernels[k].usual;
	return was < ns ? was : ns;
}

/*
 * A kernel's time lasts until the program requests the next one, less the time that the executor
 * takes to bring in tensors. Page faults are part of it.
 */
static void clock_kernel(struct annex_exec *e, uint64_t now)
{
	uint32_t n = e->now.n_kernels;

	if (n)
		e->now.kernels[n - 1].ns = time_of(e, n - 1,
						   now - e->asked - (e->stall - e->stalled));
	e->asked = now;
	e->stalled = e->stall;
}

static uint64_t faults_of(struct annex_space *s)
{
	struct annex_space_stats st;

	annex_space_get_stats(s, &st);
	return st.faults;
}

/*
 * Probes run at starts of kernels, under the usual load. They are spread over the iteration; the
 * length of the first one is unknown, so there the distance between probes doubles.
 */
static bool is_probed(const struct annex_exec *e)
{
	uint32_t k = e->now.n_kernels, last = e->kinds.logs[0].n_kernels;

	if (!e->policy || e->next ||
	    annex_uses_bytes(e) + e->space->opts.fault_bytes > annex_machine_room(e))
		return false;
	return e->stats.iterations ? !(k % (last / PROBES + 1)) : !(k & (k - 1));
}

static void probe(struct annex_exec *e)
{
	uint32_t n = e->space->opts.n_stores;

	if (!is_probed(e))
		return;
	annex_probe(e->space, ANNEX_TIER_GPU, &e->probes, e->opts.timeout_ms);
	if (n)
		annex_probe(e->space, ANNEX_TIER_SSD + e->reads.n % n, &e->reads,
			    e->opts.timeout_ms);
}

static int prepare(struct annex_exec *e, const struct annex_exec_use *uses, unsigned int n)
{
	uint32_t k = e->now.n_kernels - 1;
	int err = annex_uses_record(e, uses, n);

	if (err)
		return err;
	compare(e, k, k);
	join(e, k);
	err = annex_uses_fit(e);
	if (!err)
		err = follow(e, k);
	/*
	 * New memory is made in any case: a program under unified memory allocates it, too. Kernels
	 * of a GPU cannot fault here.
	 */
	if (!err)
		err = annex_uses_take(e, uses, n, faults(e) && !e->space->frames ? 0 : UINT32_MAX);
	return err;
}

int annex_exec_before(struct annex_exec *e, const char *name, const struct annex_exec_use *uses,
		      unsigned int n)
{
	uint64_t since = annex_now();
	int err;

	if (e->space->fork.child)
		return fork_refuse("exec");
	if (!e->iterates || e->runs)
		return annex_fail(-EINVAL, "exec: %s begins out of turn", name ? name : "a kernel");
	clock_kernel(e, since);
	err = annex_log_kernel(&e->now, name);
	if (err)
		return annex_fail(err, "exec: no memory");
	annex_uses_wait_from_now(e);
	err = prepare(e, uses, n);
	if (err)
		annex_uses_let_go(e);
	else
		probe(e);
	e->runs = !err;
	e->faults = faults_of(e->space);
	e->stall += annex_now() - since;
	return err;
}

int annex_exec_before_on(struct annex_exec *e, void *stream, const char *name,
			 const struct annex_exec_use *uses, unsigned int n)
{
	int err;

	if (e->space->fork.child)
		return fork_refuse("exec");
	err = e->runs ? 0 : annex_flight_prepare(e, stream);
	if (!err)
		err = annex_exec_before(e, name, uses, n);
	if (err == -EINVAL && e->runs) /* another kernel's turn */
		return err;
	if (!err)
		err = annex_flight_begin(e);
	if (err && e->flies) {
		annex_uses_let_go(e);
		annex_flight_drop(e);
		e->runs = false;
	}
	return err;
}

int annex_exec_after(struct annex_exec *e)
{
	uint32_t k = e->now.n_kernels - 1;

	if (e->space->fork.child)
		return fork_refuse("exec");
	if (!e->runs)
		return annex_fail(-EINVAL, "exec: no kernel runs");
	e->now.kernels[k].faulted = faults_of(e->space) != e->faults;
	if (e->flies) {
		annex_uses_forget_freed(e);
		annex_flight_launch(e);
	} else {
		annex_uses_let_go(e);
	}
	e->runs = e->now.open = false;
	compare(e, k, k + 1);
	return 0;
}

/* Whether the usual times of kernels differ significantly from the times in the plan. */
static bool has_drifted(const struct annex_exec *e)
{
	const struct iteration_log *made = &e->plan->log, *last = &e->kinds.logs[0];
	double all = 0, other = 0;

	for (uint32_t k = 0; k < made->n_kernels; k++) {
		double was = (double)made->kernels[k].usual, is = (double)last->kernels[k].usual;

		all += was;
		if (is > was * e->opts.drift || was > is * e->opts.drift)
			other += fabs(is - was);
	}
	return other > all / WORTH;
}

int annex_exec_give(struct annex_exec *e, struct annex_trace *trace, struct annex_plan *plan)
{
	struct annex_system sys;
	int err;

	if (e->space->fork.child)
		return fork_refuse("exec");
	if (e->iterates || !e->policy)
		return annex_fail(-EINVAL, "exec: an iteration is under way, or none has plans");
	sys = annex_machine(e);
	err = annex_plan_check(plan, trace, &sys);
	return err ? err : annex_kinds_give(&e->kinds, &sys, trace, plan);
}

static int plan_anew(struct annex_exec *e, bool seen)
{
	struct annex_system sys = annex_machine(e);
	int err;

	e->next = calloc(1, sizeof(*e->next));
	if (!e->next)
		return annex_fail(-ENOMEM, "exec: no memory for a plan");
	e->soon += !seen;
	err = annex_planning_start(e->next, e->policy, &sys, &e->kinds.logs[0], !seen);
	if (err) {
		free(e->next);
		e->next = NULL;
	}
	return err;
}

/* Whether the last kind of iteration needs a new plan. @seen: the kind has occurred before. */
static bool lacks_plan(const struct annex_exec *e, bool seen)
{
	const struct iteration_log *last = &e->kinds.logs[0];
	const struct planning *made = annex_kinds_plan(&e->kinds, last);

	if (!e->policy || e->next || !last->n_kernels || (!seen && e->soon >= AT_ONCE))
		return false;
	if (made && made->err)
		return made->sys.gpu != annex_machine_room(e);
	if (made)
		return made == e->plan && !e->strayed && has_drifted(e);
	return e->stats.iterations >= e->opts.record;
}

static void finish(struct annex_exec *e)
{
	annex_machine_end(e);
	if (e->plan && e->now.n_kernels != e->plan->log.n_kernels)
		e->strayed = true;
	e->stats.ns = annex_now() - e->began;
	e->stats.stall_ns = e->stall;
	e->stats.planned = e->plan && !e->strayed && !e->joined;
	e->stats.strayed = e->strayed;
}

/* Wait for kernels in flight. Return: @err, or else their error. */
static int wait_after(struct annex_exec *e, int err)
{
	KEEP_LAST_ERROR(err);
	int rc = annex_flights_wait(e);

	return err ? err : rc;
}

int annex_exec_end(struct annex_exec *e)
{
	uint64_t since = annex_now();
	bool seen;
	int err;

	if (e->space->fork.child)
		return fork_refuse("exec");
	if (!e->iterates)
		return annex_fail(-EINVAL, "exec: no iteration is under way");
	if (e->runs)
		annex_exec_after(e);
	e->now.open = false;
	annex_uses_wait_from_now(e);
	err = e->plan && !e->strayed && e->now.n_kernels == e->plan->log.n_kernels
		      ? follow(e, e->now.n_kernels)
		      : 0;
	e->stall += annex_now() - since;
	clock_kernel(e, annex_now());
	err = wait_after(e, err);
	annex_uses_see_stay(e);
	finish(e);
	seen = annex_kinds_see(&e->kinds, &e->now, e->opts.drift);
	if (e->plan && !e->strayed)
		annex_planning_learn(e->plan, &e->kinds.logs[0]);
	e->iterates = false;
	e->stats.iterations++;
	return !err && lacks_plan(e, seen) ? plan_anew(e, seen) : err;
}

void annex_exec_get_stats(const struct annex_exec *e, struct annex_exec_stats *out)
{
	*out = e->stats;
	out->planning = e->next;
}

const struct annex_plan *annex_exec_plan(const struct annex_exec *e,
					 const struct annex_trace **trace,
					 const struct annex_system **sys)
{
	if (!e->plan || e->space->fork.child)
		return NULL;
	*trace = e->plan->trace;
	*sys = &e->plan->sys;
	return e->plan->plan;
}

int annex_exec_trace(const struct annex_exec *e, struct annex_trace **trace)
{
	const struct iteration_log *last = &e->kinds.logs[0];

	if (e->space->fork.child)
		return fork_refuse("exec");
	if (!e->kinds.n_logs || !last->n_kernels)
		return annex_fail(-ENODATA, "exec: no iteration with a kernel has ended");
	return annex_log_trace(last, false, trace);
}
