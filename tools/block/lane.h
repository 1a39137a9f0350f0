/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One thread's stream of commands: so many in flight on a queue pair, submitted in batches, polled
 * for. Nothing is allocated and no system call made between the first command and the last one,
 * unless the device makes the thread wait.
 */
#ifndef TOOLS_BLOCK_LANE_H
#define TOOLS_BLOCK_LANE_H

#include <stdbool.h>
#include <stdint.h>
#include <annex/device.h>

#define LANE_NONE UINT32_MAX /* no slot */

/*
 * struct lane_flight - A command in flight.
 * @next: slot of the command that was submitted after it.
 */
struct lane_flight {
	uint64_t token, slba, since;
	uint32_t nlb, slot, next;
};

/*
 * struct lane - Set up by lanes_open(). @depth commands in flight, of up to @size bytes; at least
 * @batch of them go with one doorbell as long as there are more to come.
 * @ios: commands built and not submitted, for the slots @ready_slots of the buffer.
 * @free: slots with no command.
 * @flights: commands in flight by slot, a list from @oldest to @newest.
 * @alone: no other thread uses the queue pair.
 */
struct lane {
	struct annex_dev *dev;
	struct annex_qp *qp;
	uint32_t depth, size, stride, batch;
	char *buf;
	uint64_t addr;
	struct annex_io *ios;
	uint64_t *tokens;
	struct lane_flight *flights;
	uint32_t *ready_slots, *free;
	uint32_t n_ready, n_flights, n_free, oldest, newest;
	bool alone;
	uint32_t nap_ns; /* time to sleep when no command has completed; 0: spin */
	bool timed;      /* the moments of submission and completion are wanted */
};

/*
 * struct lane_job - The commands of a lane. The lane's thread calls both functions with @ctx.
 * @next: complete @io (slba, nlb; opcode) for the buffer @data; false: there are no more.
 * @done: a command has succeeded, after @ns nanoseconds (0 unless the lane is timed). A non-zero
 *	result (with the line set) ends the run.
 */
struct lane_job {
	void *ctx;
	bool (*next)(void *ctx, struct annex_io *io, void *data);
	int (*done)(void *ctx, const struct lane_flight *f, const void *data, uint64_t ns);
};

/* lane_run() - Until there are no more, or one fails; nothing is in flight afterwards. */
int lane_run(struct lane *l, const struct lane_job *job, uint32_t block);

/*
 * struct lanes - A device, and a lane for each thread on it. A zeroed one is closed.
 */
struct lanes {
	struct annex_dev *dev;
	struct annex_ns ns;
	unsigned int n, queues;
	struct lane *lane;
	const struct annex_provider *memory;
	char *buf;
	uint64_t bytes, addr;
};

struct lanes_opts {
	uint32_t threads, queues, depth, size, nap_us;
};

int lanes_open(struct lanes *ls, const char *uri, const struct lanes_opts *o);
void lanes_close(struct lanes *ls);

#endif
