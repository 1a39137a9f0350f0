// SPDX-License-Identifier: MIT
/*
 * Steps as I/O of an io_uring.
 */
#define _GNU_SOURCE
#include <errno.h>
#include "file.h"
#include "nvme/emu/emu.h"

static void prepare_read(struct io_uring_sqe *sqe, const struct emu_io *io, int fd, int buf)
{
	const unsigned int len = (unsigned int)io->len;

	if (io->n > 1)
		io_uring_prep_readv(sqe, fd, io->v, io->n, io->pos);
	else if (buf < 0)
		io_uring_prep_read(sqe, fd, io->one.iov_base, len, io->pos);
	else
		io_uring_prep_read_fixed(sqe, fd, io->one.iov_base, len, io->pos, buf);
}

static void prepare_write(struct io_uring_sqe *sqe, const struct emu_io *io, int fd, int buf)
{
	const unsigned int len = (unsigned int)io->len;

	if (io->n > 1)
		io_uring_prep_writev(sqe, fd, io->v, io->n, io->pos);
	else if (buf < 0)
		io_uring_prep_write(sqe, fd, io->one.iov_base, len, io->pos);
	else
		io_uring_prep_write_fixed(sqe, fd, io->one.iov_base, len, io->pos, buf);
	/* Where the kernel has rw_flags, by another name of the union. */
	sqe->fsync_flags = (uint32_t)annex_emu_file_rwf(io);
}

static int file_issue(struct annex_emu *emu, struct emu_req *req, struct emu_ns *ns)
{
	struct emu_ring *ring = emu->own;
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring->uring);
	const struct emu_io *io = &req->io;
	const int fd = annex_emu_ring_target(ring, ns);

	switch (io->opcode) {
	case ANNEX_NVM_READ:
		prepare_read(sqe, io, fd, req->buf);
		break;
	case ANNEX_NVM_WRITE:
		prepare_write(sqe, io, fd, req->buf);
		break;
	case ANNEX_NVM_FLUSH:
		io_uring_prep_fsync(sqe, fd, IORING_FSYNC_DATASYNC);
		break;
	default:
		io_uring_prep_fallocate(sqe, fd, annex_emu_file_mode(io), (off_t)io->pos,
					(off_t)io->len);
		break;
	}
	annex_emu_ring_queue(ring, sqe, req);
	return EMU_PENDING;
}

static bool file_reap(struct annex_emu *emu)
{
	annex_emu_ring_reap(emu, annex_emu_step_ended);
	return true;
}

/* Threads, where there can be no io_uring. */
static int open_pool(struct annex_emu *emu, const char *why)
{
	static uint32_t told;

	/* Once a process; relaxed: nothing else is told by it. */
	if (!annex_atomic_add(&told, 1u, ANNEX_RELAXED))
		annex_log(ANNEX_LOG_WARNING, "file: slower, by threads, as io_uring is refused: %s",
			  why);
	return annex_emu_pool_open(emu);
}

static int file_open(struct annex_emu *emu, const struct annex_uri *uri, const void *arg)
{
	char why[EMU_RING_WHY];
	int err = annex_emu_file_open(emu, uri);

	(void)arg;
	if (err)
		return err;
	err = annex_emu_ring_open(emu, why);
	if (err == -EPERM || err == -ENOSYS || err == -ENOMEM)
		return open_pool(emu, why);
	return err ? annex_fail(err, "file: cannot set io_uring up: %s", why) : 0;
}

static const struct emu_backend backend = {
	.scheme = "file",
	.requests = EMU_RING_REQS,
	.size = sizeof(struct emu_file),
	.cached = true,
	.open = file_open,
	.prepare = annex_emu_prepare,
	.issue = file_issue,
	.submit = annex_emu_ring_submit,
	.reap = file_reap,
	.cancel = annex_emu_ring_cancel,
	.map = annex_emu_ring_map,
	.unmap = annex_emu_ring_unmap,
	.claim = annex_emu_disk_claim,
	.forked = annex_emu_ring_forked,
	.undo = annex_emu_file_undo,
	.close = annex_emu_ring_close,
};

int annex_emu_open_file(const struct annex_uri *uri, struct annex_ctrl **out)
{
	return annex_emu_open(uri, &backend, NULL, out);
}
