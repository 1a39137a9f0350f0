/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One program on one machine, from its input to its result.
 */
#ifndef TOOLS_CXL_SIM_H
#define TOOLS_CXL_SIM_H

#include "tools/block/hist.h"
#include "lane.h"
#include "ram.h"
#include "series.h"
#include "tags.h"
#include "work.h"

#define LANE_AHEAD 16u  /* loads of a lane under way at most */
#define LANE_POSTED 16u /* stores of a lane whose lines are on their way */

/*
 * struct lane - A thread. @ops: instructions that compute. @instructions: all, with what the
 * program's description adds. @charged: nanoseconds of these that have passed.
 * @posted, @ahead: when stores and loads under way will be done. @seen: its time some moments ago.
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
 * struct sim - @ratio: share of instructions that compute, 0: as the program has it. @work: as
 * struct work_kind has it.
 * @leaving: when lines that left the last-level cache will be in memory, a ring.
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
 * struct result - @ns: of the program. @loads, @stores, @instructions: of it; @misses,
 * @write_backs: lines that came from memory, and went there. @load_p99, @store_p99: the slowest
 * hundredth of these. @residue: pages that the endpoint's DRAM still owed flash at the end.
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

/* sim_run() - Run a program on a machine. Return: 0; -EBADMSG (its result is wrong), -EIO (memory
 * gave back other bytes than were stored), and others, with the line set. */
int sim_run(const struct board *m, const struct work_kind *kind, struct result *out);

/* Of lane.c, for sim.c: a lane ends; the last-level cache is emptied. */
void lane_end(struct lane *l);
void lane_write_back_all(struct sim *s, uint64_t now);

#endif
