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
 * enum annex_tier - Location of a tensor's bytes. SSD number i is ANNEX_TIER_SSD + i.
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
 * Limits of a system's rates, in bytes per second. At 1 MB/s the largest trace moves within 2^63
 * ns. A lower rate is probably a wrong unit.
 */
#define ANNEX_RATE_MIN 1e6
#define ANNEX_RATE_MAX 1e18
#define ANNEX_DUPLEX_MIN 0.25

/**
 * struct annex_system - Sizes in bytes, rates in bytes a second, times in nanoseconds.
 * @gpu: memory of each GPU.
 * @host: host memory, shared by all GPUs; 0: none.
 * @cxl: CXL memory, shared by all GPUs; 0: none.
 * @pcie: rate of each GPU's link, in each direction; all transfers pass it.
 * @host_link: rate of host memory, in each direction, for all GPUs together; 0: limited only by the
 *	links of the GPUs.
 * @cxl_rate: rate of CXL memory, in each direction, for all GPUs together.
 * @ssd_read: rate of reads from each SSD.
 * @ssd_write: rate of writes to each SSD.
 * @ssd_duplex: largest sum of the fractions of @ssd_read and @ssd_write that an SSD reaches when it
 *	reads and writes at once. 2: reads and writes do not slow each other; 1: they take turns.
 * @ssd_read_ns: latency of a read, in addition to its transfer time.
 * @ssd_write_ns: latency of a write, in addition to its transfer time.
 * @fault_ns: time to handle page faults, in addition to the transfer time of their bytes.
 * @fault_bytes: most bytes whose page faults are handled together. Each absent page of 4 KiB of a
 *	kernel's tensor is a fault; the faults on so many bytes take @fault_ns once, and the latency
 *	of a read if the bytes are on SSDs.
 * @page_ns: processor time that the program spends on each page of 4 KiB that comes in, and on the
 *	page that leaves for it: the next kernel begins that much later.
 * @alloc: rate at which a GPU can allocate memory while kernels run.
 * @gpus: number of GPUs, at least 1.
 * @ssd_bytes: flash of each SSD for tensors; 0: unlimited, without garbage collection. Other data
 *	on the SSD fills blocks of its own and is not included. At most 64 TiB, as @ssd_spare.
 * @ssd_spare: flash of each SSD beyond @ssd_bytes (over-provisioning), at least three blocks of
 *	16 MiB; only with @ssd_bytes.
 * @ssds: number of SSDs. Policies and reclaim use them as one striped device.
 * @strict: a kernel cannot start before all of its tensors are in GPU memory. The policy "annex"
 *	then makes no plan with ANNEX_PLAN_OVERLAP, except with ANNEX_PLAN_RECLAIM, where page
 *	faults bring in absent bytes.
 * @frees: programs free dead tensors, and plans for unified memory have these steps. Otherwise the
 *	program's allocator keeps the memory, and the driver does not know that it is unused.
 */
struct annex_system {
	uint64_t gpu, host, cxl;
	double pcie, host_link, cxl_rate;
	double ssd_read, ssd_write, ssd_duplex;
	uint64_t ssd_read_ns, ssd_write_ns;
	uint64_t ssd_bytes, ssd_spare;
	uint64_t fault_ns, fault_bytes, page_ns;
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
 * annex_system_check() - Validate a system.
 * @sys: the system.
 *
 * Rates must be from ANNEX_RATE_MIN to ANNEX_RATE_MAX.
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
