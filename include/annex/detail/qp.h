/* SPDX-License-Identifier: MIT */
/*
 * The structures of a queue pair. annex/detail/ring.h describes how threads share them. Programs
 * include annex/queue.h.
 */
#ifndef ANNEX_QP_H
#define ANNEX_QP_H

#include <annex/detail/atomic.h>
#include <annex/io.h>
#include <annex/nvme.h>

#ifdef __cplusplus
extern "C" {
#endif

struct annex_ctrl;

/*
 * struct annex_qp_host - Functions of the controller for host threads; see lib/core/ctrl.h. Any of
 * them may be NULL. Never called on a GPU.
 */
struct annex_qp_host {
	struct annex_ctrl *ctrl;
	void (*rung)(struct annex_ctrl *ctrl, uint16_t qid);
	void (*assist)(struct annex_ctrl *ctrl, uint16_t qid);
	uint32_t (*event)(struct annex_ctrl *ctrl, uint16_t qid);
	void (*sleep)(struct annex_ctrl *ctrl, uint16_t qid, uint32_t seen, uint64_t deadline);
	uint32_t (*status)(struct annex_ctrl *ctrl);
	void (*wake)(struct annex_ctrl *ctrl, uint16_t qid);
};

/* A request's state word: generation << 3 | ANNEX_REQ_ASLEEP | one of these. */
enum annex_req_state {
	ANNEX_REQ_FREE,
	ANNEX_REQ_TAKEN,  /* from reservation until its completion is delivered */
	ANNEX_REQ_DONE,   /* result written, token not yet polled */
	ANNEX_REQ_ORPHAN, /* abandoned: its completion frees it */
};

#define ANNEX_REQ_STATE(s) ((s)&3)
#define ANNEX_REQ_ASLEEP 4u  /* with TAKEN: the owner sleeps until delivery */
#define ANNEX_REQ_KEEP ~7ull /* the generation */
#define ANNEX_REQ_NEXT 8u    /* to the next generation */
#define ANNEX_REQ_MATCHES(s, token) ((s) << 13 >> 16 == (token) >> 16)

/*
 * struct annex_req - One command identifier.
 * @state: generation and enum annex_req_state.
 * @dw0: result of the command.
 * @status: result of the command.
 * @rsvd: padding.
 */
struct annex_req {
	uint64_t state;
	uint32_t dw0;
	uint16_t status;
	uint16_t rsvd;
};

/*
 * struct annex_doorbell - Doorbell of a queue, for a new tail or head.
 * @reg: the register.
 * @shadow: shadow doorbell in memory that the controller polls (Base 5.8); NULL: none.
 * @event: the controller's event index: values up to it need no write of the register.
 */
struct annex_doorbell {
	uint32_t *reg;
	uint32_t *shadow;
	uint32_t *event; /* only read; the atomics of a GPU take no const */
};

enum annex_qp_state {
	ANNEX_QP_LIVE,
	ANNEX_QP_RESET,  /* being rebuilt: submitters wait, completions are ignored */
	ANNEX_QP_DEAD,   /* controller gone: all commands end with -ENODEV */
	ANNEX_QP_BROKEN, /* the controller violated the protocol or stopped: needs a reset */
	ANNEX_QP_FORKED, /* a child's copy: all calls end with -ECHILD */
};

#define ANNEX_CACHE_ALIGNED __attribute__((aligned(64)))

/**
 * struct annex_qp - A submission queue and its completion queue. Its members are private.
 */
struct annex_qp {
	/* private: Set at creation, only read afterwards. */
	struct annex_sqe *sq;
	struct annex_cqe *cq;
	struct annex_doorbell sq_doorbell;
	struct annex_doorbell cq_doorbell;
	uint64_t *sq_seq; /* turn and mark of each submission entry */
	uint64_t *cq_seq; /* turn and progress of each completion entry */
	struct annex_req *reqs;
	char *lists; /* PRP or SGL list memory, limits.list_bytes a request */
	uint64_t lists_addr;
	struct annex_io_limits limits;
	uint32_t depth;
	uint16_t qid;
	uint64_t stall_ns; /* longest wait for a turn before the queue counts as broken */
	struct annex_qp_host host;

	ANNEX_CACHE_ALIGNED uint32_t state; /* enum annex_qp_state */
	uint32_t active;                    /* threads that are inside the rings */
	uint64_t spurious;                  /* completions for no outstanding command */

	ANNEX_CACHE_ALIGNED uint64_t sq_ticket;
	uint32_t cid_hint;
	uint32_t starving; /* a thread has priority */

	ANNEX_CACHE_ALIGNED uint64_t sq_tail;
	uint32_t sq_moving;

	ANNEX_CACHE_ALIGNED uint64_t cq_head;
	uint64_t sq_head;
	uint64_t cq_claimed; /* completions before it are claimed: a hint where to begin */
	uint32_t cq_moving;

	/* Host threads that sleep; see lib/nvme/wait.c. */
	ANNEX_CACHE_ALIGNED uint32_t watched;
	uint32_t dozing;
};

#ifdef __cplusplus
}
#endif
#endif
