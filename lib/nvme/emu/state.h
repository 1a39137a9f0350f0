/* SPDX-License-Identifier: MIT */
/*
 * The state of the emulated controller, and the threads that may touch it.
 *
 * Locks, outermost first; each is taken only while none below it is held:
 *
 *   ctl        mutex: creating and deleting queues, mapping, resets
 *   sq.serving a combining try-lock per submission queue: fetching and executing its commands
 *   async      mutex: requests that outlive the batch they were fetched in, the backend, timers
 *   cq.lock    spinlock per completion queue: its entries
 *   faults     spinlock: the active faults; nothing is taken under it
 *
 * Fences are avoided in favour of sequentially consistent read-modify-writes on the words that two
 * sides race on, so that the thread sanitizer can follow.
 */
#ifndef ANNEX_EMU_STATE_H
#define ANNEX_EMU_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include <annex/detail/atomic.h>
#include <annex/detail/clock.h>
#include <annex/device.h>
#include <annex/nvme.h>
#include <annex/uri.h>
#include "core/blocks.h"
#include "core/ctrl.h"
#include "core/range.h"
#include "core/log.h"

#define EMU_IO_QUEUES 64u
#define EMU_QUEUES (EMU_IO_QUEUES + 1) /* identifiers begin with 1 */
#define EMU_NAMESPACES 16u
#define EMU_BATCH 32u /* commands fetched at once */
#define EMU_MDTS 8u
#define EMU_MAX_TRANSFER (ANNEX_NVME_PAGE << EMU_MDTS)
#define EMU_SEGS 2048u /* pieces of one command's data: 512 bytes each on average */
#define EMU_IOVS 4u    /* pieces that a request holds without an allocation */
#define EMU_FAULTS 16u
#define ANNEX_DSM_MAX 256u /* ranges of one command */
#define EMU_DEPTH 65536u
#define EMU_STRIDE 64u          /* between doorbells: queues do not share cache lines */
#define EMU_VERSION 0x00020000u /* NVMe 2.0 */
/* How often to look whether a head doorbell has moved or the backend takes more: no event tells. */
#define EMU_RETRY_NS ANNEX_NSEC_PER_MSEC
#define EMU_NEVER UINT64_MAX

#define EMU_ALIGNED __attribute__((aligned(64)))

struct annex_emu;
struct emu_backend;
struct emu_far;
struct emu_req;

/* The threads that run the controller: serve= in annex/device.h. */
enum emu_serve {
	EMU_SERVE_CALLER,
	EMU_SERVE_THREAD,
	EMU_SERVE_BUSY,
	EMU_SERVE_ALONE,
};

/**
 * struct emu_ns - A namespace: a range of bytes that a backend stores.
 * @nsid: its identifier.
 * @shift: log2 of the block size.
 * @blocks: its size.
 * @missing: bytes of its last block behind the end of the file: zeroes, which are not stored.
 * @readonly: no command changes it.
 * @align: alignment in bytes that the backend asks of memory.
 * @pieces: of memory, that one I/O of the backend takes.
 * @most: bytes of one read or write.
 * @fd: the backend's file; -1: it has none.
 * @claimed: some blocks were claimed: @claims is open.
 * @claims: the file that claims lock: @fd, or the device's node in /dev.
 * @disk: the name of the block device for that; NULL: that of @fd.
 * @own: the backend's.
 */
struct emu_ns {
	uint32_t nsid;
	unsigned int shift;
	uint64_t blocks;
	uint32_t missing;
	bool readonly;
	bool told; /* of a write that was refused because of them; under the async mutex */
	uint32_t align;
	uint32_t pieces;
	uint32_t most;
	int fd;
	bool claimed;
	int claims;
	const char *disk;
	void *own;
};

