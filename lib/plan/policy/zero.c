// SPDX-License-Identifier: MIT
/*
 * ZeRO-Offload (Ren et al., arXiv 2101.06840) and ZeRO-Infinity (Rajbhandari et al., arXiv
 * 2104.07857), as DeepSpeed's stage 3 carries them out, with its default settings. Written from
 * deepspeed/runtime/zero (config.py, partitioned_param_coordinator.py, stage3.py) and the papers'
 * abstracts, before any figure was compared:
 *
 * - Weights live below the GPU: in host memory (zero-offload), on the SSDs (zero-infinity). A layer
 *   fetches its weights. While it runs, the weights of the next layers come, up to
 *   prefetch_bucket_size elements, one tensor at least. After a layer its weights are released,
 *   unless they are used again before max_reuse_distance elements of others are. Weights of up to
 *   param_persistence_threshold elements stay. The GPU writes no weight, so releasing one moves
 *   nothing. A limit of elements on the GPU (max_live_parameters) is not modelled.
 * - The gradient of a weight goes to host memory when it is known. With several batches, the sum so
 *   far comes back, is added to on the GPU, and goes again (partition_grads()). That happens on a
 *   stream of its own (overlap_comm), so a sum comes as early as weights do.
 * - The host's processor runs the optimizer when all gradients are there; the GPU waits. A trace
 *   has its time as a kernel without tensors (host_step in struct annex_trace_spec), and gradients
 *   that live until then. Optimizer state, and its way between SSDs and host, is not in the trace.
 * - Activations stay. Without room for them, training fails.
 *
 * Traces have no layers: a kernel stands for one. They have bytes: elements have 4 of them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <annex/log.h>
#include "core/log.h"
#include "policy.h"

#define ELEMENT 4ull
#define PREFETCH (50000000 * ELEMENT) /* prefetch_bucket_size */
#define REUSE (1000000000 * ELEMENT)  /* max_reuse_distance */
#define PERSISTENT (100000 * ELEMENT) /* param_persistence_threshold */

/*
 * struct visit - A use of a tensor that moves.
 * @kernel: the kernel.
 * @tensor: the tensor.
 * @before: its visit before this one; NONE: the first in the iteration.
 * @after: its next visit; NONE: the last.
 * @comes: the kernel at whose start it is brought for this visit; NONE: it is there.
 * @weights: bytes of weights that are used up to this visit, and at it.
 */
struct visit {
	uint32_t kernel, tensor, before, after, comes;
	uint64_t weights;
};

#define NONE UINT32_MAX

struct zero {
	const struct annex_vitality *v;
	const struct annex_system *sys;
	struct annex_plan *plan;
	unsigned int tier; /* of weights */
	struct visit *visits;
	uint32_t n;
};

static bool is_weight(const struct zero *z, uint32_t tensor)
{
	const struct annex_tensor *t = &z->v->trace->tensors[tensor];

	return t->global && t->bytes > PERSISTENT;
}

static bool is_gradient(const struct zero *z, uint32_t tensor)
{
	const struct annex_tensor *t = &z->v->trace->tensors[tensor];

	return !t->global && t->role == ANNEX_ROLE_GRADIENT;
}

static uint64_t bytes_of(const struct zero *z, const struct visit *a)
{
	return z->v->trace->tensors[a->tensor].bytes;
}

static int find_visits(struct zero *z)
{
	const struct annex_trace *t = z->v->trace;
	uint32_t *last = malloc((t->n_tensors + 1ull) * sizeof(*last));
	uint64_t weights = 0;

	z->visits = malloc((t->n_uses + 1ull) * sizeof(*z->visits));
	for (uint32_t i = 0; last && i < t->n_tensors; i++)
		last[i] = NONE;
	for (uint32_t k = 0; last && z->visits && k < t->n_kernels; k++) {
		for (uint32_t u = t->kernels[k].first; u < t->kernels[k + 1].first; u++) {
			uint32_t i = t->uses[u].tensor;

			if (!is_weight(z, i) && !is_gradient(z, i))
				continue;
			weights += is_weight(z, i) ? t->tensors[i].bytes : 0;
			z->visits[z->n] = (struct visit){k, i, last[i], NONE, NONE, weights};
			if (last[i] != NONE)
				z->visits[last[i]].after = z->n;
			last[i] = z->n++;
		}
	}
	free(last);
	return last && z->visits ? 0 : -ENOMEM;
}

/* Whether the tensor stays on the GPU from visit @a to its next one, @b. */
static bool stays(const struct zero *z, const struct visit *a, const struct visit *b)
{
	return b->kernel <= a->kernel + 1 ||
	       (is_weight(z, a->tensor) && b->weights - a->weights - bytes_of(z, b) < REUSE);
}

/*
 * When each comes: as a kernel begins from which the bytes that come in between are less than a
 * bucket. A tensor stays if it would come before it has left.
 */
