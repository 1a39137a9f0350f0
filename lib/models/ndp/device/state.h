/* SPDX-License-Identifier: MIT */
/*
 * The shared state of the near-data processor, and the threads that may touch it.
 *
 * Locks, outermost first; none is held while micro-threads run or an answer is given:
 *
 *   ndp.lock    clients, kernels, instances, units: everything here, but for what a unit's holder
 *               has for itself (struct ndp_batch)
 *   space.lock  one address space; units take it alone when a span is new to them
 *   tlb         the DRAM-TLB
 */
#ifndef ANNEX_NDP_DEVICE_STATE_H
#define ANNEX_NDP_DEVICE_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <annex/detail/atomic.h>
#include <annex/detail/clock.h>
#include "engine.h"
#include "space.h"
#include "tlb.h"

#define NDP_CLIENTS 1024u /* M2NDP section III-B: the packet filter's entries */
#define NDP_PHASES (ANNEX_M2_BODIES + 2)

struct rv_code;
struct rv_batch;
struct ndp_instance;
struct ndp_client;

/**
 * struct ndp_phase - Micro-threads that run at once: one a piece of the pool, or one a slot.
 */
struct ndp_phase {
	uint64_t pc;
	bool slots;
};

struct ndp_kernel {
	uint32_t id; /* 0: none */
	struct rv_code *code;
	struct ndp_phase phase[NDP_PHASES];
	unsigned int phases;
	uint32_t scratchpad; /* bytes that a unit has, arguments included */
	struct annex_m2_register asked;
	uint32_t instances; /* that run or wait */
	uint64_t launches;
};

/**
 * struct ndp_batch - Micro-threads that a unit executes together. The holder of the unit owns it.
 * @stop: makes rv_run() return.
 * @running: a thread is in it, without the lock.
 * @stale: translations in it may be wrong.
 * @live: lanes are under way; otherwise the unit's next ones are to be started.
 * @fresh: it has spans of another unit or instance.
 */
struct ndp_batch {
	struct rv_batch *rv;
	struct ndp_instance *instance;
	unsigned int unit;
	unsigned int thread; /* that ran it last */
	uint32_t stop;
	bool running, stale, live, fresh;
	SLIST_ENTRY(ndp_batch) link;
	SLIST_ENTRY(ndp_batch) all;
};

/**
 * struct ndp_unit - An NDP unit as one instance sees it.
 * @next: number of its next batch in this phase.
 * @warm: the scratchpad has its arguments.
 */
struct ndp_unit {
	struct ndp_batch *batch;
	uint64_t next;
	bool warm;
};

/**
 * struct ndp_place - Memory of an instance that runs; there are as many as may run at once.
 */
struct ndp_place {
	struct ndp_unit *unit;
	uint16_t *ready; /* units with work and without a thread; units with a batch last */
	char *scratchpad;
	SLIST_ENTRY(ndp_place) link;
};

/**
 * struct ndp_instance - A launch.
 * @place: NULL while it waits.
 * @batches: the pool's, in this phase.
 * @grain: neighbouring batches for one unit.
 * @phase: number of the kernel's next phase.
 * @held: units that threads are executing.
 * @todo: units that have not finished the phase.
 */
struct ndp_instance {
	uint64_t id;
	struct ndp_client *client;
	struct ndp_kernel *kernel;
	struct ndp_place *place;
	ndp_done *done; /* of a synchronous launch */
	void *ctx;
	uint64_t base, pieces; /* the pool */
	uint64_t batches, grain;
	uint64_t left; /* of the instruction budget */
	uint64_t deadline;
	unsigned int phase;
	unsigned int nready, held, todo;
	unsigned int counted; /* in annex_ndp.nready: not 0 while it is active */
	bool failed;
	struct annex_m2_answer answer;
	unsigned char args[ANNEX_M2_ARGS_MAX];
	TAILQ_ENTRY(ndp_instance) link; /* free, waiting or running */
	TAILQ_ENTRY(ndp_instance) turn;
};

