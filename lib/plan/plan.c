// SPDX-License-Identifier: MIT
/*
 * Plans in memory: adding steps to one, and what every plan must be.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/array.h"
#include "core/log.h"
#include "file.h"

/*
 * struct building - The allocation of a plan.
 * @plan: the plan.
 * @trace: its trace, while steps may be added.
 * @room: capacity of its steps.
 */
struct building {
	struct annex_plan plan;
	const struct annex_trace *trace;
	size_t room;
};

const char *annex_plan_op_name(unsigned int op)
{
	static const char *const names[ANNEX_PLAN_OPS] = {"alloc", "free", "prefetch",
							  "evict", "save", "wait"};

	return names[op];
}

struct annex_plan *annex_plan_new(void)
{
	struct building *b = calloc(1, sizeof(*b));

	return b ? &b->plan : NULL;
}

void annex_plan_free(struct annex_plan *plan)
{
	if (plan)
		free(plan->steps);
	free(plan);
}

int annex_plan_append(struct annex_plan *plan, const struct annex_plan_step *step)
{
	struct building *b = (struct building *)plan;

	if (!array_grow(plan->steps, plan->n_steps, b->room))
		return annex_fail(-ENOMEM, "no memory for more than %zu steps", plan->n_steps);
	plan->steps[plan->n_steps++] = *step;
	return 0;
}

/* Names go into files and on terminals as they are. */
static bool good_policy(const char *name)
{
	return *name && !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					   "0123456789-_.+")];
}

const char *annex_plan_of(const struct annex_plan *plan)
{
	const char *plus = strchr(plan->policy, '+');

	return plus ? plus + 1 : NULL;
}

static int sound_header(const struct annex_plan *p)
{
	static const uint32_t flags = ANNEX_PLAN_OVERLAP | ANNEX_PLAN_RECLAIM | ANNEX_PLAN_LAZY |
				      ANNEX_PLAN_UNLIMITED;

	if (!memchr(p->policy, '\0', sizeof(p->policy)) || !good_policy(p->policy))
		return annex_fail(-EINVAL,
				  "\"policy\" is no name of at most %zu letters, "
				  "digits, and - _ . +",
				  sizeof(p->policy) - 1);
	if (!p->n_kernels || p->n_kernels > ANNEX_TRACE_MAX_KERNELS)
		return annex_fail(-EINVAL, "\"kernels\" is %u, not 1 to %u", p->n_kernels,
				  ANNEX_TRACE_MAX_KERNELS);
	if (p->n_tensors > ANNEX_TRACE_MAX_TENSORS)
		return annex_fail(-EINVAL, "\"tensors\" is %u, more than %u", p->n_tensors,
				  ANNEX_TRACE_MAX_TENSORS);
	if (p->flags & ~flags)
		return annex_fail(-EINVAL, "unknown flags of the plan: %#x", p->flags & ~flags);
	if (p->gpu > PLAN_MAX_CAPACITY || p->host > PLAN_MAX_CAPACITY || p->cxl > PLAN_MAX_CAPACITY)
		return annex_fail(-EINVAL, "a capacity is more than 2^63 - 1 bytes");
	return 0;
}

static int sound_step(const struct annex_plan *p, size_t i)
{
	const struct annex_plan_step *s = &p->steps[i];
	bool sends = s->op == ANNEX_PLAN_EVICT || s->op == ANNEX_PLAN_SAVE;

	if (s->op >= ANNEX_PLAN_OPS)
		return annex_fail(-EINVAL, "step %zu: operation %u does not exist", i, s->op);
	if (s->kernel > p->n_kernels)
		return annex_fail(-EINVAL, "step %zu: kernel %u of %u", i, s->kernel, p->n_kernels);
	if (s->tensor >= p->n_tensors)
		return annex_fail(-EINVAL, "step %zu (kernel %u): tensor %u of %u", i, s->kernel,
				  s->tensor, p->n_tensors);
	if (!s->bytes || s->bytes > ANNEX_TRACE_MAX_BYTES)
		return annex_fail(-EINVAL, "step %zu (kernel %u, tensor %u): %llu bytes", i,
				  s->kernel, s->tensor, (ull)s->bytes);
	if (sends ? s->tier == ANNEX_TIER_GPU || s->tier >= ANNEX_TIERS : s->tier != 0)
		return annex_fail(-EINVAL,
				  "step %zu (kernel %u, tensor %u): a tensor cannot "
				  "be sent to tier %u",
				  i, s->kernel, s->tensor, s->tier);
	if (s->keep > (s->op == ANNEX_PLAN_PREFETCH))
		return annex_fail(-EINVAL,
				  "step %zu (kernel %u, tensor %u): \"keep\" is for "
				  "prefetches",
				  i, s->kernel, s->tensor);
	if (s->ns > PLAN_MAX_NS)
		return annex_fail(-EINVAL, "step %zu (kernel %u, tensor %u): no such time", i,
				  s->kernel, s->tensor);
	return 0;
}

