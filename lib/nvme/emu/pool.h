/* SPDX-License-Identifier: MIT */
/*
 * Threads that do what an io_uring would, where the kernel refuses one: they take entries as they
 * are prepared for it (io_uring_prep_*(), without registered files), and tell what it would.
 *
 * Whoever calls holds the async mutex.
 */
#ifndef ANNEX_EMU_POOL_H
#define ANNEX_EMU_POOL_H

#include <liburing.h>
#include <stdbool.h>

struct emu_pool;

/* struct emu_done - An entry has ended: its data, and bytes or a negative errno. */
struct emu_done {
	void *data;
	int res;
};

/* annex_emu_pool_open() - Threads, and room for @entries that have not begun. -ENOMEM, -EAGAIN (no
 * more threads), -EMFILE, with a line. annex_emu_pool_close() - What has begun is waited for. */
int annex_emu_pool_open(unsigned int entries, struct emu_pool **out);
void annex_emu_pool_close(struct emu_pool *p);

/* annex_emu_pool_entry() - An entry to prepare; there must be room. annex_emu_pool_submit() - Those
 * that have been prepared may begin. */
struct io_uring_sqe *annex_emu_pool_entry(struct emu_pool *p);
void annex_emu_pool_submit(struct emu_pool *p);

/* annex_emu_pool_cancel() - An entry with this data ends with -ECANCELED, if it has not begun. */
void annex_emu_pool_cancel(struct emu_pool *p, const void *data);

/* annex_emu_pool_reap() - Take up to @n that have ended. annex_emu_pool_fd() - Readable when there
 * are some that have not been taken. */
unsigned int annex_emu_pool_reap(struct emu_pool *p, struct emu_done *out, unsigned int n);
int annex_emu_pool_fd(const struct emu_pool *p);

#endif
