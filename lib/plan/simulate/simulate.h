/* SPDX-License-Identifier: MIT */
/*
 * The simulator's parts: page table (ptes.c), memories and requests (memory.c), links (link.c),
 * kernels and steps (gpu.c), how iterations ended (steady.c), and the loop over events
 * (simulate.c). Each uses only those before it.
 *
 * Memory moves in chunks. A request for GPU memory waits in its GPU's gate, in order; the first
 * one takes free memory. So a later request never holds memory that an earlier one waits for, and a
 * plan whose steps fit when each is done at once always goes on. Where memory is reclaimed a
 * request is in the gate only while it is the first of its flow (G10 4.6: memory is allocated when
 * a batch of migrations is formed).
 */
#ifndef ANNEX_PLAN_SIMULATE_SIMULATE_H
#define ANNEX_PLAN_SIMULATE_SIMULATE_H

#include <stdbool.h>
#include <stdint.h>
#include <annex/simulate.h>
#include "ptes.h"

/*
 * Small against tensors, large against the events that they cost. If the tensors of all kernels,
 * added up over kernels, have more than SIM_MANY bytes, a chunk is larger, so that they have at
 * most SIM_CHUNKS.
 */
#define SIM_CHUNK (4ull << 20)
#define SIM_CHUNKS (1u << 21)
#define SIM_MANY 0x1p46 /* 64 TiB */
/* Chunks reclaimed ahead of their use, so that both directions of the link are busy. */
#define SIM_RECLAIM 4

enum sim_kind { SIM_IN, SIM_ALLOC, SIM_OUT };

/* struct sim_request - Bytes of one tensor that move between the GPU and one tier, or are born. */
struct sim_request {
	struct sim_request *next;            /* in its flow, or in the pool of free ones */
	struct sim_request *gate_next;       /* in the gate */
	struct sim_request *sibling, *newer; /* of the same tensor: the one before, and after */
	uint32_t tensor;
	uint8_t kind, tier, keep, reclaim;
	uint64_t left;    /* neither started nor, for SIM_IN and SIM_ALLOC, given memory */
	uint64_t asked;   /* of @left, bytes that it waits for in the gate */
	uint64_t granted; /* has memory, not started */
	uint64_t moving;  /* the chunk under way */
	struct pte_list
		flight;  /* SIM_OUT: entries of the chunk under way, if it is worth something */
	uint64_t stay;   /* SIM_OUT: of @left and @moving, bytes that stay on the GPU with a copy */
	uint64_t forget; /* SIM_OUT: of @moving, bytes that stay without one */
	double lands;    /* when the latency of its last chunk is over */
	bool gated;      /* waits in the gate */
	bool first;      /* went before all others: a kernel waits for it */
	bool stale;      /* the tensor was written or freed: the chunk is worth nothing */
};

/*
 * struct sim_flow - One GPU's traffic with one tier in one direction, or its allocator: requests in
 * order, one chunk at a time, of @current. The last chunk of a request to or from an SSD lands some
 * time after it has passed the link.
 */
struct sim_flow {
	struct sim_request *head, *tail, *current;
	struct sim_request *landing, *landing_tail;
	double left; /* bytes of the chunk under way */
	double rate;
	bool shares; /* @rate is for a chunk under way */
};

struct sim_tensor {
	struct pte_list *lists;        /* its entries */
	uint64_t dirty;                /* bytes on the GPU without a copy, with those under way */
	uint64_t pending[ANNEX_TIERS]; /* bytes on their way in, by where from */
	uint64_t leaving;              /* dirty bytes to evict or save, none to forget */
	struct sim_request *requests;  /* all that are not over */
	/* The last kernel, counted from 1 over iterations, that uses it, and that will soon. */
	uint64_t active, guarded;
	uint32_t older, newer; /* by last use, of all with bytes on the GPU */
	bool born, allocating, listed;
};

/* Bytes on the GPU with a copy in a tier, and bytes that are only there. */
static inline struct pte_list *sim_clean(const struct sim_tensor *t, unsigned int tier)
{
	return &t->lists[2 * tier - 1];
}

