/* SPDX-License-Identifier: MIT */
/*
 * Where the bytes of one tensor are, as counters, and what the steps of a plan do to them when each
 * is done at once.
 *
 * A byte is on the GPU without a valid copy (dirty), on the GPU with one (clean), or only below
 * (out). Which byte is where does not matter: the bytes of a tensor move alike.
 */
#ifndef ANNEX_PLAN_PLACE_H
#define ANNEX_PLAN_PLACE_H

#include <stdbool.h>
#include <stdint.h>
#include <annex/plan.h>

/**
 * struct place - Bytes of one tensor; all zero: it does not live. Of the tiers, the GPU's own entry
 * stays zero.
 */
struct place {
	uint64_t dirty;
	uint64_t clean[ANNEX_TIERS], out[ANNEX_TIERS];
	bool born;
};

/* annex_place_resident() - Bytes on the GPU. annex_place_out() - Bytes that are not. */
uint64_t annex_place_resident(const struct place *p);
uint64_t annex_place_out(const struct place *p);

/* annex_place_below() - Bytes that the tensor takes in a tier below. */
uint64_t annex_place_below(const struct place *p, unsigned int tier);

/*
 * Each moves as many of @bytes as there are, and returns how many. Copies are given up, and bytes
 * brought back, from the nearest tier first: host, CXL, SSDs.
 */
uint64_t annex_place_evict(struct place *p, uint64_t bytes, unsigned int tier);
uint64_t annex_place_save(struct place *p, uint64_t bytes, unsigned int tier);
uint64_t annex_place_prefetch(struct place *p, uint64_t bytes, bool keep);

/* annex_place_write() - A kernel writes the tensor: bytes on the GPU have no valid copy now. */
void annex_place_write(struct place *p);

/**
 * annex_plan_replay() - Where each tensor is when an iteration begins that follows others, were
 * each step done at once.
 * @sys: which SSDs there are.
 * @places: one for each tensor of @trace.
 *
 * Before the first iteration global tensors are on the GPU, without copies. With
 * ANNEX_PLAN_RECLAIM that is the answer, since what leaves then is not in the plan.
 *
 * Return: 0, or -EINVAL when annex_plan_check() would fail.
 */
int annex_plan_replay(const struct annex_plan *plan, const struct annex_trace *trace,
		      const struct annex_system *sys, struct place *places);

#endif
