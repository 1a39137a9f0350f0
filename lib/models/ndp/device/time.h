/* SPDX-License-Identifier: MIT */
/*
 * How long a kernel takes on M2NDP's device: section IV and Table IV, counted in cycles.
 *
 * Micro-threads have no order among each other (III-D), so the model executes each one when it gets
 * its slot, and then times its instructions, waits and transfers. A micro-thread that spins for
 * another one therefore runs until the budget is used up.
 */
#ifndef ANNEX_NDP_DEVICE_TIME_H
#define ANNEX_NDP_DEVICE_TIME_H

#include <stddef.h>
#include <stdint.h>
#include <annex/m2wire.h>
#include "models/ndp/harts/rv.h"

/**
 * struct ndp_time_params - A device. The first part is from Table IV; the second part has
 * assumptions where the paper is silent.
 * @units: NDP units.
 * @subcores: sub-cores of a unit.
 * @slots: micro-thread slots of a sub-core.
 * @mhz: clock of units, network and caches.
 * @register_file: bytes of a unit's; kernels with more registers get fewer slots.
 * @l1_bytes: L1 of a unit; a kernel's scratchpad is taken from it.
 * @l1_ways: its ways.
 * @l1_cycles: its latency.
 * @tlb_entries: data TLB of a unit.
 * @tlb_ways: its ways.
 * @l2_bytes: L2 slice in front of each channel.
 * @l2_ways: its ways.
 * @l2_cycles: its latency.
 * @channels: channels of DRAM.
 * @interleave: bytes to one channel before the next, hashed.
 * @dram_mhz: LPDDR5-6400's command clock. Members that begin with t are in its clocks.
 * @trc: row cycle.
 * @trcd: row to column.
 * @tcl: read latency.
 * @trp: precharge.
 * @tbl: burst: a channel of 16 bits moves 32 bytes in 2 clocks, 409.6 GB/s in all.
 * @crossbars: of the network, half of them for requests, half for answers; flits of 32 bytes.
 * @cxl_ns: load-to-use latency of the link: a launch takes it once, there and back.
 *
 * @page: bytes; the paper places data in pages of 2 MB.
 * @issue_cycles: from issue to the next instruction of the same micro-thread: a short pipeline of
 *	operands, execution and result, without forwarding (III-E).
 * @sfu_cycles: scalar product, quotient or root.
 * @vsfu_cycles: each register of a vector one.
 * @spawn_cycles: between two micro-threads that a unit's generator makes.
 * @noc_cycles: through an idle crossbar. The head of a packet takes a flit.
 * @loads: sectors that a unit may have under way to be loaded.
 * @stores: sectors that it may have under way to be stored.
 * @banks: banks of a channel.
 * @row: bytes of a row.
 * @row_idle: clocks after which an unused row is closed.
 * @tcwl: write latency. Refresh is left out: by bank, it hides behind the other banks.
 * @trrd: row to row.
 * @tfaw: four-activate window.
 * @twr: write recovery.
 * @twtr: write to read.
 * @trtp: read to precharge.
 * @queue: reads, and writes, that a channel holds.
 * @drain_high: waiting writes at which a channel writes although reads wait.
 * @drain_low: waiting writes at which it stops writing.
 */
struct ndp_time_params {
	uint32_t units, subcores, slots, mhz;
	uint32_t register_file;
	uint32_t l1_bytes, l1_ways, l1_cycles;
	uint32_t tlb_entries, tlb_ways;
	uint32_t l2_bytes, l2_ways, l2_cycles;
	uint32_t channels, interleave;
	uint32_t dram_mhz, trc, trcd, tcl, trp, tbl;
	uint32_t crossbars;
	uint32_t cxl_ns;

	uint32_t page;
	uint32_t issue_cycles, sfu_cycles, vsfu_cycles, spawn_cycles;
	uint32_t noc_cycles;
	uint32_t loads, stores;
	uint32_t banks, row, row_idle;
	uint32_t tcwl, trrd, tfaw, twr, twtr, trtp;
	uint32_t queue, drain_high, drain_low;
};

extern const struct ndp_time_params ndp_time_table_iv;

/**
 * struct ndp_time_kernel - A launch.
 * @image: as in the device's memory; the caller has checked its offsets.
 * @va: where it lies.
 * @isa: VLEN, and the registers that the kernel uses.
 * @scratchpad: bytes of it.
 * @mem: what micro-threads reach, beside their scratchpad.
 * @base: first address of the pool region.
 * @bound: address behind it.
 * @piece: bytes of a micro-thread.
 * @budget: instructions, of all micro-threads.
 */
struct ndp_time_kernel {
	const struct annex_m2_image *image;
	uint64_t va;
	struct rv_isa isa;
	uint32_t scratchpad;
	struct rv_mem mem;
	uint64_t base, bound;
	uint32_t piece;
	const void *args;
	uint32_t args_bytes;
	uint64_t budget;
};

/**
 * struct ndp_time_result - The time of a launch, and its counters.
 * @cycles: from the first micro-thread to the last answer of memory.
 * @total_ns: the same with the link.
 * @link_ns: the link's part of @total_ns.
 * @issued: instructions by functional unit.
 * @busy: cycles that functional units of each kind were busy, summed.
 * @read: bytes read from DRAM.
 * @written: bytes written to DRAM.
 * @row_hits: accesses to DRAM that found their row open.
 * @row_misses: accesses that did not.
 * @l1_hits: sectors that L1s had.
 * @l1_misses: sectors that they had not.
 * @l2_hits: sectors that L2 slices had.
 * @l2_misses: sectors that they had not.
 * @walks: misses of TLBs.
 * @threads: micro-threads.
 * @slots: slots of a sub-core that there was room for.
 * @pc: the instruction of an error.
 * @addr: the address of an error.
 */
struct ndp_time_result {
	uint64_t cycles;
	double total_ns, link_ns;
	uint64_t issued[RV_VLSU + 1], busy[RV_VLSU + 1];
	uint64_t read, written;
	uint64_t row_hits, row_misses;
	uint64_t l1_hits, l1_misses, l2_hits, l2_misses;
	uint64_t walks;
	uint64_t threads;
	uint32_t slots;
	uint64_t pc, addr;
};

/*
 * ndp_time_open() - A device, with empty caches. -EINVAL: there is none like that; -ENOMEM.
 */
struct ndp_time;
int ndp_time_open(const struct ndp_time_params *params, struct ndp_time **out);
void ndp_time_close(struct ndp_time *t);

/*
 * ndp_time_kernel() - Run a kernel and count. L2 and TLBs keep their contents for the next kernel;
 * L1s do not. Return: 0; -EINVAL: impossible kernel; -ENOMEM; errors of a launch: -ENOEXEC, -EDOM,
 * -EFAULT, -ETIME; -EIO: a bug of the model, which makes no progress. After an error, caches are
 * empty.
 */
int ndp_time_kernel(struct ndp_time *t, const struct ndp_time_kernel *k,
		    struct ndp_time_result *out);

#endif
