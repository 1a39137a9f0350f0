/* SPDX-License-Identifier: MIT */
/*
 * What the policies share; each has the signature of struct annex_policy's make.
 */
#ifndef ANNEX_POLICY_POLICY_H
#define ANNEX_POLICY_POLICY_H

#include <annex/plan.h>

int policy_ideal(const struct annex_vitality *v, const struct annex_system *sys,
		 struct annex_plan **plan);
int policy_uvm(const struct annex_vitality *v, const struct annex_system *sys,
	       struct annex_plan **plan);
int policy_deepum(const struct annex_vitality *v, const struct annex_system *sys,
		  struct annex_plan **plan);
int policy_flashneuron(const struct annex_vitality *v, const struct annex_system *sys,
		       struct annex_plan **plan);
int policy_g10_gds(const struct annex_vitality *v, const struct annex_system *sys,
		   struct annex_plan **plan);
int policy_g10_host(const struct annex_vitality *v, const struct annex_system *sys,
		    struct annex_plan **plan);
int policy_g10(const struct annex_vitality *v, const struct annex_system *sys,
	       struct annex_plan **plan);
int policy_annex(const struct annex_vitality *v, const struct annex_system *sys,
		 struct annex_plan **plan);

/* Add a step whose time is that of its kernel without stalls. */
int policy_step(struct annex_plan *plan, const struct annex_vitality *v, enum annex_plan_op op,
		uint32_t kernel, uint32_t tensor, uint64_t bytes, unsigned int tier, bool keep);

/* The kernel, at or before @kernel, at whose start @bytes must be asked for to be allocated. */
uint32_t policy_alloc_at(const struct annex_vitality *v, const struct annex_system *sys,
			 uint32_t kernel, uint64_t bytes);

/* Allocate each tensor in time for its birth, and free it after its death. */
int policy_lifetimes(struct annex_plan *plan, const struct annex_vitality *v,
		     const struct annex_system *sys);

#endif
