// SPDX-License-Identifier: MIT
/*
 * annex_plan_check() against one that keeps a state for every single byte, on random plans.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <annex/log.h>
#include <annex/plan.h>
#include "plan/place.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define TENSORS 5
#define BYTES 12
#define KERNELS 8
#define TIERS 5 /* with two SSDs */

/* What a byte is: nothing, dirty, or CLEAN or OUT and its tier. */
enum { NONE, DIRTY, CLEAN = 16, OUT = 32, STATES = OUT + TIERS };

/* struct slow - @step: the one that failed; -1: a kernel, @kernel. */
struct slow {
	const struct annex_trace *t;
	const struct annex_plan *p;
	uint64_t room[3];
	unsigned char byte[TENSORS][BYTES];
	bool judge;
	int step;
	uint32_t kernel;
};

static uint64_t seed;

static uint32_t pick(uint32_t n)
{
	return (uint32_t)(random_next(&seed) % n);
}

/* Bytes of a tensor in one state. */
static unsigned int in_state(const struct slow *s, uint32_t tensor, unsigned int state)
{
	unsigned int n = 0;

	for (int b = 0; b < BYTES; b++)
		n += s->byte[tensor][b] == state;
	return n;
}

static unsigned int resident(const struct slow *s, uint32_t tensor)
{
	unsigned int n = in_state(s, tensor, DIRTY);

	for (unsigned int t = 1; t < TIERS; t++)
		n += in_state(s, tensor, CLEAN + t);
	return n;
}

static unsigned int absent(const struct slow *s, uint32_t tensor)
{
	unsigned int n = 0;

	for (unsigned int t = 1; t < TIERS; t++)
		n += in_state(s, tensor, OUT + t);
	return n;
}

/* Move up to @n bytes from one state to another; returns how many are still to move. */
static uint64_t become(struct slow *s, uint32_t tensor, unsigned int from, unsigned int to,
		       uint64_t n)
{
	for (int b = 0; b < BYTES && n; b++) {
		if (s->byte[tensor][b] != from)
			continue;
		s->byte[tensor][b] = (unsigned char)to;
		n--;
	}
	return n;
}

static bool lives(const struct slow *s, uint32_t tensor)
{
	return in_state(s, tensor, NONE) < BYTES;
}

static void do_step(struct slow *s, const struct annex_plan_step *st)
{
	uint64_t n = st->bytes;

	switch (st->op) {
	case ANNEX_PLAN_ALLOC:
		if (!lives(s, st->tensor))
			memset(s->byte[st->tensor], DIRTY, s->t->tensors[st->tensor].bytes);
		break;
	case ANNEX_PLAN_FREE:
		memset(s->byte[st->tensor], NONE, BYTES);
		break;
	case ANNEX_PLAN_PREFETCH:
		for (unsigned int t = 1; t < TIERS; t++)
			n = become(s, st->tensor, OUT + t, st->keep ? CLEAN + t : DIRTY, n);
		break;
	case ANNEX_PLAN_EVICT:
		for (unsigned int t = 1; t < TIERS; t++)
			n = become(s, st->tensor, CLEAN + t, OUT + t, n);
		become(s, st->tensor, DIRTY, OUT + st->tier, n);
		break;
	case ANNEX_PLAN_SAVE:
		become(s, st->tensor, DIRTY, CLEAN + st->tier, n);
		break;
	}
}

static bool allowed(const struct slow *s, const struct annex_plan_step *st)
{
	switch (st->op) {
	case ANNEX_PLAN_ALLOC:
		return !lives(s, st->tensor);
	case ANNEX_PLAN_FREE:
	case ANNEX_PLAN_WAIT:
		return lives(s, st->tensor);
	case ANNEX_PLAN_PREFETCH:
		return lives(s, st->tensor) && st->bytes <= absent(s, st->tensor);
	default:
		return lives(s, st->tensor) && st->bytes <= resident(s, st->tensor);
	}
}

static bool fits(const struct slow *s)
{
	uint64_t used[3] = {0, 0, 0};

	for (uint32_t i = 0; i < TENSORS; i++) {
		used[0] += resident(s, i);
		for (unsigned int t = 1; t < 3; t++)
			used[t] += in_state(s, i, CLEAN + t) + in_state(s, i, OUT + t);
	}
	return used[0] <= s->room[0] && used[1] <= s->room[1] && used[2] <= s->room[2];
}