static inline struct pte_list *sim_out(const struct sim_tensor *t, unsigned int tier)
{
	return &t->lists[2 * tier];
}

struct sim;

struct sim_gpu {
	struct sim *sim;
	const struct annex_trace *trace;
	const struct annex_plan *plan;
	struct sim_tensor *tensors;
	uint64_t capacity, used, peak;
	uint64_t reclaiming; /* bytes that will leave to make room */
	struct sim_request *gate, *gate_tail;
	uint64_t gate_bytes;        /* that wait for memory */
	uint64_t room[ANNEX_TIERS]; /* what its plan may still take of host and CXL memory */
	uint32_t oldest, newest;
	uint32_t striped; /* requests that went to SSDs in turn */
	struct sim_flow in[ANNEX_TIERS], out[ANNEX_TIERS], alloc;
	/* The kernel that runs or waits. */
	uint32_t kernel, iteration;
	uint64_t count;     /* kernels since the start */
	size_t first, step; /* the first of its steps, and the next one to carry out */
	enum { SIM_NEXT, SIM_WAITS, SIM_RUNS, SIM_DONE } state; /* SIM_NEXT: its steps are next */
	double next;                                            /* when it was its turn */
	double issued, end; /* when its steps were carried out; when it ends */
	double cost;        /* its time, with noise */
	double fault;       /* latencies of its faults */
	double fetch;       /* time to fetch their bytes, at the full rate of the tier */
	uint64_t absent;    /* bytes of its tensors that it has faults on */
	/* Of this iteration and the one before. */
	double began, time;
	struct annex_sim_result *stats;
	uint64_t moved_in, moved_out; /* bytes through the link */
	uint64_t paid;                /* of @moved_in, bytes whose pages the program has handled */
	uint64_t sample_in, sample_out, sample_peak;
};

struct sim {
	const struct annex_system *sys;
	const struct annex_sim_options *opts;
	struct sim_gpu *gpus;
	unsigned int n;
	unsigned int tiers; /* in use: up to ANNEX_TIER_SSD + ssds */
	uint64_t chunk;     /* bytes */
	double now;
	uint64_t room[ANNEX_TIERS];       /* free bytes of host memory, CXL memory and SSDs */
	uint64_t least_room[ANNEX_TIERS]; /* in this iteration */
	struct ptes ptes;
	double busy[ANNEX_TIERS]; /* until when an SSD collects garbage, and writes nothing else */
	uint64_t written;         /* to all SSDs, in all iterations */
	struct sim_request *pool;
	struct sim_block *blocks; /* what the requests were allocated in */
	uint64_t random;
	int err; /* the first failure of an allocation */
};

/* The room that a GPU has in a tier; it takes some. */
static inline uint64_t sim_room(const struct sim_gpu *g, unsigned int tier)
{
	return g->room[tier] < g->sim->room[tier] ? g->room[tier] : g->sim->room[tier];
}

static inline void sim_take(struct sim_gpu *g, unsigned int tier, uint64_t bytes)
{
	g->room[tier] -= bytes;
	g->sim->room[tier] -= bytes;
}

/* Bytes are worth nothing there. */
static inline void sim_give(struct sim_gpu *g, unsigned int tier, uint64_t bytes)
{
	g->room[tier] += bytes;
	g->sim->room[tier] += bytes;
}

/* Entries change. */
static inline void sim_move(struct sim *s, struct pte_list *from, struct pte_list *to,
			    uint64_t bytes)
{
	int err = ptes_move(&s->ptes, from, to, bytes);

	s->err = s->err ? s->err : err;
}

static inline void sim_drop(struct sim *s, struct pte_list *from, uint64_t bytes)
{
	int err = ptes_drop(&s->ptes, from, bytes);

	s->err = s->err ? s->err : err;
}

/* A policy that names no SSD has all of them, as one striped device: each in turn. */
static inline unsigned int sim_ssd(struct sim_gpu *g)
{
	uint32_t ssds = g->sim->sys->ssds, first = (uint32_t)(g - g->sim->gpus);

	return ANNEX_TIER_SSD + (first + g->striped++) % ssds;
}

