/* SPDX-License-Identifier: MIT */
/*
 * Warps: the lanes of a GPU that run together, and what they tell each other.
 *
 * On a GPU these are single instructions. On a host a thread is a warp of one lane, unless it plays
 * a lane of a larger one: tests run device code on such warps.
 *
 * A mask names lanes, a bit each. All lanes of a mask must make the same call with that mask, and
 * it returns when all have come; other lanes are not concerned.
 */
#ifndef ANNEX_WARP_H
#define ANNEX_WARP_H

#include <stdbool.h>
#include <stdint.h>
#include <annex/detail/atomic.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ANNEX_WARP_LANES 32u

/**
 * struct annex_host_warp - A warp that is played on a host. Each function is called by a lane.
 * @active: annex_warp_active().
 * @lane: annex_lane().
 * @block: annex_warp_block().
 * @match: annex_warp_match().
 * @shfl: annex_warp_shfl().
 * @ballot: annex_warp_ballot().
 * @sync: annex_warp_sync().
 * @pause: annex_warp_pause(): the lane waits for others: let them run.
 */
struct annex_host_warp {
	uint32_t (*active)(void);
	uint32_t (*lane)(void);
	uint32_t (*block)(void);
	uint32_t (*match)(uint32_t mask, uint64_t value);
	uint64_t (*shfl)(uint32_t mask, uint64_t value, uint32_t from);
	uint32_t (*ballot)(uint32_t mask, bool value);
	void (*sync)(uint32_t mask);
	void (*pause)(void);
};

/**
 * annex_host_warp() - The warp that the calling thread plays in (host only).
 *
 * Return: the warp; NULL: none.
 */
const struct annex_host_warp *annex_host_warp(void);

/**
 * annex_host_warp_set() - Set the warp that the calling thread plays in, before its first call.
 * @warp: the warp; it must stay.
 */
void annex_host_warp_set(const struct annex_host_warp *warp);

/**
 * annex_warp_active() - The lanes that make this call together with the caller; it is one of them.
 *
 * Which lanes run together is the machine's choice: only what a program costs may depend on it.
 */
static inline ANNEX_HD uint32_t annex_warp_active(void)
{
#if ANNEX_ON_GPU
	uint32_t mask;

	__asm__ volatile("activemask.b32 %0;" : "=r"(mask));
	return mask;
#else
	const struct annex_host_warp *warp = annex_host_warp();

	return warp ? warp->active() : 1;
#endif
}

/**
 * annex_lane() - The caller's number in its warp, below ANNEX_WARP_LANES.
 */
static inline ANNEX_HD uint32_t annex_lane(void)
{
#if ANNEX_ON_GPU
	uint32_t lane;

	__asm__("mov.u32 %0, %%laneid;" : "=r"(lane));
	return lane;
#else
	const struct annex_host_warp *warp = annex_host_warp();

	return warp ? warp->lane() : 0;
#endif
}

/**
 * annex_warp_block() - The number of the caller's thread block.
 */
static inline ANNEX_HD uint32_t annex_warp_block(void)
{
#if ANNEX_ON_GPU
	uint32_t block;

	__asm__("mov.u32 %0, %%ctaid.x;" : "=r"(block));
	return block;
#else
	const struct annex_host_warp *warp = annex_host_warp();

	return warp ? warp->block() : 0;
#endif
}

/**
 * annex_warp_match() - The lanes that call with the same value.
 * @mask: the lanes that make this call.
 * @value: the value.
 *
 * Return: a mask of the lanes that have the caller's value.
 */
static inline ANNEX_HD uint32_t annex_warp_match(uint32_t mask, uint64_t value)
{
#if ANNEX_ON_GPU
	uint32_t same;

	__asm__ volatile("match.any.sync.b64 %0, %1, %2;" : "=r"(same) : "l"(value), "r"(mask));
	return same;
#else
	const struct annex_host_warp *warp = annex_host_warp();

	return warp ? warp->match(mask, value) : 1;
#endif
}

/**
 * annex_warp_shfl() - The value of another lane. No memory is ordered by it.
 * @mask: the lanes that make this call.
 * @value: the caller's value.
 * @from: the lane to ask, one of @mask.
 *
 * Return: its value.
 */
static inline ANNEX_HD uint64_t annex_warp_shfl(uint32_t mask, uint64_t value, uint32_t from)
{
#if ANNEX_ON_GPU
	uint32_t lo = (uint32_t)value, hi = (uint32_t)(value >> 32);

	__asm__ volatile("shfl.sync.idx.b32 %0, %0, %1, 31, %2;" : "+r"(lo) : "r"(from), "r"(mask));
	__asm__ volatile("shfl.sync.idx.b32 %0, %0, %1, 31, %2;" : "+r"(hi) : "r"(from), "r"(mask));
	return (uint64_t)hi << 32 | lo;
#else
	const struct annex_host_warp *warp = annex_host_warp();

	return warp ? warp->shfl(mask, value, from) : value;
#endif
}

/**
 * annex_warp_ballot() - The lanes that call with true.
 * @mask: the lanes that make this call.
 * @value: the caller's vote.
 *
 * Return: a mask of the lanes with true.
 */
static inline ANNEX_HD uint32_t annex_warp_ballot(uint32_t mask, bool value)
{
#if ANNEX_ON_GPU
	uint32_t votes;

	__asm__ volatile("{\n\t.reg .pred p;\n\t"
			 "setp.ne.u32 p, %1, 0;\n\t"
			 "vote.sync.ballot.b32 %0, p, %2;\n\t}"
			 : "=r"(votes)
			 : "r"((uint32_t)value), "r"(mask));
	return votes;
#else
	const struct annex_host_warp *warp = annex_host_warp();

	return warp ? warp->ballot(mask, value) : value;
#endif
}

/**
 * annex_warp_sync() - Wait for lanes; the stores of each are seen by the others.
 * @mask: the lanes that make this call.
 */
static inline ANNEX_HD void annex_warp_sync(uint32_t mask)
{
#if ANNEX_ON_GPU
	__asm__ volatile("bar.warp.sync %0;" : : "r"(mask) : "memory");
#else
	const struct annex_host_warp *warp = annex_host_warp();

	if (warp)
		warp->sync(mask);
#endif
}

/**
 * annex_warp_pause() - The caller waits for something: let other lanes and warps go first.
 */
static inline ANNEX_HD void annex_warp_pause(void)
{
#if ANNEX_ON_GPU
	annex_pause();
#else
	const struct annex_host_warp *warp = annex_host_warp();

	if (warp)
		warp->pause();
	else
		annex_pause();
#endif
}

/* The lowest lane of a mask, which is not empty. */
static inline ANNEX_HD uint32_t annex_warp_first(uint32_t mask)
{
#if ANNEX_ON_GPU
	uint32_t lane;

	__asm__("{\n\t.reg .b32 r;\n\tbrev.b32 r, %1;\n\tclz.b32 %0, r;\n\t}"
		: "=r"(lane)
		: "r"(mask));
	return lane;
#else
	return (uint32_t)__builtin_ctz(mask);
#endif
}

/* How many lanes a mask has. */
static inline ANNEX_HD uint32_t annex_warp_count(uint32_t mask)
{
#if ANNEX_ON_GPU
	uint32_t n;

	__asm__("popc.b32 %0, %1;" : "=r"(n) : "r"(mask));
	return n;
#else
	return (uint32_t)__builtin_popcount(mask);
#endif
}

#ifdef __cplusplus
}
#endif
#endif
