/* SPDX-License-Identifier: MIT */
/*
 * The machine that a plan is made for: memories, links and their rates (G10 Table 2).
 */
#ifndef ANNEX_SYSTEM_H
#define ANNEX_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ANNEX_MAX_SSDS 16
#define ANNEX_MAX_GPUS 16

/**
 * enum annex_tier - Where bytes of a tensor may be. SSD number i is ANNEX_TIER_SSD + i.
 * @ANNEX_TIER_GPU: memory of the GPU.
 * @ANNEX_TIER_HOST: host memory.
 * @ANNEX_TIER_CXL: CXL memory.
 * @ANNEX_TIER_SSD: the first SSD.
 * @ANNEX_TIERS: number of tiers.
 */
enum annex_tier {
	ANNEX_TIER_GPU,
	ANNEX_TIER_HOST,
	ANNEX_TIER_CXL,
	ANNEX_TIER_SSD,
	ANNEX_TIERS = ANNEX_TIER_SSD + ANNEX_MAX_SSDS,
};

/*
 * Rates of a system. At 1 MB/s the largest trace moves within 2^63 ns. So little is more likely a
 * unit forgotten: rates are given in bytes a second, or in G of them.
 */
#define ANNEX_RATE_MIN 1e6
#define ANNEX_RATE_MAX 1e18
#define ANNEX_DUPLEX_MIN 0.25

/**
 * struct annex_system - Sizes in bytes, rates in bytes a second, times in nanoseconds.
 * @gpu: memory of each GPU.
 * @host: host memory, which all GPUs share; 0: none.
 * @cxl: CXL memory, which all GPUs share; 0: none. SSDs are unlimited.
 * @pcie: each GPU's link, each way at once; everything passes it.
 * @host_link: host memory, each way, all GPUs together; 0: only the links of the GPUs limit it.
 * @cxl_rate: CXL memory, each way, all GPUs together.
 * @ssd_read: rate of reads from each SSD.
 * @ssd_write: rate of writes to each SSD.
 * @ssd_duplex: reads and writes of an SSD at the same time: what parts of their rates each has
 *	add up to so much at most. 2: each is as fast beside the other as alone; 1: they take turns.
 * @ssd_read_ns: latency of a read, beside its bandwidth.
 * @ssd_write_ns: latency of a write, beside its bandwidth.
 * @fault_ns: handling of a page fault, beside the time in which its bytes pass the link.
 * @fault_bytes: bytes that a page fault brings, at most: those of a tensor that a kernel finds
 *	absent are brought by so many faults, one after the other, each with the latency of a read
 *	if they are on SSDs.
 * @alloc: bytes a second that a GPU can allocate, beside its kernels.
 * @gpus: number of GPUs, at least 1.
 * @ssd_bytes: flash of each SSD that tensors may fill; 0: as much as they need, and no garbage
 *	collection. Other data that stays there fills blocks of its own, and is no part of it. At
 *	most 64 TiB, as @ssd_spare.
 * @ssd_spare: flash of each SSD beyond @ssd_bytes (over-provisioning), at least three blocks of
 *	64 MiB; only with @ssd_bytes.
 * @ssds: number of SSDs, which policies, and what reclaims, use as one striped device.
 * @strict: kernels begin when all their tensors are there, and cannot be stopped to wait for one:
 *	annex plans none that begins before (ANNEX_PLAN_OVERLAP), but where faults bring what is
 *	late (ANNEX_PLAN_RECLAIM).
 * @frees: programs free tensors that are dead, and plans for unified memory say so; without it,
 *	whoever allocates for them keeps the memory, and the driver does not know.
 */
struct annex_system {
	uint64_t gpu, host, cxl;
	double pcie, host_link, cxl_rate;
	double ssd_read, ssd_write, ssd_duplex;
	uint64_t ssd_read_ns, ssd_write_ns;
	uint64_t ssd_bytes, ssd_spare;
	uint64_t fault_ns, fault_bytes;
	double alloc;
	uint32_t gpus, ssds;
	bool strict, frees;
};

/**
 * annex_system_init() - The system of G10's Table 2.
 * @sys: the system to fill.
 *
 * One A100 of 40 GiB, 128 GiB of host memory, PCIe 3.0 x16, one SSD of 3.2 GB/s.
 */
void annex_system_init(struct annex_system *sys);

/**
 * annex_system_check() - Whether such a machine can exist.
 * @sys: the system.
 *
 * Rates are from ANNEX_RATE_MIN to ANNEX_RATE_MAX.
 *
 * Return: 0, or -EINVAL with the member named in annex_last_error().
 */
int annex_system_check(const struct annex_system *sys);

/**
 * annex_tier_name() - Name of a tier.
 * @tier: enum annex_tier.
 *
 * Return: "gpu", "host", "cxl", "ssd0", ...
 */
const char *annex_tier_name(unsigned int tier);

/**
 * annex_tier_parse() - A tier by its name.
 * @name: as of annex_tier_name(); "ssd" is "ssd0".
 *
 * Return: the tier, or -EINVAL.
 */
int annex_tier_parse(const char *name);

#ifdef __cplusplus
}
#endif

#endif