/* A fetched command, decoded without reading its data. */
struct emu_cmd {
	struct annex_sqe sqe; /* the controller's own copy: queue memory may change */
	struct emu_ns *ns;
	uint64_t pos;    /* first byte in the namespace */
	void *data;      /* the data where it is one piece in memory, else NULL */
	uint32_t len;    /* bytes of data */
	uint32_t cover;  /* blocks covered, minus one */
	uint16_t status; /* not 0: fails without being carried out */
	uint8_t fault;   /* enum annex_fault_kind + 1, or 0 */
	uint16_t fault_status;
	uint32_t delay_us;
	struct emu_req *req; /* where it will outlive its batch */
};

/* Bytes of the namespace that the command works on; fewer than its data where a fault tears it. */
static inline uint32_t annex_emu_todo(const struct emu_cmd *cmd)
{
	return cmd->ns ? (cmd->cover + 1) << cmd->ns->shift : 0;
}

/* How one command ended. */
struct emu_result {
	uint32_t dw0;
	uint16_t cid;
	uint16_t status;
};

struct emu_spin {
	uint32_t word;
};

struct emu_cq {
	EMU_ALIGNED struct emu_spin lock;
	uint32_t live;
	uint32_t entries;
	uint32_t tail;
	uint32_t head;       /* the last valid value of the doorbell */
	uint32_t complained; /* the last invalid one */
	uint32_t reserved;   /* commands fetched and not yet posted */
	uint16_t phase;
	uint16_t qid;
	struct annex_cqe *ring;
	uint32_t *doorbell;
	EMU_ALIGNED uint32_t event;
	uint32_t waiters;
};

enum emu_sq_state {
	EMU_SQ_NONE,
	EMU_SQ_LIVE,
	EMU_SQ_DELETING, /* its last commands are being ended */
};

struct emu_sq {
	EMU_ALIGNED uint32_t serving; /* 0: free; else 1 and the threads that came meanwhile */
	uint32_t hold;                /* threads that keep all others out */
	EMU_ALIGNED uint32_t state;   /* written by the holder of serving */
	uint32_t entries;
	uint32_t head; /* written by the holder, read by threads that post */
	uint32_t complained;
	uint16_t qid;
	bool lent; /* the holder looks at the paired queue's completions when it is through */
	const struct annex_sqe *ring;
	uint32_t *doorbell;
	struct emu_cq *cq;
	const struct emu_map *last; /* the range of the last address checked */
	struct iovec *segs;         /* EMU_SEGS of them: the pieces of the command at hand */
	struct emu_cmd *cmds;       /* EMU_BATCH of them */

	/* Under the async mutex. */
	EMU_ALIGNED uint32_t in_flight; /* requests of this queue */
	struct emu_req *held;           /* waits for a later command to complete */
};

/* A contiguous range that the host has mapped. */
struct emu_map {
	struct range range;
	int buf;  /* the first of its buffers, by the backend's map(), or -1 */
	bool far; /* reached by the copier only */
};

struct emu_maps {
	struct emu_map *v; /* sorted */
	unsigned int n;
	unsigned int room;
};

struct emu_faults {
	struct emu_spin lock;
	uint32_t n; /* read without the lock: 0 costs nothing */
	struct {
		struct annex_fault f;
		uint64_t seen;
	} v[EMU_FAULTS];
};

struct annex_emu {
	struct annex_ctrl ctrl;
	uint32_t *doorbells;
	unsigned int nns;
	struct emu_ns ns[EMU_NAMESPACES];
	const char *scheme; /* for messages */
	uint8_t mdts;       /* as Identify has it */
	const struct emu_backend *backend;
	void *own;            /* the backend's */
	int fd;               /* readable when its I/O has ended; -1: all of it ends at once */
	uint64_t chunk;       /* bytes of a buffer of its map() */
	enum emu_serve usual; /* serve=, where the URI leaves it open */
	bool alone;           /* one thread alone calls the backend */
	struct emu_far *far;  /* while such memory is mapped; changed while every queue is held */
	bool threaded;
	bool busy;                  /* the service thread does not sleep */
	bool forked;                /* this is a child's copy */
	struct annex_emu *given_up; /* next one, of controllers that are never freed */

