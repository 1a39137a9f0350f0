/* SPDX-License-Identifier: MIT */
/*
 * The parts of the slow simulator of plans with ANNEX_PLAN_RECLAIM: memories (demand_memory.c),
 * links (demand_links.c), steps, kernels and the loop (simulate_demand.c).
 *
 * Nothing is kept that can be counted: of each tensor where its bytes are, of each request how many
 * it still moves. All sums and orders are found by looking at everything.
 */
#ifndef ANNEX_TESTS_DEMAND_H
#define ANNEX_TESTS_DEMAND_H

#include <limits.h>
#include <stdbool.h>
#include <annex/simulate.h>
#include "core/least.h"

#define DEMAND_CHUNK (4ull << 20)
#define DEMAND_SAME 1e-3 /* nanoseconds or bytes that are none */
#define DEMAND_ANY UINT_MAX

enum demand_kind { DEMAND_IN, DEMAND_ALLOC, DEMAND_OUT };
enum demand_state { DEMAND_NEXT, DEMAND_WAITS, DEMAND_RUNS, DEMAND_DONE };

/*
 * struct demand_request - Bytes to move. @flows, @turn: it is in its flow, in this order. @waits,
 * @gate: likewise in the gate. @left: bytes that are not begun; of them @asked wait for memory.
 * @granted: bytes that have memory. @moving: bytes of the chunk in flight, which lands at @lands if
 *	it
 * is no longer in the flow. @stay: leaving bytes that stay as well. @rest, @rate: bytes of the
 * chunk in the flow, and bytes that pass in a nanosecond.
 */
struct demand_request {
	enum demand_kind kind;
	unsigned int tier;
	uint32_t tensor;
	bool keep, first, reclaim, stale, flows, waits;
	int64_t turn, gate;
	uint64_t left, asked, granted, moving, stay;
	double rest, rate, lands;
};

/*
 * struct demand_tensor - Where its bytes are. @guarded, @active: it is not taken until so many
 * kernels have run. @touched: the number of its last touch; 0: none.
 */
struct demand_tensor {
	uint64_t bytes, dirty, clean[ANNEX_TIERS], out[ANNEX_TIERS];
	uint64_t guarded, active, touched;
	bool born;
};

/*
 * struct demand - All. @requests: in the order in which they were made. @count: kernels that have
 * run. @front, @back: the first and the last turn so far, of whatever queue.
 */
struct demand {
	const struct annex_trace *t;
	const struct annex_plan *p;
	const struct annex_system *sys;
	struct demand_tensor *tensors;
	struct demand_request *requests;
	size_t n, space, step;
	unsigned int tiers;
	uint32_t kernel;
	enum demand_state state;
	uint64_t count, touches, striped;
	int64_t front, back;
	double now, issued, cost, fetch, end;
};

/* Whether it moves bytes that the tensor still has, out or in. */
bool demand_of(const struct demand_request *r, uint32_t tensor, bool out);

/* demand_moving() - Bytes of a tensor that requests of a kind and tier still move. */
uint64_t demand_moving(const struct demand *d, uint32_t tensor, enum demand_kind kind,
		       unsigned int tier);

/* demand_absent() - Bytes of a tensor that are only in a tier, and that no request brings. */
uint64_t demand_absent(const struct demand *d, uint32_t tensor, unsigned int tier);

uint64_t demand_clean(const struct demand *d, uint32_t tensor);
uint64_t demand_room(const struct demand *d, unsigned int tier);
unsigned int demand_next_ssd(struct demand *d);
void demand_touch(struct demand *d, uint32_t tensor);

/* demand_in_flow() - The first of a flow behind place @turn. */
struct demand_request *demand_in_flow(const struct demand *d, enum demand_kind kind,
				      unsigned int tier, int64_t turn);

/*
 * demand_bear() - A tensor is to be born. demand_fetch() - To return. demand_leave() - To leave.
 * demand_hurry() - A kernel waits for it. demand_drop() - Copies leave; returns how many of @bytes
 * there were not. demand_pump() - Free memory is given out, and more of it made.
 */
void demand_bear(struct demand *d, uint32_t tensor, bool first);
void demand_fetch(struct demand *d, uint32_t tensor, unsigned int tier, uint64_t bytes, bool keep,
		  bool first);
struct demand_request *demand_leave(struct demand *d, uint32_t tensor, unsigned int tier,
				    uint64_t bytes);
void demand_hurry(struct demand *d, uint32_t tensor);
uint64_t demand_drop(const struct demand *d, uint32_t tensor, uint64_t bytes);
void demand_pump(struct demand *d);

/*
 * demand_start() - Flows without a chunk start the next one. demand_next() - Nanoseconds until a
 * chunk has passed or lands. demand_advance() - Chunks pass and land that must after @ns.
 */
void demand_start(struct demand *d);
double demand_next(const struct demand *d);
void demand_advance(struct demand *d, double ns);

#endif
