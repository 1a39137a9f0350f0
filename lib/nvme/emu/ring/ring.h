/* SPDX-License-Identifier: MIT */
/*
 * The io_uring of the backends file: and ng:, for all queues. The state of such a backend
 * (emu->own) begins with struct emu_ring.
 */
#ifndef ANNEX_EMU_RING_H
#define ANNEX_EMU_RING_H

#include <liburing.h>
#include "nvme/emu/backend.h"

#define EMU_RING_REQS 4096u
#define EMU_RING_BUFS 1024u
#define EMU_RING_WHY 256
#define EMU_BUF_CHUNK (1ull << 30) /* the kernel's limit for one registered buffer */

/**
 * struct emu_ring - An io_uring.
 * @uring: the ring of liburing.
 * @wide: entries hold a command for the kernel's NVMe driver, and completions all of its result.
 * @polled: I/O ends only when a thread polls.
 * @live: @uring is open.
 * @fixed_files: files are registered.
 * @fixed_bufs: buffers can be registered.
 * @refused: the user was told that the ring takes no more I/O.
 * @used: numbers of registered buffers that are in use.
 * @locked: bytes that are registered.
 */
struct emu_ring {
	struct io_uring uring;
	bool wide, polled;
	bool live;
	bool fixed_files;
	bool fixed_bufs;
	bool refused;
	bool used[EMU_RING_BUFS];
	uint64_t locked;
};

/* Without the mutex. An error has no line, but its cause and remedy in @why. */
int annex_emu_ring_open(struct annex_emu *emu, char why[EMU_RING_WHY]);

/* The file of a namespace, for an entry. */
static inline int annex_emu_ring_target(const struct emu_ring *ring, const struct emu_ns *ns)
{
	return ring->fixed_files ? (int)ns->nsid - 1 : ns->fd;
}

/* An entry is prepared: there is room for one of each request. */
static inline void annex_emu_ring_queue(const struct emu_ring *ring, struct io_uring_sqe *sqe,
					struct emu_req *req)
{
	if (ring->fixed_files)
		sqe->flags |= IOSQE_FIXED_FILE;
	io_uring_sqe_set_data(sqe, req);
}

/* Call @ended for each step that has ended. */
void annex_emu_ring_reap(struct annex_emu *emu,
			 void (*ended)(struct annex_emu *emu, struct emu_req *req, int res));

/* Operations of struct emu_backend. forked() and close() are for the files of namespaces too. */
void annex_emu_ring_submit(struct annex_emu *emu);
void annex_emu_ring_cancel(struct annex_emu *emu, struct emu_req *req);
int annex_emu_ring_map(struct annex_emu *emu, uint64_t addr, uint64_t len);
void annex_emu_ring_unmap(struct annex_emu *emu, int buf, uint64_t len);
void annex_emu_ring_forked(struct annex_emu *emu);
void annex_emu_ring_close(struct annex_emu *emu, bool ended);

#endif
