/* SPDX-License-Identifier: MIT */
/*
 * Engines, which are there instead of an io_uring: each takes entries as they are prepared for one
 * (io_uring_prep_*(), without registered files), and tells what that would. Threads are one
 * (pool.c), and another process is (link.c).
 *
 * Whoever calls holds the async mutex, unless something else is said.
 */
#ifndef ANNEX_EMU_ENGINE_H
#define ANNEX_EMU_ENGINE_H

#include <liburing.h>
#include <stdbool.h>
#include <stdint.h>

struct emu_engine;

/* struct emu_done - An entry has ended: its data, and bytes or a negative errno. */
struct emu_done {
	void *data;
	int res;
};

/**
 * struct emu_engine_ops - One kind.
 * @entry: an entry to prepare; there must be room.
 * @submit: those that have been prepared may begin.
 * @cancel: an entry with this data ends with -ECANCELED, if it has not begun. NULL: none does.
 * @reap: take up to @n that have ended.
 * @doze: without the mutex, by one thread at a time: it will wait for the descriptor. NULL: that is
 *	always readable when it should be.
 * @rise: likewise, after it has waited.
 * @add: have a buffer be reached without a copy, as IORING_OP_READ_FIXED and _WRITE_FIXED name it;
 *	with every submission queue held instead of the mutex. Its number, or -1. NULL: none is.
 * @remove: undo that.
 * @forked: in a child of fork(), by any thread: close descriptors. Nothing is called after it.
 * @close: without the mutex. Entries that have begun may not have ended; none begins any more.
 */
struct emu_engine_ops {
	struct io_uring_sqe *(*entry)(struct emu_engine *e);
	void (*submit)(struct emu_engine *e);
	void (*cancel)(struct emu_engine *e, const void *data);
	unsigned int (*reap)(struct emu_engine *e, struct emu_done *out, unsigned int n);
	void (*doze)(struct emu_engine *e);
	void (*rise)(struct emu_engine *e);
	int (*add)(struct emu_engine *e, uint64_t addr, uint64_t len);
	void (*remove)(struct emu_engine *e, int buf);
	void (*forked)(struct emu_engine *e);
	void (*close)(struct emu_engine *e);
};

/**
 * struct emu_engine - The first member of each.
 * @fd: readable when entries have ended that were not taken.
 */
struct emu_engine {
	const struct emu_engine_ops *ops;
	int fd;
};

#endif