	EMU_ALIGNED uint32_t running; /* commands are fetched */
	uint32_t wrote;               /* a command that changes data was fetched */
	uint32_t gone;                /* removed by surprise */
	uint32_t fatal;               /* CSTS.CFS: stopped until a reset */
	uint32_t stuck;               /* I/O did not end in time: do not wait for it again */
	uint64_t stalled;             /* I/O queues, bit qid - 1, that wait for a request */
	uint32_t sleepers;            /* threads in sleep() */
	uint32_t leader;              /* qid + 1 of the thread that waits for the backend, or 0 */
	uint64_t next_due;            /* when the first timer is due, or EMU_NEVER */

	EMU_ALIGNED pthread_mutex_t ctl;
	struct emu_maps maps; /* changed while every queue is held */

	EMU_ALIGNED pthread_mutex_t async;
	struct emu_req *reqs;
	uint32_t nreqs, fresh; /* reqs[fresh...] were never used */
	struct emu_req *free;
	struct emu_req *timers, *timers_last;
	uint32_t in_flight; /* requests that the backend has; read without the mutex */
	uint32_t backlog;   /* the backend has not begun all of it; likewise */
	uint32_t flushing;  /* the flush of closing is among them; likewise */

	struct emu_faults faults;

	int kick; /* eventfd: ends the poll of the leader or of the service thread */
	pthread_t thread;
	uint32_t stop;
	EMU_ALIGNED uint32_t asleep; /* the service thread */

	struct emu_sq sqs[EMU_QUEUES];
	struct emu_cq cqs[EMU_QUEUES];
};

static inline struct annex_emu *annex_emu_of(struct annex_ctrl *ctrl)
{
	return (struct annex_emu *)(void *)((char *)ctrl - offsetof(struct annex_emu, ctrl));
}

/* Whether a live queue has commands that were not fetched. */
static inline bool annex_emu_ahead(const struct emu_sq *sq)
{
	return annex_atomic_load(&sq->state, ANNEX_ACQUIRE) == EMU_SQ_LIVE &&
	       annex_atomic_load(sq->doorbell, ANNEX_ACQUIRE) !=
		       annex_atomic_load(&sq->head, ANNEX_RELAXED);
}

/* Whether commands wait for room that no event announces. */
static inline bool annex_emu_blocked(const struct annex_emu *emu)
{
	return annex_atomic_load(&emu->stalled, ANNEX_RELAXED) ||
	       annex_atomic_load(&emu->backlog, ANNEX_ACQUIRE);
}

/* wake.c: spinlocks, and waking of sleepers. */
void annex_emu_lock(struct emu_spin *lock);
void annex_emu_unlock(struct emu_spin *lock);
void annex_emu_kick(struct annex_emu *emu);
void annex_emu_event(struct annex_emu *emu, struct emu_cq *cq);
void annex_emu_wake_all(struct annex_emu *emu);
void annex_emu_hand_over(struct annex_emu *emu);
void annex_emu_poll(struct annex_emu *emu, uint64_t until);

/* cq.c: completion queues. */
void annex_emu_cq_init(struct emu_cq *cq, uint64_t addr, uint32_t entries);
void annex_emu_cq_stop(struct emu_cq *cq);
uint32_t annex_emu_cq_reserve(struct emu_cq *cq, uint32_t want);
void annex_emu_cq_give_back(struct emu_cq *cq, uint32_t n);
void annex_emu_post(struct annex_emu *emu, struct emu_sq *sq, const struct emu_result *res,
		    unsigned int n);
void annex_emu_post_held(struct annex_emu *emu, struct emu_sq *sq, const struct emu_result *res,
			 unsigned int n);

/* dptr.c: the check of every address, PRPs and SGLs. */
const struct emu_map *annex_emu_reach(const struct annex_emu *emu, uint64_t addr, uint64_t len);
uint16_t annex_emu_dptr(const struct annex_emu *emu, const struct annex_sqe *sqe, uint32_t len,
			struct iovec *segs, unsigned int *nsegs, bool *far);
