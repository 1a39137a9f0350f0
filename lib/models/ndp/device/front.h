/* SPDX-License-Identifier: MIT */
/*
 * A front end: a client's region, and a thread that polls it and makes its calls.
 *
 * The client may write to all of the region at any time, so each word is loaded once and the
 * device keeps no state there. Each client has a thread of its own, so that it cannot starve
 * others.
 */
#ifndef ANNEX_NDP_DEVICE_FRONT_H
#define ANNEX_NDP_DEVICE_FRONT_H

#include <pthread.h>
#include <stdbool.h>
#include "ndp/bell.h"
#include "ndp/m2cell.h"
#include "engine.h"

/**
 * struct ndp_front_opts - How to make a front end.
 * @stride: bytes from one cell of the region to the next.
 * @slots: slots of the region.
 * @region: existing memory for the region; NULL: new memory.
 * @room: bytes of @region.
 * @doze_ms: how long to sleep between looks where nothing rings; 0: a default.
 * @memory: memory that the process may attach by calls; NULL: none.
 * @memory_bytes: bytes of @memory.
 */
struct ndp_front_opts {
	uint32_t stride;
	uint32_t slots;
	char *region;
	uint64_t room;
	int doze_ms;
	char *memory;
	uint64_t memory_bytes;
};

/* struct ndp_front_stats - Counts of calls over the region. */
struct ndp_front_stats {
	uint64_t calls;
	uint64_t torn;
	uint64_t lost;
	uint64_t repeated;
};

/**
 * struct ndp_cell - The device's state of a cell. It belongs to the watching thread; while a call
 * is under way, to the thread that answers it.
 * @word: the word of the call under way.
 * @seq: its sequence number.
 * @last: sequence number of the call answered last; 0: none.
 * @kept: the answer to that.
 * @busy: a call is under way.
 * @hot: the cell is in the front's list of hot cells.
 */
struct ndp_cell {
	struct ndp_front *f;
	uint64_t word;
	uint32_t number;
	uint32_t seq;
	uint32_t last;
	uint32_t busy;
	bool hot;
	struct annex_m2_answer kept;
};

#define NDP_HOT 256u
#define NDP_UNRUNG 64u

/**
 * struct ndp_front - A region and its thread.
 * @fd: the region's memory, for the client; -1: it was given (@opts).
 * @bell: our side.
 * @at: index in @hot where the next look begins.
 * @hot: cells that were called since the thread last dozed; each look is at all of them.
 * @cold: the next cell to look at of all others.
 * @unrung: cells that were answered since the thread last looked for a host that sleeps.
 * @also: another descriptor to watch; -1: none.
 * @ready: called when @also is readable; false: the front end shall end.
 */
struct ndp_front {
	struct annex_ndp *ndp;
	struct ndp_client *client;
	struct ndp_front_opts opts;
	struct m2_layout layout;
	int fd;
	char *region;
	uint64_t bytes;
	struct annex_m2_doors *doors;
	struct bell bell;
	struct ndp_cell *cell;
	struct ndp_front_stats stats;
	unsigned int nhot, at;
	uint32_t cold;
	uint16_t hot[NDP_HOT];
	unsigned int nunrung;
	uint16_t unrung[NDP_UNRUNG];
	uint32_t stop;
	int also;
	bool (*ready)(void *ctx);
	void *ctx;
};

/*
 * ndp_front_open() - A region for @c. 0; -EINVAL (no such region); -ENOMEM, -EMFILE...
 * @bell: ours to close, also when this fails.
 */
int ndp_front_open(struct annex_ndp *ndp, struct ndp_client *c, const struct ndp_front_opts *opts,
		   const struct bell *bell, struct ndp_front **out);

/* ndp_front_watch() - Serve it, in the calling thread, until ndp_front_stop() or @ready says so. */
void ndp_front_watch(struct ndp_front *f);

/* ndp_front_stop() - From another thread, which then makes its descriptors readable. */
void ndp_front_stop(struct ndp_front *f);

/* ndp_front_end() - Close the client and notify it, once no thread polls the region. */
void ndp_front_end(struct ndp_front *f);

/* ndp_front_close() - Release it, after ndp_front_end(). */
void ndp_front_close(struct ndp_front *f);

/* ndp_front_get_stats() - From any thread. */
void ndp_front_get_stats(const struct ndp_front *f, struct ndp_front_stats *out);

/*
 * cells.c: ndp_cells_look() - Serve the next cell that was called, so that its call can be carried
 * out before the next one is served. Return: whether there was a call.
 * ndp_cells_look_at_all() - Serve each cell once. Return: whether there was a call.
 * ndp_cell_look() - Serve one cell. Return: whether there was a call, or will be one soon.
 * ndp_cells_cool() - Forget which cells are called often, after a time without calls.
 * ndp_cells_ring() - Wake hosts that sleep on answers of the watching thread.
 * ndp_cells_watch() - The calling thread watches @f from now on, or, with NULL, no front end.
 * ndp_cells_tell() - Store the records of the registered kernels for the client.
 */
bool ndp_cells_look(struct ndp_front *f);
bool ndp_cells_look_at_all(struct ndp_front *f);
bool ndp_cell_look(struct ndp_front *f, uint32_t number);
void ndp_cells_cool(struct ndp_front *f);
void ndp_cells_ring(struct ndp_front *f);
void ndp_cells_watch(const struct ndp_front *f);
void ndp_cells_tell(struct ndp_front *f);

#endif
