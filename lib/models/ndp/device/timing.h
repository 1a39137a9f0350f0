/* SPDX-License-Identifier: MIT */
/*
 * The parts of the timed device, and how they talk: units send requests for sectors of 32 bytes to
 * channels, which answer. For lib/models/ndp/device/time*.c only.
 */
#ifndef ANNEX_NDP_DEVICE_TIMING_H
#define ANNEX_NDP_DEVICE_TIMING_H

#include <stdbool.h>
#include "time.h"

#define SECTOR 32u
#define LINE 128u
#define SECTORS (LINE / SECTOR)
#define NONE UINT32_MAX
#define PENDING 256u /* chains of what a unit, or a channel, waits for */

/* Operations of a micro-thread, in order. */
struct time_step {
	uint8_t unit;
	uint8_t atomic;
	uint16_t uops;
	uint32_t sectors; /* that follow in the trace */
};

/* Sectors are addresses; their low bits have the kind of access. */
enum { TOUCH_WRITE = 1, TOUCH_PAD = 2, TOUCH_KIND = 3 };

/* struct time_trace - Of a micro-thread. */
struct time_trace {
	struct time_step *step;
	uint64_t *sector;
	uint32_t nsteps, steps_room;
	uint32_t nsectors, sectors_room;
};

/* struct time_slot - A micro-thread under way. */
struct time_slot {
	struct time_trace trace;
	uint32_t step, sector; /* the next ones */
	uint32_t left;         /* sectors of this instruction that have not been sent */
	uint32_t waits;        /* answers that it waits for */
	uint64_t done;         /* not before this cycle */
};

struct time_line {
	uint64_t tag; /* line number + 1; 0: none */
	uint64_t used;
	uint8_t valid, dirty, pending; /* bits by sector */
};

/* struct time_cache - @sets of @ways lines. */
struct time_cache {
	struct time_line *line;
	uint32_t sets, ways;
};

enum time_kind { TIME_READ, TIME_WRITE, TIME_ATOMIC, TIME_WALK };

/* struct time_request - A sector, from a unit to a channel and back. */
struct time_request {
	uint64_t sector; /* its address; of a walk, the entry's */
	uint64_t page;   /* of a walk */
	uint32_t unit;
	enum time_kind kind;
	uint32_t next;    /* in a list of the channel */
	uint32_t pending; /* in a chain of the unit */
	uint32_t waiters; /* nodes */
};

struct time_node {
	uint32_t slot, next;
};

struct time_unit {
	struct time_cache l1, tlb;
	uint32_t pending[PENDING];
	uint32_t loads, stores; /* under way */
	uint64_t port;          /* when L1 takes the next sector */
	uint64_t spawn;         /* when the generator may make another */
	uint64_t next;          /* its next micro-thread */
	uint32_t live;
	uint32_t *blocked, nblocked;
	char *pad;
};

struct time_subcore {
	uint64_t ready, idle; /* slots, as bits */
	uint32_t last;
	uint64_t taken[RV_VLSU + 1]; /* until when */
};

struct time_bank {
	uint64_t row;           /* + 1; 0: closed */
	uint64_t used;          /* when it was */
	uint64_t act, col, pre; /* when the next such command may come */
};

struct time_entry {
	uint64_t row;
	uint32_t bank, request; /* NONE: a write, which nothing waits for */
	uint64_t sector, since;
	bool opened;
};

struct time_channel {
	struct time_cache l2;
	uint32_t head, tail; /* requests that have arrived */
	struct time_entry *reads, *writes;
	uint32_t nreads, nwrites;
	uint32_t pending[PENDING];
	bool draining;
	struct time_bank *bank;
	uint32_t look; /* the bank that may be closed next */
	uint64_t read_at, write_at, act_at, acts[4];
};

enum time_event_kind { EVENT_READY, EVENT_ARRIVE, EVENT_FILL, EVENT_ANSWER };

struct time_event {
	uint64_t at;
	uint32_t what, next;
	enum time_event_kind kind;
};

#define WHEEL 4096u

/* struct time_pool - Of things that come and go; the free ones are a list. */
struct time_pool {
	char *at;
	uint32_t bytes, n, room, free;
};

struct ndp_time {
	struct ndp_time_params params;
	struct time_sim *sim; /* NULL: to be made, before the next launch */
};

struct time_sim {
	const struct ndp_time_kernel *k;
	const struct ndp_time_params *p;
	struct ndp_time_result *out;
	uint64_t cycle, clock; /* of units, of DRAM */
	uint64_t stamp;

	struct rv_batch *batch;
	struct rv_code *code;
	uint32_t unit_at_work; /* whose scratchpad the batch sees */
	uint64_t executed;
	struct rv_step noted;

	struct time_unit *units;
	struct time_subcore *subcores;
	struct time_slot *slots;
	struct time_channel *channels;
	uint32_t slots_used;                                  /* of each sub-core */
	uint64_t *in_free, *out_free, *back_free, *home_free; /* ports of the network */

	uint64_t pc; /* of the phase */
	bool per_slot;
	uint64_t share, spawned; /* micro-threads of the phase */
	uint64_t live, under_way;
	uint64_t moved; /* when something last happened */

	struct time_pool requests, nodes, events;
	uint32_t wheel[WHEEL];
	int err;
};

/* timing.c; time_build() makes the device, time_prepare() makes it ready for a launch. */
int time_build(struct time_sim *s);
int time_prepare(struct time_sim *s);
void time_free(struct time_sim *s);
void time_later(struct time_sim *s, uint64_t at, enum time_event_kind kind, uint32_t what);
uint32_t time_take(struct time_sim *s, struct time_pool *pool);
void time_give(struct time_pool *pool, uint32_t i);
struct time_line *time_find(const struct time_cache *c, uint64_t number);
struct time_line *time_victim(const struct time_cache *c, uint64_t number);
uint64_t time_through(struct time_sim *s, uint64_t *from, uint64_t *to, uint32_t flits);
uint32_t time_channel_of(const struct time_sim *s, uint64_t address, uint64_t *local);

/* The chain of requests that wait for @sector. */
static inline uint32_t time_chain(uint64_t sector)
{
	return (uint32_t)(sector / SECTOR * 0x9e3779b1u >> 8) % PENDING;
}

static inline struct time_request *time_request(struct time_sim *s, uint32_t i)
{
	return (struct time_request *)s->requests.at + i;
}

/* time_thread.c: what a micro-thread does. */
int time_thread_run(struct time_sim *s, uint32_t unit, uint64_t number, struct time_trace *t);

/* time_unit.c: the units' side. */
void time_unit_cycle(struct time_sim *s, uint32_t unit);
void time_unit_answer(struct time_sim *s, uint32_t request);
void time_unit_ready(struct time_sim *s, uint32_t slot);

/* time_l2.c, time_dram.c: the channels' side. */
void time_l2_arrive(struct time_sim *s, uint32_t request);
void time_l2_cycle(struct time_sim *s, uint32_t channel);
void time_l2_filled(struct time_sim *s, uint32_t request);
bool time_dram_room(const struct time_sim *s, uint32_t channel, uint32_t reads, uint32_t writes);
void time_dram_read(struct time_sim *s, uint32_t channel, uint64_t sector, uint32_t request);
void time_dram_write(struct time_sim *s, uint32_t channel, uint64_t sector);
void time_dram_clock(struct time_sim *s, uint32_t channel);

#endif
