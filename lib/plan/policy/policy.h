/* SPDX-License-Identifier: MIT */
/*
 * The list of policies, and the steps that several of them add to their plans.
 */
#ifndef ANNEX_PLAN_POLICY_POLICY_H
#define ANNEX_PLAN_POLICY_POLICY_H

#include <annex/plan.h>

/*
 * Every policy, in the order in which users are told of them: a row names one, and its own file
 * defines it, as struct annex_policy policy_NAME.
 */
#define POLICIES(ROW)                                                                              \
	ROW(ideal)                                                                                 \
	ROW(uvm)                                                                                   \
	ROW(flashneuron)                                                                           \
	ROW(zero_offload)                                                                          \
	ROW(zero_infinity)                                                                         \
	ROW(deepum)                                                                                \
	ROW(g10_gds)                                                                               \
	ROW(g10_host)                                                                              \
	ROW(g10)                                                                                   \
	ROW(annex)

#define POLICY_DECLARE(name) extern const struct annex_policy policy_##name;
POLICIES(POLICY_DECLARE)

/* Add a step whose time is that of its kernel without stalls. */
int policy_step(struct annex_plan *plan, const struct annex_vitality *v, enum annex_plan_op op,
		uint32_t kernel, uint32_t tensor, uint64_t bytes, unsigned int tier, bool keep);

/* policy_evict() - To @tier, which for ANNEX_TIER_SSD are all SSDs, as one striped device. */
int policy_evict(struct annex_plan *plan, const struct annex_vitality *v,
		 const struct annex_system *sys, uint32_t kernel, uint32_t tensor, uint64_t bytes,
		 unsigned int tier);

/* The kernel, at or before @kernel, at whose start @bytes must be asked for to be allocated. */
uint32_t policy_alloc_at(const struct annex_vitality *v, const struct annex_system *sys,
			 uint32_t kernel, uint64_t bytes);

/* Allocate each tensor in time for its birth, and free it after its death. */
int policy_lifetimes(struct annex_plan *plan, const struct annex_vitality *v,
		     const struct annex_system *sys);

/* Free each tensor after its death. */
int policy_free_dead(struct annex_plan *plan, const struct annex_vitality *v);

#endif
