// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <annex/detail/atomic.h>
#include <annex/vitality.h>
#include "core/log.h"
#include "core/thread.h"
#include "link.h"
#include "planning.h"

static int make(struct planning *p)
{
	struct annex_vitality *v;
	int err = annex_vitality_create(p->trace, &v);

	if (err)
		return err;
	err = annex_plan_make(p->policy, v, &p->sys, &p->plan);
	annex_vitality_destroy(v);
	return err;
}

static void *run(void *arg)
{
	struct planning *p = arg;

	p->err = make(p);
	if (p->err)
		annex_log(p->once ? ANNEX_LOG_INFO : ANNEX_LOG_WARNING,
			  "exec: no plan by %s, so tensors move when they are used: %s",
			  p->policy->name, annex_last_error());
	/* Release: the plan comes before; pairs with annex_planning_ended(). */
	annex_atomic_store(&p->done, 1u, ANNEX_RELEASE);
	return NULL;
}

int annex_planning_start(struct planning *p, const struct annex_policy *policy,
			 const struct annex_system *sys, const struct iteration_log *log, bool once)
{
	int err;

	memset(p, 0, sizeof(*p));
	p->policy = policy;
	p->sys = *sys;
	p->once = once;
	err = annex_log_copy(&p->log, log);
	if (!err)
		err = annex_log_trace(&p->log, true, &p->trace);
	if (!err)
		err = annex_thread_start(&p->thread, run, p);
	p->running = !err;
	if (err)
		annex_planning_clear(p);
	return err;
}

int annex_planning_take(struct planning *p, const struct annex_system *sys,
			struct annex_trace *trace, struct annex_plan *plan)
{
	*p = (struct planning){.sys = *sys, .given = true};
	int err = annex_log_from_trace(&p->log, trace);

	if (err)
		return err;
	p->trace = trace;
	p->plan = plan;
	return 0;
}

void annex_planning_learn(struct planning *p, const struct iteration_log *last)
{
	for (uint32_t i = 0; p->given && i < p->log.n_tensors && i < last->n_tensors; i++)
		p->log.tensors[i] = last->tensors[i];
	p->given = false;
}

bool annex_planning_ended(const struct planning *p)
{
	/* Acquire: pairs with run(). */
	return p->running && annex_atomic_load(&p->done, ANNEX_ACQUIRE);
}

void annex_planning_join(struct planning *p)
{
	if (p->running)
		pthread_join(p->thread, NULL);
	p->running = false;
}

void annex_planning_clear(struct planning *p)
{
	annex_planning_join(p);
	annex_plan_free(p->plan);
	annex_trace_free(p->trace);
	annex_log_clear(&p->log);
	memset(p, 0, sizeof(*p));
}