static int in_order(const struct annex_plan *p, size_t i)
{
	const struct annex_plan_step *s = &p->steps[i];

	if (s[0].kernel < s[-1].kernel)
		return annex_fail(-EINVAL, "step %zu: kernel %u comes after kernel %u", i,
				  s[0].kernel, s[-1].kernel);
	if (s[0].ns < s[-1].ns)
		return annex_fail(-EINVAL,
				  "step %zu (kernel %u, tensor %u): time goes back, "
				  "from %llu to %llu ns",
				  i, s->kernel, s->tensor, (ull)s[-1].ns, (ull)s[0].ns);
	return 0;
}

int annex_plan_sound(const struct annex_plan *p)
{
	int err = sound_header(p);

	for (size_t i = 0; i < p->n_steps && !err; i++) {
		err = sound_step(p, i);
		if (!err && i)
			err = in_order(p, i);
	}
	return err;
}

int annex_plan_create(const char *policy, const struct annex_trace *trace,
		      const struct annex_system *sys, struct annex_plan **plan)
{
	struct annex_plan *p;
	int err = annex_system_check(sys);

	*plan = NULL;
	if (err)
		return err;
	p = annex_plan_new();
	if (!p)
		return annex_fail(-ENOMEM, "no memory for a plan");
	/* A name that is too long has no end in the member, and is refused for that. */
	memcpy(p->policy, policy, strnlen(policy, sizeof(p->policy)));
	p->n_kernels = trace->n_kernels;
	p->n_tensors = trace->n_tensors;
	p->gpu = sys->gpu;
	p->host = sys->host / sys->gpus;
	p->cxl = sys->cxl / sys->gpus;
	err = sound_header(p);
	if (err) {
		annex_plan_free(p);
		return err;
	}
	p->hash = annex_trace_hash(trace);
	((struct building *)p)->trace = trace;
	*plan = p;
	return 0;
}

int annex_plan_add(struct annex_plan *plan, const struct annex_plan_step *step)
{
	struct building *b = (struct building *)plan;
	struct annex_plan_step s = *step;
	bool sends = s.op == ANNEX_PLAN_EVICT || s.op == ANNEX_PLAN_SAVE;
	uint64_t size;
	int err;

	if (!b->trace)
		return annex_fail(-EINVAL, "the plan is finished, and takes no more steps");
	size = s.tensor < plan->n_tensors ? b->trace->tensors[s.tensor].bytes : 0;
	/* Members that do not count are stored as files have them. */
	if (s.op == ANNEX_PLAN_ALLOC || s.op == ANNEX_PLAN_FREE || s.op == ANNEX_PLAN_WAIT)
		s.bytes = size;
	s.tier = sends ? s.tier : ANNEX_TIER_GPU;
	s.keep = s.op == ANNEX_PLAN_PREFETCH && s.keep;
	err = annex_plan_append(plan, &s);
	if (err)
		return err;
	err = sound_step(plan, plan->n_steps - 1);
	if (!err && s.bytes > size)
		err = annex_fail(-EINVAL, "step %zu (kernel %u, tensor %u): %llu bytes of %llu",
				 plan->n_steps - 1, s.kernel, s.tensor, (ull)s.bytes, (ull)size);
	if (err)
		plan->n_steps--;
	return err;
}

/* By counting: stable, and as fast as the plan is long. */
static int sort_steps(struct annex_plan *p)
{
	struct annex_plan_step *sorted = malloc((p->n_steps + 1) * sizeof(*sorted));
	size_t *next = calloc((size_t)p->n_kernels + 2, sizeof(*next));

	if (!sorted || !next) {
		free(sorted);
		free(next);
		return annex_fail(-ENOMEM, "no memory to sort %zu steps", p->n_steps);
	}
	for (size_t i = 0; i < p->n_steps; i++)
		next[p->steps[i].kernel + 1]++;
	for (uint32_t k = 0; k < p->n_kernels; k++)
		next[k + 1] += next[k];
	for (size_t i = 0; i < p->n_steps; i++)
		sorted[next[p->steps[i].kernel]++] = p->steps[i];
	free(next);
	free(p->steps);
	p->steps = sorted;
	return 0;
}

int annex_plan_finish(struct annex_plan *plan)
{
	struct building *b = (struct building *)plan;
	size_t i = 1;
	int err = 0;

	while (i < plan->n_steps && plan->steps[i - 1].kernel <= plan->steps[i].kernel)
		i++;
	if (i < plan->n_steps)
		err = sort_steps(plan);
	b->room = plan->n_steps;
	b->trace = NULL;
	for (i = 1; i < plan->n_steps && !err; i++)
		err = in_order(plan, i);
	return err;
}
