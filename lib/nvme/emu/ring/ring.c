// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "disk.h"
#include "ring.h"

#define RING_REQS_MIN 64u
#define RING_SHARE 32u  /* 1/RING_SHARE of the limit of locked memory is for a ring */
#define LOCKED_SHARE 4u /* and 1/LOCKED_SHARE for registered buffers */
#define BATCH 64u

static uint64_t taken; /* bytes of registered buffers that are locked */

/* Whether the limit does not apply to this thread. */
static bool is_exempt(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];

	return !syscall(SYS_capget, &head, caps) && caps[0].effective & 1u << CAP_IPC_LOCK;
}

/*
 * RLIMIT_MEMLOCK in bytes; UINT64_MAX: there is none for this process. The limit is for all of a
 * user's processes together, and only the kernel knows how much the others use.
 */
static uint64_t locked_limit(void)
{
	struct rlimit limit;

	if (is_exempt() || getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return limit.rlim_cur;
}

static void locked_give(uint64_t bytes)
{
	annex_atomic_sub(&taken, bytes, ANNEX_RELAXED); /* a count, which orders nothing else */
}

/*
 * Memory that works without being locked gets a part of the limit, so that the rings of further
 * devices and other processes find room. Return: whether @bytes are in that part.
 */
static bool locked_take(uint64_t bytes)
{
	/* Relaxed: as above. */
	uint64_t before = annex_atomic_add(&taken, bytes, ANNEX_RELAXED);

	if (before + bytes <= locked_limit() / LOCKED_SHARE)
		return true;
	locked_give(bytes);
	return false;
}

static void register_files(const struct annex_emu *emu, struct emu_ring *ring)
{
	int fds[EMU_NAMESPACES], err;

	for (unsigned int i = 0; i < emu->nns; i++)
		fds[i] = emu->ns[i].fd;
	err = io_uring_register_files(&ring->uring, fds, emu->nns);
	ring->fixed_files = !err;
	if (err)
		annex_log(ANNEX_LOG_WARNING,
			  "%s: slower, as files are not registered with io_uring: %s", emu->scheme,
			  strerror(-err));
}

/* Room for one I/O of each request and its cancellation, so that none is ever refused. */
static int init_flags(const struct annex_emu *emu, struct emu_ring *ring, unsigned int flags)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP | flags,
		.cq_entries = 4 * emu->nreqs,
	};

	return io_uring_queue_init_params(2 * emu->nreqs, &ring->uring, &params);
}

static uint64_t ring_bytes(const struct annex_emu *emu, const struct emu_ring *ring)
{
	const uint64_t one = 2 * sizeof(struct io_uring_sqe) + 4 * sizeof(struct io_uring_cqe) +
			     2 * sizeof(uint32_t);

	return emu->nreqs * one * (ring->wide ? 2 : 1); /* SQE128, CQE32 */
}

static int init_full(const struct annex_emu *emu, struct emu_ring *ring)
{
	const unsigned int flags = (ring->wide ? IORING_SETUP_SQE128 | IORING_SETUP_CQE32 : 0) |
				   (ring->polled ? IORING_SETUP_IOPOLL : 0);
	/* Since Linux 5.19. */
	const unsigned int quiet = emu->alone
					   ? IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG
					   : 0;
	int err = init_flags(emu, ring, flags | quiet);

	return err == -EINVAL && quiet ? init_flags(emu, ring, flags) : err;
}

/*
 * If the limit of locked memory is small, or other rings use most of it, allow fewer requests at
 * once: that leaves room for further devices.
 */
static int init_uring(struct annex_emu *emu, struct emu_ring *ring)
{
	const uint32_t all = emu->nreqs;
	const uint64_t limit = locked_limit();
	int err;

	while (emu->nreqs > RING_REQS_MIN && ring_bytes(emu, ring) > limit / RING_SHARE)
		emu->nreqs /= 2;
	err = init_full(emu, ring);
	while (err == -ENOMEM && emu->nreqs > RING_REQS_MIN) {
		emu->nreqs /= 2;
		err = init_full(emu, ring);
	}
	if (err)
		emu->nreqs = all;
	else if (emu->nreqs < all)
		annex_log(ANNEX_LOG_INFO, "%s: at most %u I/Os at once: locked memory is limited",
			  emu->scheme, emu->nreqs);
	return err;
}

