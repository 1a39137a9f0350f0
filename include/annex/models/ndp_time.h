/* SPDX-License-Identifier: MIT */
/*
 * The time of a near-data kernel on M2NDP's device, in cycles: a model of its units, caches,
 * network, DRAM and CXL link (section IV), which also executes the kernel.
 *
 *	annex_ndp_time_open(NULL, &t);
 *	annex_ndp_time_map(t, va, memory, bytes);
 *	annex_ndp_time_run(t, elf, elf_bytes, &launch, &result);
 *	annex_ndp_time_close(t);
 *
 * Micro-threads are unordered (III-D). Each is executed when it gets its slot, and its instructions
 * are timed afterwards. So a micro-thread that waits for another spins until the budget is used up.
 */
#ifndef ANNEX_NDP_TIME_H
#define ANNEX_NDP_TIME_H

#include <stddef.h>
#include <stdint.h>
#include <annex/log.h>

#ifdef __cplusplus
extern "C" {
#endif

struct annex_ndp_time;

/**
 * struct annex_ndp_time_opts - The device. Zero means the default, from Table IV.
 * @units: NDP units, up to 256 (default 32).
 * @subcores: sub-cores of each unit, up to 16 (default 4).
 * @slots: micro-thread slots of a sub-core, up to 64 (default 16).
 * @mhz: clock of units, network and caches, 100 to 10000 (default 2000).
 * @register_file: bytes of a unit's register file, up to 1 MiB (default 48 KiB); if the kernel's
 *	registers need more, fewer micro-threads run at once.
 * @l1_bytes: bytes of a unit's cache, up to 1 MiB (default 128 KiB), which includes the kernel's
 *	scratchpad.
 * @l1_ways: its ways (default 16).
 * @l1_cycles: cycles of a hit (default 4).
 * @tlb_entries: entries of a unit's data TLB, up to 65536 (default 256).
 * @l2_bytes: bytes of the cache of a DRAM channel, up to 8 MiB (default 128 KiB).
 * @l2_ways: its ways (default 16).
 * @l2_cycles: cycles of a hit (default 7).
 * @channels: DRAM channels, a power of two up to 128 (default 32).
 * @dram_mhz: DRAM command clock, 100 to 10000 (default 800: LPDDR5-6400); a channel moves 32 bytes
 *	in 2 of these clocks. DRAM latencies are in these clocks.
 * @link_ns: load-to-use latency over CXL, up to 1000000 (default 150).
 * @vlen: bits of a vector register, a power of two from 128 to 1024 (default 256).
 * @piece: bytes of the pool region for a micro-thread, 32 or 64 (default 32).
 * @budget: most instructions of all micro-threads of a launch (default 2^32).
 *
 * Ways are 1 to 64, cycles 1 to 1000; a cache has room for a line of 128 bytes in each way.
 */
struct annex_ndp_time_opts {
	uint32_t units;
	uint32_t subcores;
	uint32_t slots;
	uint32_t mhz;
	uint32_t register_file;
	uint32_t l1_bytes;
	uint32_t l1_ways;
	uint32_t l1_cycles;
	uint32_t tlb_entries;
	uint32_t l2_bytes;
	uint32_t l2_ways;
	uint32_t l2_cycles;
	uint32_t channels;
	uint32_t dram_mhz;
	uint32_t link_ns;
	uint32_t vlen;
	uint32_t piece;
	uint64_t budget;
};

/**
 * enum annex_ndp_part - Functional units of a sub-core.
 * @ANNEX_NDP_ALU: scalar arithmetic, including multiplication.
 * @ANNEX_NDP_SFU: scalar division, remainder, square root.
 * @ANNEX_NDP_LSU: scalar loads and stores.
 * @ANNEX_NDP_BRANCH: branches.
 * @ANNEX_NDP_VALU: vector arithmetic, including multiplication.
 * @ANNEX_NDP_VSFU: vector division, remainder, square root.
 * @ANNEX_NDP_VLSU: vector loads and stores.
 */
enum annex_ndp_part {
	ANNEX_NDP_ALU,
	ANNEX_NDP_SFU,
	ANNEX_NDP_LSU,
	ANNEX_NDP_BRANCH,
	ANNEX_NDP_VALU,
	ANNEX_NDP_VSFU,
	ANNEX_NDP_VLSU,
};
#define ANNEX_NDP_PARTS 7u

/**
 * struct annex_ndp_time_launch - A launch.
 * @pool: first address of the micro-thread pool region, within one mapping.
 * @pool_bytes: bytes of the pool region.
 * @args: arguments of the kernel.
 * @nargs: bytes of the arguments, as declared by the kernel.
 */
struct annex_ndp_time_launch {
	uint64_t pool;
	uint64_t pool_bytes;
	const void *args;
	size_t nargs;
};

/**
 * struct annex_ndp_time_result - Times and counters of a launch.
 * @cycles: cycles from the first micro-thread to the last answer of memory.
 * @ns: nanoseconds of @cycles.
 * @link_ns: round trip of the launch on the link in nanoseconds, in addition to @ns.
 * @threads: micro-threads, including those of initializer and finalizer.
 * @slots: micro-thread slots of a sub-core that can be used with the kernel's registers.
 * @instructions: number of executed instructions.
 * @issued: instructions by enum annex_ndp_part.
 * @busy: busy cycles by enum annex_ndp_part, added up over all units of a kind.
 * @l1_hits: hits of the L1s, in sectors of 32 bytes.
 * @l1_misses: misses of the L1s, in sectors.
 * @l2_hits: hits of the L2s, in sectors.
 * @l2_misses: misses of the L2s, in sectors.
 * @tlb_misses: page-table walks.
 * @dram_read: bytes read from DRAM.
 * @dram_written: bytes written to DRAM.
 * @row_hits: DRAM accesses to an open row.
 * @row_misses: other DRAM accesses.
 * @pc: instruction at which the kernel failed, as an offset in its image; otherwise 0.
 * @addr: address that it accessed there, or the instruction itself; otherwise 0.
 */
struct annex_ndp_time_result {
	uint64_t cycles;
	double ns;
	double link_ns;
	uint64_t threads;
	uint32_t slots;
	uint64_t instructions;
	uint64_t issued[ANNEX_NDP_PARTS];
	uint64_t busy[ANNEX_NDP_PARTS];
	uint64_t l1_hits, l1_misses;
	uint64_t l2_hits, l2_misses;
	uint64_t tlb_misses;
	uint64_t dram_read, dram_written;
	uint64_t row_hits, row_misses;
	uint64_t pc, addr;
};

/**
 * annex_ndp_time_open() - Make such a device. One thread at a time may use it.
 * @opts: the options; NULL means the defaults.
 * @out: the device; release it with annex_ndp_time_close().
 *
 * Return: 0; -EINVAL (an option out of range); -ENOMEM.
 */
int annex_ndp_time_open(const struct annex_ndp_time_opts *opts, struct annex_ndp_time **out);

/**
 * annex_ndp_time_close() - Free the device.
 * @t: the device; may be NULL.
 */
void annex_ndp_time_close(struct annex_ndp_time *t);

/**
 * annex_ndp_time_get_opts() - The options in effect, with defaults in place of zeroes.
 * @t: the device.
 * @opts: its options.
 */
void annex_ndp_time_get_opts(const struct annex_ndp_time *t, struct annex_ndp_time_opts *opts);

/**
 * annex_ndp_time_map() - Map memory for kernels.
 * @t: the device.
 * @va: address for kernels, congruent to @memory modulo 64.
 * @memory: first byte.
 * @bytes: number of bytes.
 *
 * The address determines the channels and the 2 MiB pages of the data: for reproducible figures,
 * choose a fixed @va.
 *
 * Return: 0; -EINVAL (empty, overflow, not congruent modulo 64); -EEXIST (some of it is mapped, or
 * below 2^32, where the scratchpad and the kernel are); -ENOMEM.
 */
int annex_ndp_time_map(struct annex_ndp_time *t, uint64_t va, void *memory, uint64_t bytes);

/**
 * annex_ndp_time_run() - Execute and time a kernel, which changes mapped memory.
 * @t: the device.
 * @elf: as for annex_m2_load().
 * @bytes: bytes of the file.
 * @launch: the launch.
 * @out: times and counters.
 *
 * L2s and TLBs keep their contents for the next launch.
 *
 * Return: 0; errors of annex_m2_load() for an ELF file; -EINVAL (too many registers, too much
 * scratchpad, a wrong size of arguments, an empty pool region); -EFAULT (the pool region is not
 * mapped); -ENOMEM; errors of micro-threads, with pc and addr in *@out: -EFAULT, -ENOEXEC (illegal
 * instruction), -EDOM (ebreak), and -ETIME (the budget is used up); -EIO: the model makes no
 * progress. An error empties the caches.
 */
int annex_ndp_time_run(struct annex_ndp_time *t, const void *elf, size_t bytes,
		       const struct annex_ndp_time_launch *launch,
		       struct annex_ndp_time_result *out);

#ifdef __cplusplus
}
#endif
#endif