/* memory.c */

/* Ask for bytes of a tensor that are out at @tier, or for memory for a new tensor. */
void sim_fetch(struct sim_gpu *g, uint32_t tensor, unsigned int tier, uint64_t bytes, bool keep,
	       bool first);
void sim_born(struct sim_gpu *g, uint32_t tensor, bool first);
/* A kernel waits for a request: it goes before all earlier requests. */
void sim_hurry(struct sim_gpu *g, uint32_t tensor);
/* Take a request out of its flow. */
void sim_unqueue(struct sim_flow *f, struct sim_request *r);
/* Bytes leave: those with a copy at once, the rest by a request. */
void sim_evict(struct sim_gpu *g, uint32_t tensor, uint64_t bytes, unsigned int tier);
void sim_save(struct sim_gpu *g, uint32_t tensor, uint64_t bytes, unsigned int tier);
/*
 * Up to @bytes that were to leave stay, with the copy that they would have left if they @keep it;
 * the rest of @bytes must be fetched.
 */
void sim_recall(struct sim_gpu *g, uint32_t tensor, uint64_t *bytes, bool keep);
/* A kernel writes it: its copies are worth nothing. */
void sim_written(struct sim_gpu *g, uint32_t tensor);
void sim_free(struct sim_gpu *g, uint32_t tensor);
/* It was used just now. */
void sim_touch(struct sim_gpu *g, uint32_t tensor);
/* Give free memory to the gate, and reclaim more where the plan wants that. */
void sim_pump(struct sim_gpu *g);
bool sim_ready(const struct sim_gpu *g, uint32_t tensor);
/*
 * Whether a step has the same effect now as after all earlier steps: a tensor to leave may still be
 * on its way in, and a tensor to return on its way out, with a waiter for its memory.
 */
bool sim_can_evict(const struct sim_gpu *g, uint32_t tensor, uint64_t bytes);
bool sim_can_save(const struct sim_gpu *g, uint32_t tensor, uint64_t bytes);
bool sim_can_prefetch(const struct sim_gpu *g, uint32_t tensor, uint64_t bytes);
void sim_memory_free(struct sim *s);

/* link.c */

/* Start a chunk on every idle flow that can; then share the links among those under way. */
void sim_links_start(struct sim *s);
/* When the first chunk under way ends; INFINITY when none is. */
double sim_links_next(const struct sim *s);
/* Let @ns pass, and end the chunks that it completes. */
void sim_links_advance(struct sim *s, double ns);
/*
 * Send writes that wait for a full memory to an SSD instead. False: nothing waits
 * so.
 */
bool sim_links_divert(struct sim *s);
/* Whether anything is on the GPU's link. */
bool sim_links_busy(const struct sim_gpu *g);

/* gpu.c */

/* It is the turn of the next kernel's steps, or of those at the end of the iteration. */
void sim_gpu_next(struct sim_gpu *g);
/* Carry out events that are due now: a kernel ends, steps are issued, a kernel starts. */
void sim_gpu_run(struct sim_gpu *g);

/*
 * Where memory is reclaimed, or garbage collected, nothing may ever repeat: then the means of so
 * many iterations agree.
 */
#define SIM_WINDOW 4

/*
 * struct sim_history - Results of the last iterations.
 * @at: a ring of results.
 * @count: number of iterations.
 * @collects: SSDs collect garbage, so that an iteration may equal the previous one but not the
 *	next.
 */
struct sim_history {
	struct sim_ending {
		double took, ideal, under_way, copied, updated;
		uint64_t digest, room;
	} at[2 * SIM_WINDOW];
	uint32_t count;
	bool collects;
};

/* sim_remember() - An iteration is over, as @r says. */
void sim_remember(struct sim_history *h, const struct sim *s, const struct annex_sim_result *r);
/* sim_steady() - Whether the iterations are steady now; @r has what one of them takes then. */
bool sim_steady(const struct sim_history *h, struct annex_sim_result *r);
/* sim_collected() - Set what SSDs collected in an iteration, the means of the last. */
void sim_collected(const struct sim_history *h, struct annex_sim_result *r);

#endif
