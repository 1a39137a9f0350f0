// SPDX-License-Identifier: MIT
/*
 * The io_uring of a file: or ng: controller, or the threads of a file: controller: one for all
 * queues, under the async mutex.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "far.h"
#include "link.h"
#include "locked.h"
#include "ng.h"
#include "pool.h"
#include "ring.h"

#define RING_REQS_MIN 64u
#define RING_SHARE 32u /* one part in so many of the limit of locked memory */
#define BATCH 64u
#define AGAIN_NS (10 * ANNEX_NSEC_PER_MSEC) /* between tries, while the kernel resets a drive */

static void register_files(struct annex_emu *emu)
{
	int fds[EMU_NAMESPACES], err;

	for (unsigned int i = 0; i < emu->nns; i++)
		fds[i] = emu->ns[i].fd;
	err = io_uring_register_files(&emu->ring->uring, fds, emu->nns);
	emu->ring->fixed_files = !err;
	if (err)
		annex_log(ANNEX_LOG_WARNING,
			  "%s: slower, as files are not registered with io_uring: %s", emu->scheme,
			  strerror(-err));
}

/* Room for one I/O of each request and its cancellation, so that none is ever refused. */
static int init_flags(struct annex_emu *emu, struct io_uring *uring, unsigned int flags)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP | flags,
		.cq_entries = 4 * emu->nreqs,
	};

	return io_uring_queue_init_params(2 * emu->nreqs, uring, &params);
}

static uint64_t ring_bytes(const struct annex_emu *emu)
{
	const uint64_t one = 2 * sizeof(struct io_uring_sqe) + 4 * sizeof(struct io_uring_cqe) +
			     2 * sizeof(uint32_t);

	return emu->nreqs * one * (emu->passes ? 2 : 1); /* SQE128, CQE32 */
}

static int init_full(struct annex_emu *emu, struct io_uring *uring)
{
	/* Entries that hold a command, and all that its completion tells. */
	const unsigned int flags = (emu->passes ? IORING_SETUP_SQE128 | IORING_SETUP_CQE32 : 0) |
				   (emu->polled ? IORING_SETUP_IOPOLL : 0);
	/* Since Linux 5.19. */
	const unsigned int quiet = emu->alone
					   ? IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG
					   : 0;
	int err = init_flags(emu, uring, flags | quiet);

	return err == -EINVAL && quiet ? init_flags(emu, uring, flags) : err;
}

/*
 * Where the limit of locked memory is small, or other rings have most of it, fewer requests at once
 * have to do: they leave room for further devices.
 */
static int init_uring(struct annex_emu *emu, struct io_uring *uring)
{
	const uint32_t all = emu->nreqs;
	const uint64_t limit = annex_locked_limit();
	int err;

	while (emu->nreqs > RING_REQS_MIN && ring_bytes(emu) > limit / RING_SHARE)
		emu->nreqs /= 2;
	err = init_full(emu, uring);
	while (err == -ENOMEM && emu->nreqs > RING_REQS_MIN) {
		emu->nreqs /= 2;
		err = init_full(emu, uring);
	}
	if (err)
		emu->nreqs = all;
	else if (emu->nreqs < all)
		annex_log(ANNEX_LOG_INFO, "%s: at most %u I/Os at once: locked memory is limited",
			  emu->scheme, emu->nreqs);
	return err;
}

/* The cause of the refusal, and its mend. */
static void why_refused(int err, char *buf, size_t size)
{
	const uint64_t limit = annex_locked_limit();
	const char *why = "";

	if (err == -EPERM)
		why = ": kernel.io_uring_disabled or a seccomp filter refuses it (sudo sysctl -w "
		      "kernel.io_uring_disabled=0; in a container: --security-opt "
		      "seccomp=unconfined)";
	else if (err == -ENOSYS)
		why = ": the kernel has none, or a seccomp filter refuses it (in a container: "
		      "--security-opt seccomp=unconfined)";
	else if (err == -EINVAL)
		why = ": the kernel is too old (ng: needs Linux 6.1)";
	snprintf(buf, size, "%s%s", strerror(-err), why);
	if (err == -ENOMEM && limit != UINT64_MAX)
		snprintf(buf, size,
			 "%s: the limit of locked memory, %llu KiB, has no room left (ulimit -l)",
			 strerror(-err), (ull)limit >> 10);
}

/* Threads, where there can be no io_uring. */
static int open_pool(struct annex_emu *emu, struct emu_ring *ring, const char *why)
{
	static uint32_t told;

	/* Once a process; relaxed: nothing else is told by it. */
	if (!annex_atomic_add(&told, 1u, ANNEX_RELAXED))
		annex_log(ANNEX_LOG_WARNING, "file: slower, by threads, as io_uring is refused: %s",
			  why);
	return annex_emu_pool_open(2 * emu->nreqs, &ring->engine);
}

