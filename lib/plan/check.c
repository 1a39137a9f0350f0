// SPDX-License-Identifier: MIT
/*
 * Whether a plan is sound: its steps done at once, one after the other, iteration after iteration.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "core/least.h"
#include "core/log.h"
#include "plan/trace/label.h"
#include "place.h"
#include "file.h"

/* Iterations until one starts where the one before did. Plans of sense take two. */
#define MAX_ITERATIONS 8

/*
 * struct replay - An iteration that is being replayed.
 * @plan: the plan.
 * @trace: the trace.
 * @places: location of each tensor's bytes.
 * @used: bytes in use of each limited memory.
 * @room: size of each limited memory.
 * @step: the current step.
 * @kernel: the current kernel.
 * @judge: verify it: not in the first iteration, which leads to the start of the others.
 */
struct replay {
	const struct annex_plan *plan;
	const struct annex_trace *trace;
	struct place *places;
	uint64_t used[ANNEX_TIER_SSD], room[ANNEX_TIER_SSD];
	size_t step;
	uint32_t kernel;
	bool judge;
};

static int fail(const struct replay *r, bool step, uint32_t tensor, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* step 3, kernel 12 (gemm), tensor 7 (weight): words */
static int fail(const struct replay *r, bool step, uint32_t tensor, const char *fmt, ...)
{
	const struct annex_trace *t = r->trace;
	const char *name = r->kernel < t->n_kernels ? t->kernels[r->kernel].name : "the end";
	char kernel[LABEL_SIZE], at[32] = "", words[160];
	va_list ap;

	if (step)
		snprintf(at, sizeof(at), "step %zu, ", r->step);
	va_start(ap, fmt);
	vsnprintf(words, sizeof(words), fmt, ap);
	va_end(ap);
	return annex_fail(-EINVAL, "%s%s, tensor %u: %s", at, kernel_label(kernel, r->kernel, name),
			  tensor, words);
}

/* Add what a tensor takes of each memory, or take it away. */
static void account(struct replay *r, const struct place *p, bool add)
{
	const uint64_t used[ANNEX_TIER_SSD] = {annex_place_resident(p),
					       annex_place_below(p, ANNEX_TIER_HOST),
					       annex_place_below(p, ANNEX_TIER_CXL)};

	for (unsigned int t = 0; t < ANNEX_TIER_SSD; t++)
		r->used[t] += add ? used[t] : -used[t];
}

static int check_room(const struct replay *r, bool step, uint32_t tensor)
{
	for (unsigned int t = 0; t < ANNEX_TIER_SSD; t++)
		if (r->used[t] > r->room[t])
			return fail(r, step, tensor, "%llu bytes of %s memory in use, of %llu",
				    (ull)r->used[t], annex_tier_name(t), (ull)r->room[t]);
	return 0;
}

/* Whether the tensor lives as the step takes it to. */
static int check_life(const struct replay *r, const struct annex_plan_step *s,
		      const struct place *p)
{
	if (s->op == ANNEX_PLAN_ALLOC)
		return p->born ? fail(r, true, s->tensor, "alloc of an allocated tensor") : 0;
	if (!p->born)
		return fail(r, true, s->tensor, "%s of a tensor without memory",
			    annex_plan_op_name(s->op));
	return 0;
}

/* Whether there are as many bytes as the step wants to move. */
static int check_bytes(const struct replay *r, const struct annex_plan_step *s,
		       const struct place *p)
{
	bool back = s->op == ANNEX_PLAN_PREFETCH;
	bool away = s->op == ANNEX_PLAN_EVICT || s->op == ANNEX_PLAN_SAVE;
	uint64_t there = back ? annex_place_out(p) : annex_place_resident(p);

	if ((!back && !away) || s->bytes <= there)
		return 0;
	return fail(r, true, s->tensor, "%s of %llu bytes, but only %llu are %s the GPU",
		    annex_plan_op_name(s->op), (ull)s->bytes, (ull)there, back ? "not on" : "on");
}

static void move(struct replay *r, const struct annex_plan_step *s, struct place *p)
{
	switch (s->op) {
	case ANNEX_PLAN_ALLOC:
		if (!p->born)
			p->dirty = r->trace->tensors[s->tensor].bytes;
		p->born = true;
		break;
	case ANNEX_PLAN_FREE:
		*p = (struct place){0};
		break;
	case ANNEX_PLAN_PREFETCH:
		annex_place_prefetch(p, s->bytes, s->keep);
		break;
	case ANNEX_PLAN_EVICT:
		annex_place_evict(p, s->bytes, s->tier);
		break;
	case ANNEX_PLAN_SAVE:
		annex_place_save(p, s->bytes, s->tier);
		break;
	}
}

static int do_step(struct replay *r)
{
	const struct annex_plan_step *s = &r->plan->steps[r->step];
	struct place *p = &r->places[s->tensor];
	int err = r->judge ? check_life(r, s, p) : 0;

	if (!err && r->judge)
		err = check_bytes(r, s, p);
	if (err)
		return err;
	account(r, p, false);
	move(r, s, p);
	account(r, p, true);
	return r->judge && s->op != ANNEX_PLAN_FREE ? check_room(r, true, s->tensor) : 0;
}

/* The kernel finds its tensors, and leaves its outputs without copies. */
static int do_kernel(struct replay *r)
{
	const struct annex_kernel *k = &r->trace->kernels[r->kernel];

	for (uint32_t u = k->first; u < k[1].first; u++) {
		uint32_t tensor = r->trace->uses[u].tensor;
		struct place *p = &r->places[tensor];

		if (r->judge && !p->born)
			return fail(r, false, tensor, "it is not allocated yet");
		if (r->judge && annex_place_out(p))
			return fail(r, false, tensor, "%llu of its bytes are not on the GPU",
				    (ull)annex_place_out(p));
		if (!(r->trace->uses[u].how & ANNEX_USE_WRITE))
			continue;
		account(r, p, false);
		annex_place_write(p);
		account(r, p, true);
	}
	return 0;
}

static int iterate(struct replay *r)
{
	const struct annex_plan *plan = r->plan;
	int err = 0;

	r->step = 0;
	r->kernel = 0;
	if (r->judge && r->trace->n_tensors)
		err = check_room(r, false, 0);
	for (; r->kernel <= plan->n_kernels && !err; r->kernel++) {
		for (; r->step < plan->n_steps && !err; r->step++) {
			if (plan->steps[r->step].kernel != r->kernel)
				break;
			err = do_step(r);
		}
		if (!err && r->kernel < plan->n_kernels)
			err = do_kernel(r);
	}
	return err;
}

/* A number for all of where everything is. */
static uint64_t digest(const struct replay *r)
{
	uint64_t h = 0;

	for (uint32_t i = 0; i < r->trace->n_tensors; i++) {
		const struct place *p = &r->places[i];

		h = (h ^ p->dirty ^ p->born) * 0xd6e8feb86659fd93ull;
		for (unsigned int t = ANNEX_TIER_HOST; t < ANNEX_TIERS; t++) {
			h = (h ^ p->clean[t]) * 0xd6e8feb86659fd93ull;
			h = (h ^ p->out[t] ^ h >> 32) * 0xd6e8feb86659fd93ull;
		}
	}
	return h;
}

static bool same_place(const struct place *a, const struct place *b)
{
	return a->dirty == b->dirty && a->born == b->born &&
	       !memcmp(a->clean, b->clean, sizeof(a->clean)) &&
	       !memcmp(a->out, b->out, sizeof(a->out));
}

/* No steady state: a tensor is not where it was when the iteration began. */
static int restless(struct replay *r)
{
	uint32_t n = r->trace->n_tensors, i = 0;
	struct place *before = malloc(((size_t)n + 1) * sizeof(*before));
	int err = before ? 0 : -ENOMEM;

	if (!err) {
		memcpy(before, r->places, n * sizeof(*before));
		err = iterate(r);
	}
	while (!err && i < n && same_place(&before[i], &r->places[i]))
		i++;
	free(before);
	if (err || i == n)
		return err;
	r->kernel = r->trace->n_kernels;
	return fail(r, false, i, "after %d iterations it is still not where it was before",
		    MAX_ITERATIONS);
}

static int replay(struct replay *r)
{
	uint64_t before, after;
	int err = iterate(r);

	after = digest(r);
	r->judge = true;
	for (int i = 1; i < MAX_ITERATIONS && !err; i++) {
		before = after;
		err = iterate(r);
		after = digest(r);
		if (after == before)
			return err;
	}
	return err ? err : restless(r);
}

/* struct use_span - The first kernel that uses a tensor, and the one after the last, or after its
 * death. */
struct use_span {
	uint32_t first, end;
};

static struct use_span *find_uses(const struct annex_trace *t)
{
	struct use_span *uses = malloc(((size_t)t->n_tensors + 1) * sizeof(*uses));

	if (!uses)
		return NULL;
	for (uint32_t i = 0; i < t->n_tensors; i++)
		uses[i] = (struct use_span){.first = t->n_kernels};
	for (uint32_t k = 0; k < t->n_kernels; k++) {
		for (uint32_t u = t->kernels[k].first; u < t->kernels[k + 1].first; u++) {
			struct use_span *s = &uses[t->uses[u].tensor];

			s->first = k < s->first ? k : s->first;
			s->end = k + 1;
		}
	}
	for (uint32_t i = 0; i < t->n_tensors; i++)
		if (uses[i].end && t->tensors[i].death != ANNEX_KERNEL_NONE)
			uses[i].end = t->tensors[i].death + 1;
	return uses;
}

/*
 * Data of a tensor lasts from its first use to its death, which may follow from the last. Before
 * and after, the tensor may live or not: a step may belong to the iteration before or after.
 */
static int check_lifetime(const struct replay *r, const struct use_span *u)
{
	const struct annex_plan_step *s = &r->plan->steps[r->step];

	if ((s->op != ANNEX_PLAN_ALLOC && s->op != ANNEX_PLAN_FREE) || s->kernel <= u->first ||
	    s->kernel >= u->end)
		return 0;
	return fail(r, true, s->tensor, "%s within its life from kernel %u to kernel %u",
		    annex_plan_op_name(s->op), u->first, u->end - 1);
}

/* Whether a step by itself is one for its tensor on such a machine. */
static int check_step(const struct replay *r, const struct annex_system *sys)
{
	const struct annex_plan_step *s = &r->plan->steps[r->step];
	const struct annex_tensor *t = &r->trace->tensors[s->tensor];

	if (s->bytes > t->bytes)
		return fail(r, true, s->tensor, "%llu bytes of %llu", (ull)s->bytes, (ull)t->bytes);
	if (s->tier >= ANNEX_TIER_SSD + sys->ssds)
		return fail(r, true, s->tensor, "to %s, but there are %u SSDs",
			    annex_tier_name(s->tier), sys->ssds);
	if (t->global && (s->op == ANNEX_PLAN_ALLOC || s->op == ANNEX_PLAN_FREE))
		return fail(r, true, s->tensor, "%s of a global tensor, which always lives",
			    annex_plan_op_name(s->op));
	return 0;
}

/* Whether it is a plan for this trace, and each step by itself makes sense. */
static int check_steps(struct replay *r, const struct annex_system *sys)
{
	const struct annex_plan *plan = r->plan;
	const struct annex_trace *trace = r->trace;
	struct use_span *uses;
	int err = annex_plan_sound(plan);

	if (err)
		return err;
	if (plan->n_kernels != trace->n_kernels || plan->n_tensors != trace->n_tensors)
		return annex_fail(
			-EINVAL,
			"the plan is for %u kernels and %u tensors, the trace has %u and %u",
			plan->n_kernels, plan->n_tensors, trace->n_kernels, trace->n_tensors);
	if (plan->hash != annex_trace_hash(trace))
		return annex_fail(-EINVAL,
				  "the plan is for another trace: hash %016llx, not %016llx",
				  (ull)plan->hash, (ull)annex_trace_hash(trace));
	uses = find_uses(trace);
	if (!uses)
		return annex_fail(-ENOMEM, "no memory to check a plan of %u tensors",
				  trace->n_tensors);
	for (r->step = 0; r->step < plan->n_steps && !err; r->step++) {
		r->kernel = plan->steps[r->step].kernel;
		err = check_step(r, sys);
		if (!err)
			err = check_lifetime(r, &uses[plan->steps[r->step].tensor]);
	}
	free(uses);
	return err;
}

static void start_globals(struct replay *r)
{
	for (uint32_t i = 0; i < r->trace->n_tensors; i++) {
		const struct annex_tensor *t = &r->trace->tensors[i];

		r->places[i] = (struct place){0};
		if (!t->global)
			continue;
		r->places[i].dirty = t->bytes;
		r->places[i].born = true;
		account(r, &r->places[i], true);
	}
}

int annex_plan_replay(const struct annex_plan *plan, const struct annex_trace *trace,
		      const struct annex_system *sys, struct place *places)
{
	struct replay r = {
		.plan = plan,
		.trace = trace,
		.places = places,
		.room = {least(plan->gpu, sys->gpu), least(plan->host, sys->host),
			 least(plan->cxl, sys->cxl)},
	};
	int err = check_steps(&r, sys);

	if (err)
		return err;
	start_globals(&r);
	if (plan->flags & ANNEX_PLAN_RECLAIM)
		return 0;
	if (plan->flags & ANNEX_PLAN_UNLIMITED)
		r.room[ANNEX_TIER_GPU] = UINT64_MAX;
	return replay(&r);
}

int annex_plan_check(const struct annex_plan *plan, const struct annex_trace *trace,
		     const struct annex_system *sys)
{
	struct place *places = calloc((size_t)trace->n_tensors + 1, sizeof(*places));
	int err;

	if (!places)
		return annex_fail(-ENOMEM, "no memory to check a plan of %u tensors",
				  trace->n_tensors);
	err = annex_plan_replay(plan, trace, sys, places);
	free(places);
	return err;
}

int annex_policy_sound(const struct annex_policy *policy)
{
	if (policy->name && policy->make)
		return 0;
	return annex_fail(-EINVAL, "a policy of one's own has a name and a make()");
}

int annex_plan_make(const struct annex_policy *policy, const struct annex_vitality *v,
		    const struct annex_system *sys, struct annex_plan **plan)
{
	int err = annex_policy_sound(policy);

	*plan = NULL;
	if (!err)
		err = policy->make(v, sys, plan);
	if (!err)
		err = annex_plan_check(*plan, v->trace, sys);
	if (err) {
		annex_plan_free(*plan);
		*plan = NULL;
	}
	return err;
}