static bool do_kernel(struct slow *s, uint32_t k)
{
	for (uint32_t u = s->t->kernels[k].first; u < s->t->kernels[k + 1].first; u++) {
		const struct annex_use *use = &s->t->uses[u];

		if (s->judge && (!lives(s, use->tensor) || absent(s, use->tensor)))
			return false;
		for (unsigned int t = 1; t < TIERS && use->how & ANNEX_USE_WRITE; t++)
			become(s, use->tensor, CLEAN + t, DIRTY, BYTES);
	}
	return true;
}

static bool iterate(struct slow *s)
{
	size_t i = 0;

	s->step = -1;
	s->kernel = 0;
	if (s->judge && !fits(s))
		return false;
	for (s->kernel = 0; s->kernel <= KERNELS; s->kernel++) {
		for (; i < s->p->n_steps && s->p->steps[i].kernel == s->kernel; i++) {
			s->step = (int)i;
			if (s->judge && !allowed(s, &s->p->steps[i]))
				return false;
			do_step(s, &s->p->steps[i]);
			if (s->judge && s->p->steps[i].op != ANNEX_PLAN_FREE && !fits(s))
				return false;
		}
		s->step = -1;
		if (s->kernel < KERNELS && !do_kernel(s, s->kernel))
			return false;
	}
	return true;
}

static void begin(struct slow *s, const struct annex_trace *t, const struct annex_system *sys)
{
	memset(s, 0, sizeof(*s));
	s->t = t;
	s->room[0] = sys->gpu;
	s->room[1] = sys->host;
	s->room[2] = sys->cxl;
	for (uint32_t i = 0; i < TENSORS; i++)
		if (t->tensors[i].global)
			memset(s->byte[i], DIRTY, t->tensors[i].bytes);
}

static void count(const struct slow *s, unsigned int counts[TENSORS][STATES])
{
	memset(counts, 0, TENSORS * sizeof(*counts));
	for (uint32_t i = 0; i < TENSORS; i++)
		for (uint32_t b = 0; b < BYTES; b++)
			counts[i][s->byte[i][b]]++;
}

static bool used_later(const struct annex_trace *t, uint32_t tensor, uint32_t from)
{
	for (uint32_t u = t->kernels[from].first; u < t->n_uses; u++)
		if (t->uses[u].tensor == tensor)
			return true;
	return false;
}

static bool used_before(const struct annex_trace *t, uint32_t tensor, uint32_t to)
{
	for (uint32_t u = 0; u < t->kernels[to].first; u++)
		if (t->uses[u].tensor == tensor)
			return true;
	return false;
}

/* No alloc and no free between two uses. */
static bool contents_last(struct slow *s)
{
	for (size_t i = 0; i < s->p->n_steps; i++) {
		const struct annex_plan_step *st = &s->p->steps[i];

		s->step = (int)i;
		if ((st->op == ANNEX_PLAN_ALLOC || st->op == ANNEX_PLAN_FREE) &&
		    used_before(s->t, st->tensor, st->kernel) &&
		    used_later(s->t, st->tensor, st->kernel))
			return false;
	}
	return true;
}

/* Sound, if an iteration ends as it began before there were too many. */
static bool check_slowly(struct slow *s)
{
	unsigned int before[TENSORS][STATES], after[TENSORS][STATES];

	if (!contents_last(s))
		return false;
	for (int i = 0; i < 9; i++) {
		count(s, before);
		s->judge = i > 0;
		if (!iterate(s))
			return false;
		count(s, after);
		if (i && !memcmp(before, after, sizeof(before)))
			return true;
	}
	s->step = -1;
	s->kernel = KERNELS;
	return false;
}

static struct annex_trace *random_trace(void)
{
	struct annex_trace *t;

	CU_ASSERT_EQUAL_FATAL(annex_trace_create(NULL, NULL, 0, &t), 0);
	for (int i = 0; i < TENSORS; i++) {
		struct annex_tensor tensor = {.bytes = 1 + pick(BYTES),
					      .birth = ANNEX_KERNEL_NONE,
					      .death = ANNEX_KERNEL_NONE,
					      .global = pick(2)};

		CU_ASSERT_EQUAL_FATAL(annex_trace_add_tensor(t, &tensor), i);
	}
	for (int k = 0; k < KERNELS; k++) {
		uint32_t in[2] = {pick(TENSORS), pick(TENSORS)}, out = pick(TENSORS);

		CU_ASSERT_EQUAL_FATAL(
			annex_trace_add_kernel(t, NULL, 10, in, pick(3), &out, pick(2)), 0);
	}
	CU_ASSERT_EQUAL_FATAL(annex_trace_finish(t), 0);
	return t;
}