static void free_ring(struct emu_ring *ring)
{
	free(ring->zeroes);
	free(ring);
}

static int open_either(struct annex_emu *emu, struct emu_ring *ring)
{
	int err = init_uring(emu, &ring->uring);
	char why[256];

	if (!err)
		return 0;
	why_refused(err, why, sizeof(why));
	if ((err == -EPERM || err == -ENOSYS || err == -ENOMEM) && !emu->passes)
		return open_pool(emu, ring, why);
	return annex_fail(err, "%s: cannot set io_uring up: %s", emu->scheme, why);
}

static struct emu_ring *alloc_ring(const struct annex_emu *emu)
{
	struct emu_ring *ring = calloc(1, sizeof(*ring));

	if (ring)
		ring->zeroes = aligned_alloc(4096, EMU_ZEROES);
	if (ring && ring->zeroes) {
		memset(ring->zeroes, 0, EMU_ZEROES);
		return ring;
	}
	free(ring);
	annex_fail(-ENOMEM, "%s: no memory for the ring", emu->scheme);
	return NULL;
}

int annex_emu_ring_open_link(struct annex_emu *emu, const struct annex_uri *uri)
{
	struct emu_ring *ring = alloc_ring(emu);
	int err = ring ? annex_emu_link_open(emu, uri, &ring->engine) : -ENOMEM;

	if (err && ring)
		free_ring(ring);
	if (err)
		return err;
	ring->chunk = UINT64_MAX;
	emu->ring = ring;
	return 0;
}

int annex_emu_ring_open(struct annex_emu *emu)
{
	struct emu_ring *ring = alloc_ring(emu);
	int err = ring ? open_either(emu, ring) : -ENOMEM;

	if (err && ring)
		free_ring(ring);
	if (err)
		return err;
	ring->chunk = EMU_BUF_CHUNK;
	emu->ring = ring;
	if (ring->engine)
		return 0;
	err = io_uring_register_buffers_sparse(&ring->uring, EMU_RING_BUFS);
	ring->fixed_bufs = !err;
	if (err)
		annex_log(ANNEX_LOG_INFO, "%s: io_uring takes no registered buffers: %s",
			  emu->scheme, strerror(-err));
	register_files(emu);
	return 0;
}

/*
 * The kernel frees an io_uring some time after its descriptor is closed, by a worker, and with it
 * the files and memory that are registered: a file system with such a file cannot be unmounted
 * until then. To unregister them waits for commands that use them.
 */
static void close_uring(struct emu_ring *ring, bool ended)
{
	if (ended && ring->fixed_files)
		io_uring_unregister_files(&ring->uring);
	if (ended && ring->fixed_bufs)
		io_uring_unregister_buffers(&ring->uring);
	io_uring_queue_exit(&ring->uring);
	if (ended)
		annex_locked_give(ring->locked);
}

void annex_emu_ring_close(struct annex_emu *emu, bool ended)
{
	if (!emu->ring)
		return;
	if (emu->ring->engine)
		emu->ring->engine->ops->close(emu->ring->engine);
	else
		close_uring(emu->ring, ended);
	if (ended) /* else it may be writing zeroes */
		free_ring(emu->ring);
}

void annex_emu_ring_forked(struct annex_emu *emu)
{
	if (emu->ring && emu->ring->engine)
		emu->ring->engine->ops->forked(emu->ring->engine);
	else if (emu->ring)
		io_uring_queue_exit(&emu->ring->uring);
}

static int update_buf(struct emu_ring *ring, unsigned int at, uint64_t addr, uint64_t len)
{
	struct iovec iov = {.iov_base = (void *)(uintptr_t)addr, .iov_len = len};
	int rc = io_uring_register_buffers_update_tag(&ring->uring, at, &iov, NULL, 1);

	return rc < 0 ? rc : 0;
}

static unsigned int chunks_of(const struct emu_ring *ring, uint64_t len)
{
	uint64_t n = (len + ring->chunk - 1) / ring->chunk;

	return n > EMU_RING_BUFS ? EMU_RING_BUFS + 1 : (unsigned int)n;
}

/* First of @n neighbouring free slots, or -1. */
static int find_slots(const struct emu_ring *ring, unsigned int n)
{
	unsigned int run = 0;

	for (unsigned int i = 0; i < EMU_RING_BUFS; i++) {
		run = ring->used[i] ? 0 : run + 1;
		if (run == n)
			return (int)(i + 1 - n);
	}
	return -1;
}

