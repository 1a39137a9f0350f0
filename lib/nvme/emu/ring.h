/* SPDX-License-Identifier: MIT */
/*
 * The io_uring behind file: and ng: namespaces, or what is there instead (engine.h).
 * Functions want the async mutex held unless they say otherwise; most do nothing for a controller
 * without a ring.
 */
#ifndef ANNEX_EMU_RING_H
#define ANNEX_EMU_RING_H

#include <liburing.h>
#include "engine.h"
#include "req.h"
#include "state.h"

#define EMU_RING_REQS 4096u
#define EMU_LINK_REQS 1024u /* unix: all of them, and the flush of closing, fit into its region */
#define EMU_RING_BUFS 1024u
#define EMU_BUF_CHUNK (1ull << 30) /* the kernel's limit for one registered buffer */
#define EMU_ZEROES (1u << 20)

/* struct emu_ring - @engine: NULL: there is @uring. @chunk: bytes of a registered buffer. */
struct emu_ring {
	struct io_uring uring;
	struct emu_engine *engine;
	bool fixed_files;
	bool fixed_bufs;
	bool refused; /* that it takes no more has been told */
	bool failed;  /* a command that was passed on was, since the last look */
	bool used[EMU_RING_BUFS];
	uint64_t chunk;
	uint64_t locked; /* bytes that are registered */
	char *zeroes;    /* EMU_ZEROES of them */
};

int annex_emu_ring_open(struct annex_emu *emu);
int annex_emu_ring_open_link(struct annex_emu *emu, const struct annex_uri *uri);
/* In a child of fork(): the ring is shared with the parent. */
void annex_emu_ring_forked(struct annex_emu *emu);
/* @ended: the kernel has none of its commands any more. */
void annex_emu_ring_close(struct annex_emu *emu, bool ended);

/* An entry to prepare: there is room for one of each request. */
static inline struct io_uring_sqe *annex_emu_ring_entry(struct annex_emu *emu)
{
	struct emu_engine *e = emu->ring->engine;

	return e ? e->ops->entry(e) : io_uring_get_sqe(&emu->ring->uring);
}

/* Readable when I/O has ended. */
static inline int annex_emu_ring_fd(const struct annex_emu *emu)
{
	return emu->ring->engine ? emu->ring->engine->fd : emu->ring->uring.ring_fd;
}

/* With every submission queue held instead of the mutex. -1 where there is nothing to register. */
int annex_emu_ring_register(struct annex_emu *emu, uint64_t addr, uint64_t len);
void annex_emu_ring_unregister(struct annex_emu *emu, int buf, uint64_t len);

/* A request's I/O begins; or has ended, and all of it with that. */
void annex_emu_ring_start(struct annex_emu *emu, struct emu_req *req);
void annex_emu_ring_finish(struct annex_emu *emu, struct emu_req *req, uint16_t status);
void annex_emu_ring_cancel(struct annex_emu *emu, struct emu_req *req);
void annex_emu_ring_submit(struct annex_emu *emu);
unsigned int annex_emu_ring_reap(struct annex_emu *emu);

/*
 * file_io.c: a request as a sequence of I/Os. prepare() is for the holder of the submission queue
 * instead of the mutex: it does what may take long. issue() puts the next I/O into the ring;
 * false: there is no more. result() takes what became of one; false: go on with issue().
 */
uint16_t annex_emu_io_prepare(struct annex_emu *emu, struct emu_sq *sq, struct emu_cmd *cmd);
bool annex_emu_io_issue(struct annex_emu *emu, struct emu_req *req);
bool annex_emu_io_result(struct emu_req *req, int res, uint16_t *status);

/* blocks.c: the next I/O, carried out. Return: what became of it, for result(). */
int annex_emu_blocks_step(const struct annex_emu *emu, struct emu_req *req);

#endif