TAILQ_HEAD(ndp_instances, ndp_instance);

/**
 * struct ndp_past - The answer for a poll of an instance; its value is 1 while the instance runs.
 */
struct ndp_past {
	uint64_t id;
	struct annex_m2_answer answer;
};

/**
 * struct ndp_client - A process.
 * @used: nanoseconds of units, for fair shares.
 * @answering: threads in a @done of its.
 * @apart: until then only the device's own threads run its kernels.
 * @own: for a launch when it has nothing else under way, so there always is room for that.
 */
struct ndp_client {
	struct annex_ndp *ndp;
	uint16_t asid;
	bool privileged, closing;
	uint64_t used, launches, apart;
	unsigned int answering;
	unsigned int nwaiting, nrunning;
	struct ndp_instances waiting, running, active;
	struct ndp_instance own;
	TAILQ_ENTRY(ndp_client) turn;  /* among those with active instances */
	TAILQ_ENTRY(ndp_client) queue; /* among those with waiting ones */
	struct ndp_kernel kernel[ANNEX_M2_KERNELS];
	struct ndp_past *past;
	struct ndp_space space;
};

TAILQ_HEAD(ndp_clients, ndp_client);

/**
 * struct annex_ndp - The device.
 * @work: there is more of it.
 * @settled: a thread has come out of a batch, or has answered.
 * @nready: units that are ready, of all instances; idle threads look at it without the lock.
 * @busy: clients with running instances.
 * @queueing: clients with waiting instances, in turn.
 * @nwaiting: waiting instances, without the ones in clients' own places.
 * @floor: least ndp_client.used of a client that returns from idling.
 */
struct annex_ndp {
	struct annex_ndp_opts opts;
	pthread_mutex_t lock;
	pthread_cond_t work, settled;
	uint32_t nready;
	unsigned int sleeping, spinning, lent, assisting;
	bool stop;
	struct ndp_tlb *tlb;
	struct ndp_client *client[NDP_CLIENTS]; /* by ASID - 1 */
	unsigned int clients, busy, nqueueing;
	struct ndp_clients active, queueing;
	uint64_t floor;
	struct ndp_instances free;
	SLIST_HEAD(, ndp_place) places;
	SLIST_HEAD(, ndp_batch) batches, all_batches;
	unsigned int nwaiting, nrunning;
	uint32_t past; /* entries of each client, a power of two */
	uint64_t launches, instructions;
	uint32_t kernels; /* registered so far */
	struct ndp_instance *instance;
	struct ndp_place *place;
	struct ndp_unit *unit;
	uint16_t *ready;
	char *scratchpad; /* a mapping: only used pages take memory */
	size_t scratchpad_bytes, scratchpad_stride;
	pthread_t *thread;
	unsigned int threads;
	struct ndp_watch *watch;
};

static inline unsigned int ndp_unit_slots(const struct annex_ndp *ndp)
{
	return ndp->opts.subcores * ndp->opts.slots;
}

/* client.c: look translations of a page up anew from now on. */
int ndp_client_shootdown(struct ndp_client *c, const struct annex_m2_shootdown *asked);

/* worker.c: start as many threads as the options say (-EAGAIN); stop all that there are. */
int ndp_workers_start(struct annex_ndp *ndp);
void ndp_workers_stop(struct annex_ndp *ndp);

/* kernel.c: ndp_register() - The new kernel's id, or a negative errno. Takes the lock by itself. */
int64_t ndp_register(struct ndp_client *c, const struct annex_m2_register *asked);
int ndp_unregister(struct ndp_client *c, const struct annex_m2_unregister *asked);

/* ndp_kernel_find() - Of this client; NULL: no such. Locked. */
struct ndp_kernel *ndp_kernel_find(struct ndp_client *c, uint32_t id);

#endif