/* The cause of the refusal, and its remedy. */
static void why_refused(int err, char *buf, size_t size)
{
	const uint64_t limit = locked_limit();
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

/* Callers submit by themselves, unless the kernel could end them by a signal for it. */
static enum emu_serve usual_serve(const struct annex_emu *emu)
{
	struct stat st;

	for (unsigned int i = 0; i < emu->nns; i++)
		if (!fstat(emu->ns[i].fd, &st) && annex_emu_over_tcp("", &st))
			return EMU_SERVE_THREAD;
	return EMU_SERVE_CALLER;
}

int annex_emu_ring_open(struct annex_emu *emu, char why[EMU_RING_WHY])
{
	struct emu_ring *ring = emu->own;
	int err;

	emu->usual = usual_serve(emu);
	emu->chunk = EMU_BUF_CHUNK;
	err = init_uring(emu, ring);
	if (err) {
		why_refused(err, why, EMU_RING_WHY);
		return err;
	}
	ring->live = true;
	emu->fd = ring->uring.ring_fd;
	err = io_uring_register_buffers_sparse(&ring->uring, EMU_RING_BUFS);
	ring->fixed_bufs = !err;
	if (err)
		annex_log(ANNEX_LOG_INFO, "%s: io_uring takes no registered buffers: %s",
			  emu->scheme, strerror(-err));
	register_files(emu, ring);
	return 0;
}

/*
 * A worker of the kernel frees an io_uring some time after its descriptor is closed, with the
 * registered files and memory: a file system with such a file cannot be unmounted until then. So
 * unregister them first, which waits for commands that use them.
 */
void annex_emu_ring_close(struct annex_emu *emu, bool ended)
{
	struct emu_ring *ring = emu->own;

	if (ended && ring->fixed_files)
		io_uring_unregister_files(&ring->uring);
	if (ended && ring->fixed_bufs)
		io_uring_unregister_buffers(&ring->uring);
	if (ended)
		locked_give(ring->locked);
	annex_emu_disk_unlock(emu);
	annex_emu_ring_forked(emu);
}

/* A child of fork() shares the ring with its parent. */
void annex_emu_ring_forked(struct annex_emu *emu)
{
	struct emu_ring *ring = emu->own;

	if (ring->live)
		io_uring_queue_exit(&ring->uring);
	annex_emu_disk_close(emu);
}

static int update_buf(struct emu_ring *ring, unsigned int at, uint64_t addr, uint64_t len)
{
	struct iovec iov = {.iov_base = (void *)(uintptr_t)addr, .iov_len = len};
	int rc = io_uring_register_buffers_update_tag(&ring->uring, at, &iov, NULL, 1);

	return rc < 0 ? rc : 0;
}

static unsigned int chunks_of(const struct annex_emu *emu, uint64_t len)
{
	uint64_t n = (len + emu->chunk - 1) / emu->chunk;

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

static int fill_bufs(const struct annex_emu *emu, struct emu_ring *ring, unsigned int at,
		     uint64_t addr, uint64_t len)
{
	const unsigned int n = chunks_of(emu, len);

	for (unsigned int i = 0; i < n; i++) {
		uint64_t off = i * emu->chunk;
		uint64_t part = len - off < emu->chunk ? len - off : emu->chunk;
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
 * Register mapped memory, so that the kernel need not pin it for each I/O. I/O works without it.
 */
int annex_emu_ring_map(struct annex_emu *emu, uint64_t addr, uint64_t len)
{
	struct emu_ring *ring = emu->own;
	const char *why = "too many ranges";
	int at, err;

	if (!ring->fixed_bufs)
		return -1;
	at = find_slots(ring, chunks_of(emu, len));
	if (at >= 0 && locked_take(len)) {
		err = fill_bufs(emu, ring, (unsigned int)at, addr, len);
		if (!err) {
			ring->locked += len;
			return at;
		}
		locked_give(len);
		why = strerror(-err);
	} else if (at >= 0) {
		why = "the rest of the limit of locked memory is for rings";
	}
	annex_log(ANNEX_LOG_INFO, "%s: %llu bytes are not registered with io_uring: %s",
		  emu->scheme, (ull)len, why);
	return -1;
}

void annex_emu_ring_unmap(struct annex_emu *emu, int buf, uint64_t len)
{
	struct emu_ring *ring = emu->own;

	drop_bufs(ring, (unsigned int)buf, chunks_of(emu, len));
	ring->locked -= len;
	locked_give(len);
}

/* Have the kernel cancel it; an I/O that has not reached the medium ends with -ECANCELED. */
void annex_emu_ring_cancel(struct annex_emu *emu, struct emu_req *req)
{
	struct emu_ring *ring = emu->own;
	struct io_uring_sqe *sqe;

	if (req->cancelled || io_uring_sq_space_left(&ring->uring) <= emu->nreqs)
		return;
	req->cancelled = true;
	sqe = io_uring_get_sqe(&ring->uring);
	io_uring_prep_cancel64(sqe, (uintptr_t)req, 0);
	io_uring_sqe_set_data(sqe, NULL);
}

/*
 * The kernel takes no more I/O (the program has closed the ring's descriptor): the requests of
 * entries that it has not taken fail now.
 */
static void refuse(struct annex_emu *emu, struct emu_ring *ring, int err)
{
	struct io_uring_sq *sq = &ring->uring.sq;
	unsigned int head = *sq->khead, tail = sq->sqe_tail, shift = ring->wide; /* SQE128 */

	if (!ring->refused)
		annex_log(ANNEX_LOG_WARNING,
			  "%s: io_uring takes no more I/O, which fails from now on: %s (has the "
			  "program closed descriptors that are not its own?)",
			  emu->scheme, strerror(-err));
	ring->refused = true;
	/* Finishing one may queue another. */
	sq->sqe_head = sq->sqe_tail = *sq->ktail = head;
	for (; head != tail; head++) {
		struct emu_req *req =
			(void *)(uintptr_t)sq->sqes[(head & sq->ring_mask) << shift].user_data;

		if (req)
			annex_emu_finish(emu, req, ANNEX_SC_INTERNAL);
	}
}

/* Entries that the kernel refuses stay, and are submitted with the next pass. */
void annex_emu_ring_submit(struct annex_emu *emu)
{
	struct emu_ring *ring = emu->own;
	struct io_uring *uring = &ring->uring;
	int rc;

	if (!io_uring_sq_ready(uring))
		return;
	rc = io_uring_submit(uring);
	if (rc < 0 && rc != -EAGAIN && rc != -EBUSY && rc != -EINTR && rc != -ENOMEM)
		refuse(emu, ring, rc);
	annex_atomic_store(&emu->backlog, (uint32_t) !!io_uring_sq_ready(uring), ANNEX_RELEASE);
}

void annex_emu_ring_reap(struct annex_emu *emu,
			 void (*ended)(struct annex_emu *emu, struct emu_req *req, int res))
{
	struct emu_ring *ring = emu->own;
	struct io_uring *uring = &ring->uring;
	struct io_uring_cqe *cqes[BATCH];
	unsigned int n;

	do {
		if (ring->polled)
			io_uring_get_events(uring);
		n = io_uring_peek_batch_cqe(uring, cqes, BATCH);
		for (unsigned int i = 0; i < n; i++) {
			struct emu_req *req = io_uring_cqe_get_data(cqes[i]);

			if (req) /* NULL: a cancellation's own */
				ended(emu, req, cqes[i]->res);
		}
		io_uring_cq_advance(uring, n);
	} while (n == BATCH);
}
