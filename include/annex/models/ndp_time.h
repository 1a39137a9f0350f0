/* SPDX-License-Identifier: MIT */
/*
 * How long a near-data kernel would take on M2NDP's device, in cycles: a model of its units,
 * caches, network, DRAM and CXL link (section IV), which runs the kernel as it counts.
 *
 *	annex_ndp_time_open(NULL, &t);
 *	annex_ndp_time_map(t, va, memory, bytes);
 *	annex_ndp_time_run(t, elf, elf_bytes, &launch, &result);
 *	annex_ndp_time_close(t);
 *
 * Micro-threads have no order among each other (III-D): each is executed when it gets its slot, and
 * what it did is then timed. So one that waits for another spins until the budget is used up.
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
 * struct annex_ndp_time_opts - The device. Zero means the default, which is Table IV's.
 * @units: NDP units, up to 256 (32).
 * @subcores: sub-cores of each unit, up to 16 (4).
 * @slots: micro-thread slots of a sub-core, up to 64 (16).
 * @mhz: of units, network and caches, 100 to 10000 (2000).
 * @register_file: bytes of a unit, up to 1 MiB (48 KiB); where the kernel's registers need more,
 *	fewer micro-threads run at once.
 * @l1_bytes: bytes of a unit's cache, up to 1 MiB (128 KiB); the kernel's scratchpad is taken from
 *	it.
 * @l1_ways: its ways (16).
 * @l1_cycles: cycles of a hit (4).
 * @tlb_entries: for data, of a unit, up to 65536 (256).
 * @l2_bytes: bytes of the cache in front of a channel, up to 8 MiB (128 KiB).
 * @l2_ways: its ways (16).
 * @l2_cycles: cycles of a hit (7).
 * @channels: of DRAM, a power of two up to 128 (32).
 * @dram_mhz: its command clock, 100 to 10000 (800: LPDDR5-6400); 32 bytes of a channel take 2 of
 *	it. Latencies are in these clocks.
 * @link_ns: load to use over CXL, up to 1000000 (150).
 * @vlen: bits of a vector register, a power of two from 128 to 1024 (256).
 * @piece: bytes of the pool region for a micro-thread, 32 or 64 (32).
 * @budget: instructions of all micro-threads of a launch (2^32).
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
 * enum annex_ndp_part - Parts of a sub-core that instructions are issued to.
 * @ANNEX_NDP_ALU: scalar arithmetic, products too.
 * @ANNEX_NDP_SFU: scalar quotients, remainders, roots.
 * @ANNEX_NDP_LSU: scalar loads and stores.
 * @ANNEX_NDP_BRANCH: branches.
 * @ANNEX_NDP_VALU: vector arithmetic, products too.
 * @ANNEX_NDP_VSFU: vector quotients, remainders, roots.
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
 * @nargs: their bytes: as many as the kernel says.
 */
struct annex_ndp_time_launch {
	uint64_t pool;
	uint64_t pool_bytes;
	const void *args;
	size_t nargs;
};

/**
 * struct annex_ndp_time_result - Times and counters of a launch.
 * @cycles: from the first micro-thread to the last answer of memory.
 * @ns: nanoseconds of @cycles.
 * @link_ns: nanoseconds of the launch on the link, there and back, beside that.
 * @threads: micro-threads, those of initializer and finalizer too.
 * @slots: micro-thread slots of a sub-core that its registers leave room for.
 * @instructions: all of them.
 * @issued: instructions by enum annex_ndp_part.
 * @busy: cycles that parts of each kind were taken, all of them together.
 * @l1_hits: sectors of 32 bytes that the L1s had.
 * @l1_misses: sectors that they had not.
 * @l2_hits: sectors that the L2s had.
 * @l2_misses: sectors that they had not.
 * @tlb_misses: page-table walks.
 * @dram_read: bytes.
 * @dram_written: bytes.
 * @row_hits: accesses that found their row open.
 * @row_misses: accesses that did not.
 * @pc: instruction that it ended at in an error, as an offset from the beginning of the kernel's
 *	image; else 0.
 * @addr: address that it wanted to reach there, or the instruction itself; else 0.
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
 * annex_ndp_time_open() - Make such a device. It may be used by one thread at a time.
 * @opts: NULL: the defaults.
 * @out: the device, to be given back with annex_ndp_time_close().
 *
 * Return: 0; -EINVAL (an option out of range); -ENOMEM.
 */
int annex_ndp_time_open(const struct annex_ndp_time_opts *opts, struct annex_ndp_time **out);

/**
 * annex_ndp_time_close() - Release the device.
 * @t: the device; may be NULL.
 */
void annex_ndp_time_close(struct annex_ndp_time *t);

/**
 * annex_ndp_time_get_opts() - The device as it is: no zeroes.
 * @t: the device.
 * @opts: its options.
 */
void annex_ndp_time_get_opts(const struct annex_ndp_time *t, struct annex_ndp_time_opts *opts);

/**
 * annex_ndp_time_map() - Let kernels read and write memory.
 * @t: the device.
 * @va: the kernels' address of it: its own, or another that is the same modulo 64.
 * @memory: first byte.
 * @bytes: how many bytes.
 *
 * The address decides which channels data is on, and in which pages of 2 MiB: for the same figures
 * each time, choose @va.
 *
 * Return: 0; -EINVAL (empty, beyond the end, not the same modulo 64); -EEXIST (some of it is
 * mapped, or below 2^32, where the scratchpad and the kernel are); -ENOMEM.
 */
int annex_ndp_time_map(struct annex_ndp_time *t, uint64_t va, void *memory, uint64_t bytes);

/**
 * annex_ndp_time_run() - Run a kernel, and count. Memory is as the kernel leaves it.
 * @t: the device.
 * @elf: as annex_m2_load() takes it.
 * @bytes: bytes of the file.
 * @launch: the launch.
 * @out: times and counters.
 *
 * L2s and TLBs keep their contents for the next launch.
 *
 * Return: 0; errors of annex_m2_load() for an ELF file; -EINVAL (registers or scratchpad that there
 * is no room for, another size of arguments, an empty pool region); -EFAULT (the pool region is not
 * mapped); -ENOMEM; errors of micro-threads, with pc and addr in *@out: -EFAULT, -ENOEXEC (illegal
 * instruction), -EDOM (ebreak), and -ETIME (the budget is used up); -EIO: the model itself stands
 * still. After an error caches are empty.
 */
int annex_ndp_time_run(struct annex_ndp_time *t, const void *elf, size_t bytes,
		       const struct annex_ndp_time_launch *launch,
		       struct annex_ndp_time_result *out);

#ifdef __cplusplus
}
#endif
#endif
