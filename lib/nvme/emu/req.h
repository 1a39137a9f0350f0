/* SPDX-License-Identifier: MIT */
/*
 * Requests: commands that outlive the batch they were fetched in, because the storage behind the
 * namespace is slow or because a fault holds their completion back.
 */
#ifndef ANNEX_EMU_REQ_H
#define ANNEX_EMU_REQ_H

#include "state.h"

enum emu_req_state {
	EMU_REQ_FREE,
	EMU_REQ_FETCHED, /* with the holder of its submission queue */
	EMU_REQ_WAITING, /* for room to move far data through; see far.c */
	EMU_REQ_MOVING,  /* its far data is about to be moved */
	EMU_REQ_ISSUED,  /* the backend has it */
	EMU_REQ_TIMED,   /* it waits for a timer */
	EMU_REQ_HELD,    /* done; it completes after the next command */
};

/**
 * struct emu_io - One step of a request: an I/O for the backend.
 * @opcode: ANNEX_NVM_READ, _WRITE, _FLUSH, _WRITE_ZEROES or _DSM (deallocate).
 * @fua: the data is durable when the I/O has ended.
 * @deac: zeroes may be deallocated blocks.
 * @pos: first byte in the namespace.
 * @len: bytes.
 * @v: the data of a read or write, in @n pieces of memory.
 * @n: number of pieces.
 * @one: the only piece, if @n is 1.
 */
struct emu_io {
	uint8_t opcode;
	bool fua, deac;
	uint64_t pos, len;
	const struct iovec *v;
	unsigned int n;
	struct iovec one;
};

/**
 * struct emu_req - One such command.
 * @next: next in the list of free requests, of timers, or of far.c.
 * @prev: previous in that list.
 * @sq: its submission queue; NULL for the flush of closing.
 * @status: status of the completion.
 * @fault: the injected fault that the completion suffers.
 * @far: @segs are memory that only the copier reaches, and @bounce is far.c's.
 * @dropped: the controller was reset or removed: the request ends without a completion.
 * @again: the timer starts it again instead of completing it.
 * @delay_us: delay of the completion.
 * @step: the current step of a command of several I/Os; see steps.c.
 * @io: that step, which does not change while the backend has it.
 * @missing: bytes at the end of its data that its namespace does not store. It has a @bounce then.
 * @segs: host memory still to be moved: @iov, or an allocation kept for later requests.
 * @due: time of its completion, if that is later than now (annex_now()).
 * @buf: the backend's buffer that holds the one piece of data, or -1.
 */
struct emu_req {
	struct emu_req *next, *prev;
	enum emu_req_state state;
	struct emu_sq *sq;
	struct emu_ns *ns;
	struct annex_sqe sqe;
	uint64_t pos;
	uint32_t len;
	uint32_t missing;
	uint32_t done;
	uint32_t tries;
	uint16_t status;
	uint16_t torn;
	uint8_t fault;
	bool far;
	bool dropped;
	bool cancelled;
	bool zeroing;
	bool again;
	uint32_t delay_us;
	uint64_t due;
	unsigned int step, steps;
	struct emu_io io;
	struct annex_dsm_range *ranges;
	char *bounce;
	struct iovec *segs, *big;
	unsigned int nsegs, seg;
	int buf;
	struct iovec iov[EMU_IOVS];
};

/* The bit of the last byte of a read that ANNEX_FAULT_FLIP inverts. */
#define EMU_FLIP 0x40

/* All of these want the async mutex held, but for open and close. */
int annex_emu_reqs_open(struct annex_emu *emu, uint32_t n);
void annex_emu_reqs_close(struct annex_emu *emu);
/* Bytes of data that the backend may still read or write. */
uint64_t annex_emu_reqs_bytes(const struct annex_emu *emu);
struct emu_req *annex_emu_req_own(struct annex_emu *emu);
uint32_t annex_emu_reqs_take(struct annex_emu *emu, struct emu_sq *sq, uint32_t want);
void annex_emu_req_free(struct annex_emu *emu, struct emu_req *req);
void annex_emu_req_done(struct annex_emu *emu, struct emu_req *req, uint16_t status);
void annex_emu_req_again(struct annex_emu *emu, struct emu_req *req, uint64_t ns);
void annex_emu_fire_timers(struct annex_emu *emu);
bool annex_emu_req_abort(struct annex_emu *emu, uint16_t sqid, uint16_t cid);
void annex_emu_reqs_end(struct annex_emu *emu, struct emu_sq *sq);
bool annex_emu_reqs_use(const struct annex_emu *emu, uint64_t addr, uint64_t len);
int annex_emu_req_set_segs(struct emu_req *req, const struct iovec *segs, unsigned int n,
			   uint32_t len);

/*
 * far.c: far data, in memory that only a copier reaches (struct annex_copier).
 *
 * It goes through a buffer of limited size. A request with far data waits for room there; then one
 * call of the copier moves the data of many requests. The async mutex is held during all moves.
 */

/* A range is mapped or unmapped; the first one allocates the buffer. With every queue held. */
int annex_emu_far_get(struct annex_emu *emu, const struct annex_copier *copier);
void annex_emu_far_put(struct annex_emu *emu);
void annex_emu_far_close(struct annex_emu *emu);

/* With the async mutex held: a request begins, or its data has come from the file. */
void annex_emu_far_start(struct annex_emu *emu, struct emu_req *req);
void annex_emu_far_arrived(struct annex_emu *emu, struct emu_req *req);
/* Move data, and start requests that waited for room. Return: whether there was anything to do. */
bool annex_emu_far_run(struct annex_emu *emu);
/* Free the room of a request; or, while it still waits, forget it. */
void annex_emu_far_release(struct annex_emu *emu, struct emu_req *req);
void annex_emu_far_forget(struct annex_emu *emu, struct emu_req *req);

#endif