/* Add a step that is allowed where the plan stands; others are left out most of the time. */
static void grow(struct slow *s, struct annex_plan *p, uint32_t kernel, unsigned int op,
		 uint32_t tensor, uint64_t bytes)
{
	struct annex_plan_step st = {.kernel = kernel,
				     .tensor = tensor,
				     .bytes = bytes,
				     .op = (uint8_t)op,
				     .tier = (uint8_t)(1 + pick(TIERS - 1)),
				     .keep = pick(2)};
	struct slow was = *s;

	if (s->t->tensors[tensor].global && op <= ANNEX_PLAN_FREE)
		return;
	if (!bytes || (!allowed(s, &st) && pick(100)))
		return;
	do_step(s, &st);
	if (!fits(s) && pick(50)) {
		*s = was;
		return;
	}
	CU_ASSERT_EQUAL_FATAL(annex_plan_add(p, &st), 0);
}

/* Mostly valid: tensors are brought in for kernels, freed when dead, and return after evictions. */
static struct annex_plan *random_plan(const struct annex_trace *t, const struct annex_system *sys)
{
	struct annex_plan *p;
	struct slow s;

	CU_ASSERT_EQUAL_FATAL(annex_plan_create("test", t, sys, &p), 0);
	begin(&s, t, sys);
	for (uint32_t k = 0; k <= KERNELS; k++) {
		for (uint32_t i = 0; i < TENSORS; i++)
			if (lives(&s, i) && !used_later(t, i, k))
				grow(&s, p, k, ANNEX_PLAN_FREE, i, t->tensors[i].bytes);
		for (unsigned int i = pick(4); i--;) {
			uint32_t tensor = pick(TENSORS);

			grow(&s, p, k, ANNEX_PLAN_PREFETCH + pick(4), tensor,
			     1 + pick((uint32_t)t->tensors[tensor].bytes));
		}
		for (uint32_t i = 0; i < TENSORS; i++)
			if (k == KERNELS && pick(8))
				grow(&s, p, k, ANNEX_PLAN_PREFETCH, i, absent(&s, i));
		if (k == KERNELS)
			break;
		for (uint32_t u = t->kernels[k].first; u < t->kernels[k + 1].first; u++) {
			uint32_t i = t->uses[u].tensor;

			if (!lives(&s, i))
				grow(&s, p, k, ANNEX_PLAN_ALLOC, i, t->tensors[i].bytes);
			grow(&s, p, k, ANNEX_PLAN_PREFETCH, i, absent(&s, i));
		}
		do_kernel(&s, k);
	}
	CU_ASSERT_EQUAL_FATAL(annex_plan_finish(p), 0);
	return p;
}

/* Both say the same: it is sound and ends in the same places, or fails at the same step. */
static bool agree(struct slow *s, const struct annex_system *sys)
{
	struct place places[TENSORS];
	int err = annex_plan_replay(s->p, s->t, sys, places);
	bool sound = check_slowly(s);
	char where[40];

	if (!sound) {
		if (s->step >= 0)
			snprintf(where, sizeof(where), "step %d,", s->step);
		else
			snprintf(where, sizeof(where), "kernel %u", s->kernel);
		return err == -EINVAL && !strncmp(annex_last_error(), where, strlen(where));
	}
	for (uint32_t i = 0; i < TENSORS && !err; i++) {
		err = places[i].born != lives(s, i) || places[i].dirty != in_state(s, i, DIRTY);
		for (unsigned int t = 1; t < TIERS && !err; t++)
			err = places[i].clean[t] != in_state(s, i, CLEAN + t) ||
			      places[i].out[t] != in_state(s, i, OUT + t);
	}
	return !err;
}

static void against_every_byte(void)
{
	unsigned int sound = 0, unsound = 0;

	seed = random_seed("random plans");
	for (int round = 0; round < 4000; round++) {
		struct annex_trace *t = random_trace();
		struct annex_system sys;
		struct slow s;
		bool same;

		annex_system_init(&sys);
		sys.gpu = 20 + pick(30);
		sys.host = pick(20);
		sys.cxl = pick(20);
		sys.cxl_rate = 1e9;
		sys.ssds = 2;
		begin(&s, t, &sys);
		s.p = random_plan(t, &sys);
		same = agree(&s, &sys);
		CU_ASSERT(same);
		if (!same)
			fprintf(stderr, "round %d: %s\n", round, annex_last_error());
		sound += annex_plan_check(s.p, t, &sys) == 0;
		unsound += annex_plan_check(s.p, t, &sys) != 0;
		annex_plan_free((struct annex_plan *)s.p);
		annex_trace_free(t);
	}
	CU_ASSERT(sound > 400);
	CU_ASSERT(unsound > 400);
	printf(" %u sound, %u not ", sound, unsound);
}

UNIT_SUITE(plan_random, {"as with a state for each byte", against_every_byte})
