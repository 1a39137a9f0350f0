/* SPDX-License-Identifier: MIT */
/*
 * Warps: the lanes of a GPU that run together, and communication between them.
 *
 * On a GPU these are single instructions. On a host a thread is a warp of one lane, unless it
 * emulates a lane of a larger warp: tests run device code on such warps.
 *
 * A mask has a bit for each lane. All lanes of a mask must make the same call with that mask. The
 * call returns when all of them have made it; other lanes are not affected.
 */
#ifndef ANNEX_WARP_H
#define ANNEX_WARP_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <annex/detail/atomic.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ANNEX_WARP_LANES 32u

/**
 * struct annex_host_warp - A warp that is emulated on a host. Each function is called by a lane.
 * @active: annex_warp_active().
 * @lane: annex_lane().
 * @block: annex_warp_block().
 * @match: annex_warp_match().
 * @shfl: annex_warp_shfl().
 * @ballot: annex_warp_ballot().
 * @sync: annex_warp_sync().
 * @pause: annex_warp_pause(): let other lanes run.
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
 * annex_host_warp() - The warp that the calling thread is a lane of (host only).
 *
 * Return: the warp; NULL: none.
 */
const struct annex_host_warp *annex_host_warp(void);

/**
 * annex_host_warp_set() - Make the calling thread a lane of a warp, before its first call.
 * @warp: the warp; it must outlive the thread.
 */
void annex_host_warp_set(const struct annex_host_warp *warp);

/**
 * annex_warp_active() - The lanes that make this call together with the caller, which is included.
 *
 * The hardware chooses which lanes run together: only performance may depend on it.
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
 * annex_warp_match() - The lanes with the caller's value.
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
 * annex_warp_shfl() - The value of another lane. It does not order memory.
 * @mask: the lanes that make this call.
 * @value: the caller's value.
 * @from: the other lane, one of @mask.
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
 * annex_warp_ballot() - The lanes whose value is true.
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
 * annex_warp_sync() - Barrier between lanes; afterwards each sees the stores of the others.
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
 * annex_warp_pause() - Let other lanes and warps run, within a polling loop.
 */
static inline ANNEX_HD void annex_warp_pause(void)
{
#if ANNEX_ON_GPU
	annex_pause();
#else
	const struct annex_host_warp *warp = annex_host_warp();

	if (warp)
		warp->pause();
	else /* The thread that serves the queues may need this core. */
		sched_yield();
#endif
}

/* The lowest lane of a mask that is not empty. */
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

/* Number of lanes in a mask. */
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
