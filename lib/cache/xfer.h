/* SPDX-License-Identifier: MIT */
/*
 * Transfers: runs of lines on their way between slots and devices.
 *
 * A thread that reads ahead may never come back for its lines, so no transfer belongs to a thread:
 * any thread that needs one of its lines, or a slot, ends it. One thread at a time is its reaper,
 * polls or waits for its commands, and carries the outcome to the lines; others that wait for it
 * sleep on its word.
 *
 *	free --> held (being prepared and sent) --> flying <--> reaping --> done --> free
 *
 * The word counts the waiters above the phase; a done transfer is kept, with its outcome, until
 * the last waiter has left.
 */
#ifndef ANNEX_CACHE_XFER_H
#define ANNEX_CACHE_XFER_H

#include "cache.h"

/* Limit for waiting for a thread that timeout, abort and reset bound: it catches bugs only. */
#define XFER_PATIENCE_MS(c) (8ull * (c)->timeout_ms + 1000)

#define XFER_PHASE 7u /* mask of the word */
#define XFER_WAITER 8u

enum annex_xfer_phase {
	XFER_FREE,
	XFER_HELD,
	XFER_FLYING,
	XFER_REAPING,
	XFER_DONE,
};

#define XFER_UNSENT 1 /* outcome of a command that was never submitted: try again */

/**
 * struct annex_flush - One call of annex_cache_flush() and the end of its writes.
 * @pending: lines under way.
 * @err: the first failure.
 */
struct annex_flush {
	uint64_t pending;
	int32_t err;
};

/* One command of a transfer. */
struct annex_cmd {
	struct annex_qp *qp;
	uint64_t token;
	uint32_t leaf;
	int32_t err; /* the outcome, once it is not pending */
	bool pending;
};

/**
 * struct annex_xfer - A transfer.
 * @word: phase and number of waiters.
 * @next: the next free transfer.
 * @write: a write-back; else a read.
 * @prefetch: a read that no thread had asked for when it began.
 * @first: its first line.
 * @stride: lines from one to the next, which are neighbours on their device.
 * @count: number of lines.
 * @leaf: the device of a read.
 * @err: the first failure, for waiters; a line that is there nevertheless is not affected.
 * @flush: the flush that a write-back is reported to, or NULL.
 * @cmds: a command for each copy and piece.
 * @ncmds: number of commands.
 * @slots: the slot of each line.
 */
struct annex_xfer {
	uint32_t word;
	uint32_t next;
	bool write;
	bool prefetch;
	uint64_t first;
	uint32_t stride;
	uint32_t count;
	uint32_t leaf;
	int32_t err;
	struct annex_flush *flush;
	struct annex_cmd *cmds;
	uint32_t ncmds;
	uint32_t slots[ANNEX_GROUP];
};

/**
 * annex_xfers_create(), annex_xfers_destroy() - The pool of a cache's transfers.
 */
int annex_xfers_create(struct annex_cache *c);
void annex_xfers_destroy(struct annex_cache *c);

/**
 * annex_xfer_take() - Take a free transfer, which is then held. Return: NULL when there is none.
 */
struct annex_xfer *annex_xfer_take(struct annex_cache *c);

/**
 * annex_xfer_fly() - A held transfer is sent: from now on anyone may end it.
 */
void annex_xfer_fly(struct annex_xfer *x);

/**
 * annex_xfer_join() - Become a waiter. False when there is nothing to wait for.
 *
 * The caller then makes sure that the transfer is the one it means, waits or not, and leaves.
 */
bool annex_xfer_join(struct annex_xfer *x);
void annex_xfer_leave(struct annex_cache *c, struct annex_xfer *x);

/**
 * annex_xfer_grab() - Become the reaper. False unless the transfer is flying.
 * annex_xfer_release() - Let it fly on.
 */
bool annex_xfer_grab(struct annex_xfer *x);
void annex_xfer_release(struct annex_xfer *x);

/**
 * annex_xfer_end() - By the reaper, when its lines know the outcome: the transfer is done.
 * @joined: the reaper is one of the waiters, and needs no waking.
 */
void annex_xfer_end(struct annex_cache *c, struct annex_xfer *x, bool joined);

/**
 * annex_xfer_collect() - Take results of completed commands, so that their identifiers are free,
 * without ending any transfer.
 */
void annex_xfer_collect(struct annex_cache *c);

/**
 * annex_xfer_poll() - Take the results of @x, which the caller holds. True when none is pending.
 */
bool annex_xfer_poll(struct annex_cache *c, struct annex_xfer *x);

/**
 * annex_cmd_await() - Wait for a command, by abort and reset if need be.
 */
void annex_cmd_await(struct annex_cache *c, struct annex_cmd *cmd);

/**
 * annex_xfer_outcome() - By the reaper: carry the results of all commands to the lines, after
 * moving again, one by one, those lines that failed together; and to the flush that waits for them.
 */
void annex_xfer_outcome(struct annex_cache *c, struct annex_xfer *x);

/**
 * annex_send() - Submit the commands of held transfers, each device's as one batch, and let the
 * transfers fly. Transfers of at most ANNEX_GROUP lines together.
 * @wait: wait for room in the queues; otherwise what finds none is left unsent.
 *
 * Whatever happens, every transfer ends: a failure to submit becomes its outcome.
 */
void annex_send(struct annex_cache *c, struct annex_xfer **xfers, unsigned int n, bool wait);

/**
 * annex_send_line() - Move one line of a transfer again, by itself, and wait for it.
 * @i: which line of the transfer.
 * @leaf: through which device.
 *
 * Return: 0 or a negative errno.
 */
int annex_send_line(struct annex_cache *c, struct annex_xfer *x, uint32_t i, uint32_t leaf);

#endif