static void schedule(struct zero *z)
{
	uint64_t between = 0;

	for (uint32_t i = 0, from = 0; i < z->n; i++) {
		struct visit *a = &z->visits[i];
		const struct visit *before = a->before == NONE ? NULL : &z->visits[a->before];

		while (from + 1 < i && between >= PREFETCH) {
			from++;
			if (z->visits[from].comes != NONE)
				between -= bytes_of(z, &z->visits[from]);
		}
		a->comes = z->visits[from].kernel;
		if (before ? stays(z, before, a) || a->comes <= before->kernel + 1
			   : is_gradient(z, a->tensor))
			a->comes = NONE;
		else if (i > from)
			between += bytes_of(z, a);
	}
}

static int leaves(const struct zero *z)
{
	int err = 0;

	for (uint32_t i = 0; i < z->n && !err; i++) {
		const struct visit *a = &z->visits[i];
		bool ends = is_gradient(z, a->tensor) && z->v->life[a->tensor].death == a->kernel;

		if (a->after == NONE ? !ends : z->visits[a->after].comes != NONE)
			err = policy_evict(z->plan, z->v, z->sys, a->kernel + 1, a->tensor,
					   bytes_of(z, a),
					   is_weight(z, a->tensor) ? z->tier : ANNEX_TIER_HOST);
	}
	return err;
}

static int births(const struct zero *z)
{
	const struct annex_trace *t = z->v->trace;
	int err = 0;

	for (uint32_t i = 0; i < t->n_tensors && !err; i++)
		if (!t->tensors[i].global && z->v->life[i].used)
			err = policy_step(z->plan, z->v, ANNEX_PLAN_ALLOC, z->v->life[i].birth, i,
					  t->tensors[i].bytes, 0, false);
	return err;
}

static int comings(const struct zero *z)
{
	int err = 0;

	for (uint32_t i = 0; i < z->n && !err; i++) {
		const struct visit *a = &z->visits[i];

		if (a->comes != NONE)
			err = policy_step(z->plan, z->v, ANNEX_PLAN_PREFETCH, a->comes, a->tensor,
					  bytes_of(z, a), 0, is_weight(z, a->tensor));
	}
	return err;
}

/* The host's step waits for gradients that live until then. */
static int waits(const struct zero *z)
{
	int err = 0;

	for (uint32_t i = 0; i < z->n && !err; i++) {
		const struct visit *a = &z->visits[i];
		uint32_t death = z->v->life[a->tensor].death;

		if (is_gradient(z, a->tensor) && a->after == NONE && death > a->kernel)
			err = policy_step(z->plan, z->v, ANNEX_PLAN_WAIT, death, a->tensor,
					  bytes_of(z, a), 0, false);
	}
	return err;
}

/* The steps make sense, but memory may be too small for them. */
static int check(const struct zero *z)
{
	int err = annex_plan_check(z->plan, z->v->trace, z->sys);
	char line[256];

	if (err != -EINVAL)
		return err;
	snprintf(line, sizeof(line), "%s", annex_last_error());
	return annex_fail(-ENOSPC, "%s: %s", z->plan->policy, line);
}

static int make_steps(struct zero *z)
{
	int err = find_visits(z);

	if (!err) {
		schedule(z);
		err = policy_free_dead(z->plan, z->v);
	}
	if (!err)
		err = leaves(z);
	if (!err)
		err = births(z);
	if (!err)
		err = comings(z);
	if (!err)
		err = waits(z);
	if (!err)
		err = annex_plan_finish(z->plan);
	return err ? err : check(z);
}

static int make(const struct annex_vitality *v, const struct annex_system *sys, const char *name,
		unsigned int tier, struct annex_plan **plan)
{
	struct zero z = {.v = v, .sys = sys, .tier = tier};
	int err;

	if (tier == ANNEX_TIER_SSD && !sys->ssds)
		return annex_fail(-ENOSPC, "%s: there is no SSD for the weights", name);
	err = annex_plan_create(name, v->trace, sys, plan);
	z.plan = *plan;
	if (!err)
		err = make_steps(&z);
	free(z.visits);
	return err;
}

static int make_offload(const struct annex_vitality *v, const struct annex_system *sys,
			struct annex_plan **plan)
{
	return make(v, sys, policy_zero_offload.name, ANNEX_TIER_HOST, plan);
}

static int make_infinity(const struct annex_vitality *v, const struct annex_system *sys,
			 struct annex_plan **plan)
{
	return make(v, sys, policy_zero_infinity.name, ANNEX_TIER_SSD, plan);
}

const struct annex_policy policy_zero_offload = {
	"zero-offload",
	"weights and gradients in host memory, layer by layer (DeepSpeed)",
	make_offload,
};

const struct annex_policy policy_zero_infinity = {
	"zero-infinity",
	"zero-offload with weights on the SSDs (DeepSpeed)",
	make_infinity,
};
