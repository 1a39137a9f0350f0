/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One program on one machine, from its input to its result.
 */
#ifndef TOOLS_CXL_SIM_H
#define TOOLS_CXL_SIM_H

#include "tools/block/hist.h"
#include "lane.h"
#include "ram.h"
#include "tags.h"
#include "work.h"

#define LANE_AHEAD 16u  /* loads of a lane in flight at most */
#define LANE_POSTED 16u /* stores of a lane whose lines are in flight */
#define SERIES_WINDOWS 64u

/*
 * struct series_sum - Requests of a window.
 * @n: number of requests.
 * @ns: nanoseconds of all requests.
 */
struct series_sum {
	uint64_t n, ns;
};

/*
 * struct series - Latency over time: windows of equal length, which are joined in pairs when time
 * goes beyond the last. Zeroed: empty.
 * @width: nanoseconds of a window.
 * @n: windows so far.
 * @loads: loads in each window.
 * @stores: stores in each window.
 */
struct series {
	uint64_t width;
	uint32_t n;
	struct series_sum loads[SERIES_WINDOWS], stores[SERIES_WINDOWS];
};

/* series_load(), series_store() - Add a request that started at @now and took @ns. */
void series_load(struct series *s, uint64_t now, uint64_t ns);
void series_store(struct series *s, uint64_t now, uint64_t ns);

/*
 * struct lane - A thread.
 * @sim: its simulation.
 * @task: its task.
 * @core: its core.
 * @loads: number of loads.
 * @stores: number of stores.
 * @ops: instructions that compute.
 * @instructions: all instructions, with those added to match the program's description.
 * @charged: nanoseconds of instructions that have passed.
 * @posted: completion times of stores in flight.
 * @n_posted: number of stores so far.
 * @ahead: completion times of loads in flight.
 * @n_ahead: number of loads in flight.
 * @seen: its time at the last look.
 */
struct lane {
	struct sim *sim;
	struct annex_cxltask *task;
	uint32_t core;
	uint64_t loads, stores, ops, instructions, charged;
	uint64_t posted[LANE_POSTED];
	uint32_t n_posted;
	uint64_t ahead[LANE_AHEAD];
	uint32_t n_ahead;
	uint64_t seen;
};

/*
 * struct sim - A run.
 * @m: the machine.
 * @w: the program.
 * @ram: the memory.
 * @llc: lines of the last-level cache.
 * @l1: lines of the L1 of each core.
 * @lanes: the threads.
 * @ratio: share of instructions that compute; 0: as in the program.
 * @work: instructions of one lane_ops() (struct work_kind).
 * @leaving: ring of times at which evicted lines reach memory.
 * @n_leaving: number of evicted lines so far.
 * @loads: lines loaded from memory.
 * @stores: lines stored to memory.
 * @load_ns: latencies of loads.
 * @store_ns: latencies of stores.
 * @series: latencies over time.
 * @err: first error.
 */
struct sim {
	const struct board *m;
	struct work *w;
	struct ram *ram;
	struct tags llc, *l1;
	struct lane *lanes;
	double ratio, work;
	uint64_t *leaving;
	uint64_t n_leaving;
	uint64_t loads, stores;
	struct hist load_ns, store_ns;
	struct series series;
	int err;
};

/*
 * struct result - Figures of a run.
 * @ns: virtual nanoseconds of the program.
 * @loads: loads of the program.
 * @stores: stores of the program.
 * @ops: calls of lane_ops(), weighted.
 * @instructions: all instructions.
 * @misses: lines loaded from memory.
 * @write_backs: lines stored to memory.
 * @load_mean: mean nanoseconds of a load from memory.
 * @store_mean: mean nanoseconds of a store to memory.
 * @load_p99: 99th percentile of loads from memory, nanoseconds.
 * @store_p99: 99th percentile of stores to memory, nanoseconds.
 * @switches: switches of threads.
 * @bytes: bytes of data.
 * @ram: counters of the memory.
 * @residue: dirty pages in the endpoint's DRAM at the end.
 * @series: latencies over time.
 * @real_s: CPU seconds of the simulator.
 */
struct result {
	uint64_t ns;
	uint64_t loads, stores, ops, instructions;
	uint64_t misses, write_backs;
	double load_mean, store_mean;
	double load_p99, store_p99;
	uint64_t switches, bytes;
	struct ram_stats ram;
	uint64_t residue;
	struct series series;
	double real_s;
};

/* sim_run() - Run a program on a machine. Return: 0; -EBADMSG (wrong result), -EIO (memory returned
 * wrong bytes), or another negative errno, all with the line set. */
int sim_run(const struct board *m, const struct work_kind *kind, struct result *out);

/* lane_end() - End a lane. lane_write_back_all() - Empty the last-level cache. */
void lane_end(struct lane *l);
void lane_write_back_all(struct sim *s, uint64_t now);

#endif