uint32_t annex_emu_to_host(const struct iovec *segs, unsigned int n, const void *src, uint32_t len);
uint32_t annex_emu_from_host(const struct iovec *segs, unsigned int n, void *dst, uint32_t len);
/*
 * annex_emu_dsm_ranges() - The ranges of a dataset management command that are to be deallocated
 * and not empty: *@n of them in @ranges, which has room for ANNEX_DSM_MAX. Return: an NVMe status.
 */
uint16_t annex_emu_dsm_ranges(struct annex_emu *emu, struct emu_sq *sq, const struct emu_cmd *cmd,
			      struct annex_dsm_range *ranges, unsigned int *n);

/* fault.c */
int annex_emu_inject(struct annex_ctrl *ctrl, const struct annex_fault *fault);
int annex_emu_fault_add(struct annex_emu *emu, const struct annex_fault *fault);
bool annex_emu_fault_apply(struct annex_emu *emu, struct emu_cmd *cmd);

/* io.c: the NVM command set. */
void annex_emu_io_batch(struct annex_emu *emu, struct emu_sq *sq, unsigned int n);

/* sq.c: fetching. */
int annex_emu_sq_init(struct emu_sq *sq, uint64_t addr, uint32_t entries);
void annex_emu_serve(struct annex_emu *emu, uint16_t qid, bool lent);
void annex_emu_hold(struct emu_sq *sq);
void annex_emu_release(struct annex_emu *emu, struct emu_sq *sq);
void annex_emu_resume_stalled(struct annex_emu *emu);

/* sleep.c, thread.c: the threads that run the controller. */
void annex_emu_rung(struct annex_ctrl *ctrl, uint16_t qid);
void annex_emu_assist(struct annex_ctrl *ctrl, uint16_t qid);
uint32_t annex_emu_event_count(struct annex_ctrl *ctrl, uint16_t qid);
void annex_emu_wake(struct annex_ctrl *ctrl, uint16_t qid);
void annex_emu_sleep(struct annex_ctrl *ctrl, uint16_t qid, uint32_t seen, uint64_t deadline);
void annex_emu_pass(struct annex_emu *emu);
/* How long I/O may take to end after it was cancelled. Tests make it shorter. */
extern uint32_t annex_emu_drain_ms;
int annex_emu_drain(struct annex_emu *emu, const struct emu_sq *sq);
int annex_emu_thread_start(struct annex_emu *emu, bool busy);
void annex_emu_thread_stop(struct annex_emu *emu);

/* map.c: mapped memory. */
int annex_emu_map(struct annex_ctrl *ctrl, void *ptr, size_t len, uint64_t *addr);
int annex_emu_map_sparse(struct annex_ctrl *ctrl, void *ptr, size_t len, uint64_t *addr);
int annex_emu_map_far(struct annex_ctrl *ctrl, uint64_t far, size_t len,
		      const struct annex_copier *copier, uint64_t *addr);
int annex_emu_unmap(struct annex_ctrl *ctrl, uint64_t addr, size_t len);

/* queue.c: operations of the controller as a whole. */
uint32_t *annex_emu_doorbell(struct annex_ctrl *ctrl, uint16_t qid, int cq);
uint32_t annex_emu_status(struct annex_ctrl *ctrl);
int annex_emu_create(struct annex_ctrl *ctrl, uint16_t qid, uint32_t depth, uint64_t sq,
		     uint64_t cq);
int annex_emu_destroy(struct annex_ctrl *ctrl, uint16_t qid);
int annex_emu_abort(struct annex_ctrl *ctrl, uint16_t qid, uint16_t cid, bool *aborted);
uint32_t annex_emu_beat(struct annex_ctrl *ctrl);
int annex_emu_claim(struct annex_ctrl *ctrl, uint32_t nsid, uint64_t first, uint64_t blocks,
		    bool shared);
int annex_emu_reset(struct annex_ctrl *ctrl);
int annex_emu_identify(struct annex_ctrl *ctrl, uint32_t cns, uint32_t nsid, void *data);
uint32_t annex_emu_missing(struct annex_ctrl *ctrl, uint32_t nsid);

#endif