static void drop_bufs(struct emu_ring *ring, unsigned int at, unsigned int n)
{
	for (unsigned int i = at; i < at + n; i++) {
		update_buf(ring, i, 0, 0);
		ring->used[i] = false;
	}
}

static int fill_bufs(struct emu_ring *ring, unsigned int at, uint64_t addr, uint64_t len)
{
	const unsigned int n = chunks_of(ring, len);

	for (unsigned int i = 0; i < n; i++) {
		uint64_t off = i * ring->chunk;
		uint64_t part = len - off < ring->chunk ? len - off : ring->chunk;
		int err = update_buf(ring, at + i, addr + off, part);

		if (err) {
			drop_bufs(ring, at, i);
			return err;
		}
		ring->used[at + i] = true;
	}
	return 0;
}

/*
 * Register mapped memory, so that the kernel need not pin it for each I/O. Pinning can be refused
 * (locked.h); I/O works without it.
 */
int annex_emu_ring_register(struct annex_emu *emu, uint64_t addr, uint64_t len)
{
	struct emu_ring *ring = emu->ring;
	const char *why = "too many ranges";
	int at, err;

	if (ring && ring->engine && ring->engine->ops->add)
		return ring->engine->ops->add(ring->engine, addr, len);
	if (!ring || !ring->fixed_bufs)
		return -1;
	at = find_slots(ring, chunks_of(ring, len));
	if (at >= 0 && annex_locked_take(len)) {
		err = fill_bufs(ring, (unsigned int)at, addr, len);
		if (!err) {
			ring->locked += len;
			return at;
		}
		annex_locked_give(len);
		why = strerror(-err);
	} else if (at >= 0) {
		why = "the rest of the limit of locked memory is for rings";
	}
	annex_log(ANNEX_LOG_INFO, "%s: %llu bytes are not registered with io_uring: %s",
		  emu->scheme, (ull)len, why);
	return -1;
}

void annex_emu_ring_unregister(struct annex_emu *emu, int buf, uint64_t len)
{
	struct emu_ring *ring = emu->ring;

	if (buf < 0)
		return;
	if (ring->engine) {
		ring->engine->ops->remove(ring->engine, buf);
		return;
	}
	drop_bufs(ring, (unsigned int)buf, chunks_of(ring, len));
	ring->locked -= len;
	annex_locked_give(len);
}

void annex_emu_ring_finish(struct annex_emu *emu, struct emu_req *req, uint16_t status)
{
	/* Sequentially consistent: see annex_emu_hand_over(). */
	annex_atomic_sub(&emu->in_flight, 1u, ANNEX_SEQ_CST);
	annex_emu_req_done(emu, req, status);
}

/* All I/O of a request has ended; what it read for far memory is still to be moved. */
static void ended(struct annex_emu *emu, struct emu_req *req, uint16_t status)
{
	if (req->far && !status && !req->dropped && req->sqe.opcode != ANNEX_NVM_WRITE)
		annex_emu_far_arrived(emu, req);
	else
		annex_emu_ring_finish(emu, req, status);
}

/* Functions instead of a ring: all I/O has ended when the mutex is let go. */
static void call(struct annex_emu *emu, struct emu_req *req)
{
	uint16_t status = 0;

	while (req->step < req->steps &&
	       !annex_emu_io_result(req, annex_emu_blocks_step(emu, req), &status))
		;
	ended(emu, req, status);
}

void annex_emu_ring_start(struct annex_emu *emu, struct emu_req *req)
{
	req->state = EMU_REQ_RING;
	annex_atomic_add(&emu->in_flight, 1u, ANNEX_SEQ_CST);
	if (emu->blocks.read)
		call(emu, req);
	else if (!annex_emu_io_issue(emu, req))
		annex_emu_ring_finish(emu, req, 0);
}

/* Ask the kernel to stop; what it has not yet given to the medium then ends with -ECANCELED. */
void annex_emu_ring_cancel(struct annex_emu *emu, struct emu_req *req)
{
	struct emu_engine *e = emu->ring->engine;
	struct io_uring *uring = &emu->ring->uring;
	struct io_uring_sqe *sqe;

	if (e) {
		if (e->ops->cancel)
			e->ops->cancel(e, req);
		return;
	}
	/* Passthrough takes none back. */
	if (req->cancelled || emu->passes || io_uring_sq_space_left(uring) <= emu->nreqs)
		return;
	req->cancelled = true;
	sqe = io_uring_get_sqe(uring);
	io_uring_prep_cancel64(sqe, (uintptr_t)req, 0);
	io_uring_sqe_set_data(sqe, NULL);
}

