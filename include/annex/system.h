/* SPDX-License-Identifier: MIT */
/*
 * The machine that a plan is made for: memories, links and their rates (G10 Table 2).
 */
#ifndef ANNEX_SYSTEM_H
#define ANNEX_SYSTEM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ANNEX_MAX_SSDS 16
#define ANNEX_MAX_GPUS 16

/**
 * enum annex_tier - Where bytes of a tensor may be. SSD number i is ANNEX_TIER_SSD + i.
 */
enum annex_tier {
	ANNEX_TIER_GPU,
	ANNEX_TIER_HOST,
	ANNEX_TIER_CXL,
	ANNEX_TIER_SSD,
	ANNEX_TIERS = ANNEX_TIER_SSD + ANNEX_MAX_SSDS,
};

/**
 * struct annex_system - Sizes in bytes, rates in bytes a second, times in nanoseconds.
 * @gpu: memory of each GPU. @host, @cxl: memory that all GPUs share; 0: none. SSDs are unlimited.
 * @pcie: each GPU's link, each way at once; everything passes it.
 * @host_link: host memory, each way, all GPUs together; 0: only the links of the GPUs limit it.
 * @cxl_rate: CXL memory, each way, all GPUs together.
 * @ssd_read, @ssd_write: of each SSD.
 * @ssd_read_ns, @ssd_write_ns: latency of a transfer, beside its bandwidth.
 * @fault_ns: handling of a page fault, for each tensor that a kernel finds absent.
 * @alloc: bytes a second that a GPU can allocate, beside its kernels.
 * @gpus, @ssds: how many, at least 1 and 0.
 */
struct annex_system {
	uint64_t gpu, host, cxl;
	double pcie, host_link, cxl_rate;
	double ssd_read, ssd_write;
	uint64_t ssd_read_ns, ssd_write_ns;
	uint64_t fault_ns;
	double alloc;
	uint32_t gpus, ssds;
};

/**
 * annex_system_init() - The system of G10's Table 2: one A100 of 40 GiB, 128 GiB of host memory,
 * PCIe 3.0 x16, one SSD of 3.2 GB/s.
 */
void annex_system_init(struct annex_system *sys);

/**
 * annex_system_check() - Whether such a machine can exist.
 *
 * Return: 0, or -EINVAL with the member named in annex_last_error().
 */
int annex_system_check(const struct annex_system *sys);

/**
 * annex_tier_name() - "gpu", "host", "cxl", "ssd0", ... annex_tier_parse() - The tier of that name,
 * or -EINVAL; "ssd" is "ssd0".
 */
const char *annex_tier_name(unsigned int tier);
int annex_tier_parse(const char *name);

#ifdef __cplusplus
}
#endif

#endif