/*
 * The kernel takes nothing any more (somebody has closed the ring's descriptor): the requests of
 * entries that it has not taken fail now.
 */
static void refuse(struct annex_emu *emu, int err)
{
	struct io_uring_sq *sq = &emu->ring->uring.sq;
	unsigned int head = *sq->khead, tail = sq->sqe_tail, shift = emu->passes; /* SQE128 */

	if (!emu->ring->refused)
		annex_log(ANNEX_LOG_WARNING,
			  "%s: io_uring takes no more I/O, which fails from now on: %s (has the "
			  "program closed descriptors that are not its own?)",
			  emu->scheme, strerror(-err));
	emu->ring->refused = true;
	/* Finishing one may queue another. */
	sq->sqe_head = sq->sqe_tail = *sq->ktail = head;
	for (; head != tail; head++) {
		struct emu_req *req =
			(void *)(uintptr_t)sq->sqes[(head & sq->ring_mask) << shift].user_data;

		if (req)
			annex_emu_ring_finish(emu, req, ANNEX_SC_INTERNAL);
	}
}

/* Requests that the kernel refuses stay, and are offered with the next pass. */
void annex_emu_ring_submit(struct annex_emu *emu)
{
	struct io_uring *uring = &emu->ring->uring;
	int rc;

	if (emu->ring->engine) {
		emu->ring->engine->ops->submit(emu->ring->engine);
		return;
	}
	if (!io_uring_sq_ready(uring))
		return;
	rc = io_uring_submit(uring);
	if (rc < 0 && rc != -EAGAIN && rc != -EBUSY && rc != -EINTR && rc != -ENOMEM)
		refuse(emu, rc);
	annex_atomic_store(&emu->backlog, (uint32_t) !!io_uring_sq_ready(uring), ANNEX_RELEASE);
}

/* A command that was passed on has ended. Return: whether its request has, or waits. */
static bool reap_passed(struct annex_emu *emu, struct emu_req *req, int *res)
{
	uint16_t status = 0;

	if (req->dropped)
		return false;
	emu->ring->failed |= *res != 0;
	if (req->sq && annex_emu_ng_transient(emu, req, *res)) {
		annex_emu_req_again(emu, req, AGAIN_NS);
		return true;
	}
	if (!annex_emu_ng_result(req, res, &status))
		return false;
	ended(emu, req, status);
	return true;
}

static void reap_one(struct annex_emu *emu, struct emu_req *req, int res)
{
	uint16_t status = 0;

	/* NULL: a cancellation's own. */
	if (!req || (emu->passes && reap_passed(emu, req, &res)))
		return;
	if (annex_emu_io_result(req, res, &status) || !annex_emu_io_issue(emu, req))
		ended(emu, req, status);
}

static unsigned int reap_engine(struct annex_emu *emu)
{
	struct emu_done done[BATCH];
	unsigned int n = emu->ring->engine->ops->reap(emu->ring->engine, done, BATCH);

	for (unsigned int i = 0; i < n; i++)
		reap_one(emu, done[i].data, done[i].res);
	return n;
}

static unsigned int reap_uring(struct annex_emu *emu)
{
	struct io_uring *uring = &emu->ring->uring;
	struct io_uring_cqe *cqes[BATCH];
	unsigned int n;

	if (emu->polled)
		io_uring_get_events(uring);
	n = io_uring_peek_batch_cqe(uring, cqes, BATCH);

	for (unsigned int i = 0; i < n; i++)
		reap_one(emu, io_uring_cqe_get_data(cqes[i]), cqes[i]->res);
	io_uring_cq_advance(uring, n);
	return n;
}

/* The kernel's driver has lost the drive: waits end now, and nobody hears of what is under way. */
static void vanish(struct annex_emu *emu)
{
	/* Release, and more: who finds the controller stopped finds out why. */
	annex_atomic_store(&emu->gone, 1u, ANNEX_SEQ_CST);
	annex_atomic_store(&emu->running, 0u, ANNEX_RELEASE);
	annex_emu_reqs_end(emu, NULL);
	annex_emu_wake_all(emu);
}

/* Return: how many I/Os had ended. */
unsigned int annex_emu_ring_reap(struct annex_emu *emu)
{
	unsigned int n, total = 0;

	do {
		n = emu->ring->engine ? reap_engine(emu) : reap_uring(emu);
		total += n;
	} while (n == BATCH);
	annex_emu_far_run(emu);
	annex_emu_ring_submit(emu);
	if (emu->ring->failed && annex_emu_ng_lost(emu))
		vanish(emu);
	emu->ring->failed = false;
	return total;
}
