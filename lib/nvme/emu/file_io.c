// SPDX-License-Identifier: MIT
/*
 * How NVM commands become I/O on a file, or calls of functions: each is a sequence of one or more
 * steps.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <string.h>
#include "io.h"
#include "ng.h"
#include "ring.h"

/*
 * RWF_DSYNC, and its place in the entry by another name of the union: the kernel's header gives
 * both a type that only its own build can use.
 */
#define WRITE_DSYNC 0x2u
#define RETRIES 64 /* of an I/O that the kernel wants to be asked for again */

static bool durable(const struct emu_req *req)
{
	return req->sqe.cdw12 & ANNEX_RW_FUA;
}

/* Whether O_DIRECT, or a function, can use the host's memory as it is. */
static bool usable(const struct emu_req *req)
{
	uintptr_t mask = req->ns->direct ? req->ns->mem_align - 1 : 0;

	for (unsigned int i = 0; i < req->nsegs; i++)
		if (((uintptr_t)req->segs[i].iov_base | req->segs[i].iov_len) & mask)
			return false;
	if (req->ns->ng) /* what has to be divided is in one piece */
		return req->nsegs == 1 ||
		       (req->nsegs <= req->ns->ng->pieces && req->len <= req->ns->ng->most);
	return req->nsegs <= (req->ns->fd < 0 && !req->ns->link ? 1 : IOV_MAX);
}

static int find_buf(const struct annex_emu *emu, const struct iovec *seg)
{
	uint64_t addr = (uintptr_t)seg->iov_base, off;
	const struct emu_map *m = annex_emu_reach(emu, addr, seg->iov_len);

	if (!m || m->buf < 0)
		return -1;
	off = addr - m->range.addr;
	if (off / emu->ring->chunk != (off + seg->iov_len - 1) / emu->ring->chunk)
		return -1;
	return m->buf + (int)(off / emu->ring->chunk);
}

static uint16_t prepare_rw(struct annex_emu *emu, struct emu_sq *sq, struct emu_cmd *cmd)
{
	struct emu_req *req = cmd->req;
	unsigned int n;
	uint16_t sc = annex_emu_dptr(emu, &cmd->sqe, cmd->len, sq->segs, &n, &req->far);

	if (sc)
		return sc;
	if (annex_emu_req_set_segs(req, sq->segs, n, req->len))
		return ANNEX_SC_INTERNAL;
	if (req->far)
		return 0; /* it will have room in far.c's buffer */
	if (cmd->sqe.opcode != ANNEX_NVM_COMPARE && usable(req)) {
		if (req->nsegs == 1)
			req->buf = find_buf(emu, req->segs);
		return 0;
	}
	req->bounce = aligned_alloc(4096, (req->len + 4095u) & ~4095u);
	if (!req->bounce)
		return ANNEX_SC_INTERNAL;
	if (cmd->sqe.opcode == ANNEX_NVM_WRITE)
		annex_emu_from_host(req->segs, req->nsegs, req->bounce, req->len);
	return 0;
}

static uint16_t prepare_dsm(struct annex_emu *emu, struct emu_sq *sq, struct emu_cmd *cmd)
{
	struct emu_req *req = cmd->req;

	req->ranges = malloc(ANNEX_DSM_MAX * sizeof(*req->ranges));
	if (!req->ranges)
		return ANNEX_SC_INTERNAL;
	return annex_emu_dsm_ranges(emu, sq, cmd, req->ranges, &req->steps);
}

uint16_t annex_emu_io_prepare(struct annex_emu *emu, struct emu_sq *sq, struct emu_cmd *cmd)
{
	struct emu_req *req = cmd->req;

	req->len = annex_emu_todo(cmd);
	switch (cmd->sqe.opcode) {
	case ANNEX_NVM_FLUSH:
		req->steps = cmd->ns ? 1 : emu->nns;
		return 0;
	case ANNEX_NVM_DSM:
		return prepare_dsm(emu, sq, cmd);
	case ANNEX_NVM_WRITE_ZEROES:
		req->steps = durable(req) ? 2 : 1;
		return 0;
	default:
		return prepare_rw(emu, sq, cmd);
	}
}

static int target(const struct annex_emu *emu, const struct emu_ns *ns)
{
	return emu->ring->fixed_files ? (int)ns->nsid - 1 : ns->fd;
}

static bool queue(struct annex_emu *emu, struct emu_req *req, struct io_uring_sqe *sqe)
{
	if (emu->ring->fixed_files)
		sqe->flags |= IOSQE_FIXED_FILE;
	io_uring_sqe_set_data(sqe, req);
	return true;
}

static void issue_read(struct emu_req *req, struct io_uring_sqe *sqe, int fd)
{
	struct iovec *segs = &req->segs[req->seg];
	unsigned int n = req->nsegs - req->seg;
	uint64_t pos = req->pos + req->done;

	if (req->bounce)
		io_uring_prep_read(sqe, fd, req->bounce + req->done, req->len - req->done, pos);
	else if (n > 1)
		io_uring_prep_readv(sqe, fd, segs, n, pos);
	else if (req->buf < 0)
		io_uring_prep_read(sqe, fd, segs->iov_base, (unsigned int)segs->iov_len, pos);
	else
		io_uring_prep_read_fixed(sqe, fd, segs->iov_base, (unsigned int)segs->iov_len, pos,
					 req->buf);
}

static void issue_write(struct emu_req *req, struct io_uring_sqe *sqe, int fd)
{
	struct iovec *segs = &req->segs[req->seg];
	unsigned int n = req->nsegs - req->seg;
	uint64_t pos = req->pos + req->done;

	if (req->bounce)
		io_uring_prep_write(sqe, fd, req->bounce + req->done, req->len - req->done, pos);
	else if (n > 1)
		io_uring_prep_writev(sqe, fd, segs, n, pos);
	else if (req->buf < 0)
		io_uring_prep_write(sqe, fd, segs->iov_base, (unsigned int)segs->iov_len, pos);
	else
		io_uring_prep_write_fixed(sqe, fd, segs->iov_base, (unsigned int)segs->iov_len, pos,
					  req->buf);
}

/* Step 0 zeroes, step 1 makes it durable. */
static void issue_zeroes(struct annex_emu *emu, struct emu_req *req, struct io_uring_sqe *sqe,
			 int fd)
{
	uint64_t pos = req->pos + req->done;
	uint32_t left = req->len - req->done;
	bool deallocate = req->sqe.cdw12 & ANNEX_WZ_DEAC;

	if (req->step)
		io_uring_prep_fsync(sqe, fd, IORING_FSYNC_DATASYNC);
	else if (req->zeroing)
		io_uring_prep_write(sqe, fd, emu->ring->zeroes,
				    left < EMU_ZEROES ? left : EMU_ZEROES, pos);
	else
		io_uring_prep_fallocate(sqe, fd,
					(deallocate ? FALLOC_FL_PUNCH_HOLE : FALLOC_FL_ZERO_RANGE) |
						FALLOC_FL_KEEP_SIZE,
					(off_t)pos, left);
}

/*
 * A namespace that is read only has nothing to be flushed, and file systems that are read only
 * refuse it (EINVAL).
 */
static void pass_readonly(const struct annex_emu *emu, struct emu_req *req)
{
	while (req->step < req->steps && (req->ns ? req->ns : &emu->ns[req->step])->readonly)
		req->step++;
}

bool annex_emu_io_issue(struct annex_emu *emu, struct emu_req *req)
{
	struct emu_ns *ns = req->ns;
	const struct annex_dsm_range *r;
	struct io_uring_sqe *sqe;
	int fd;

	if (req->sqe.opcode == ANNEX_NVM_FLUSH)
		pass_readonly(emu, req);
	if (req->step == req->steps)
		return false;
	if (!ns) /* flush of all */
		ns = &emu->ns[req->step];
	sqe = annex_emu_ring_entry(emu);
	fd = target(emu, ns);
	if (ns->ng) {
		annex_emu_ng_issue(emu, req, ns, sqe, fd);
		return queue(emu, req, sqe);
	}
	switch (req->sqe.opcode) {
	case ANNEX_NVM_FLUSH:
		io_uring_prep_fsync(sqe, fd, IORING_FSYNC_DATASYNC);
		break;
	case ANNEX_NVM_DSM:
		r = &req->ranges[req->step];
		io_uring_prep_fallocate(sqe, fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
					(off_t)(r->slba << ns->shift),
					(off_t)((uint64_t)r->nlb << ns->shift));
		break;
	case ANNEX_NVM_WRITE_ZEROES:
		issue_zeroes(emu, req, sqe, fd);
		break;
	case ANNEX_NVM_WRITE:
		issue_write(req, sqe, fd);
		if (durable(req))
			sqe->fsync_flags = WRITE_DSYNC;
		break;
	default:
		issue_read(req, sqe, fd);
		break;
	}
	return queue(emu, req, sqe);
}

static uint16_t status_of(const struct emu_req *req, int err)
{
	bool reads = req->sqe.opcode == ANNEX_NVM_READ || req->sqe.opcode == ANNEX_NVM_COMPARE;

	switch (err) {
	case -ECANCELED:
		return req->sq && annex_atomic_load(&req->sq->state, ANNEX_RELAXED) ==
					       EMU_SQ_DELETING
			       ? ANNEX_SC_ABORT_SQ_DELETED
			       : ANNEX_SC_ABORT_REQUESTED;
	case -ENOSPC:
	case -EDQUOT:
	case -EFBIG:
		return ANNEX_SC_CAPACITY;
	case -EFAULT:
		return ANNEX_SC_DATA_TRANSFER;
	case -ESHUTDOWN: /* unix: nobody serves it now */
		return ANNEX_SC_NS_NOT_READY;
	case -EROFS:
	case -EPERM:
		return ANNEX_SC_READ_ONLY;
	default:
		return reads ? ANNEX_SC_UNRECOVERED_READ : ANNEX_SC_WRITE_FAULT;
	}
}

static void advance(struct emu_req *req, uint32_t n)
{
	req->done += n;
	while (!req->bounce && n) {
		struct iovec *seg = &req->segs[req->seg];
		uint32_t part = n < seg->iov_len ? n : (uint32_t)seg->iov_len;

		seg->iov_base = (char *)seg->iov_base + part;
		seg->iov_len -= part;
		n -= part;
		if (!seg->iov_len)
			req->seg++;
	}
}

static uint16_t compare(const struct emu_req *req)
{
	const char *p = req->bounce;

	for (unsigned int i = 0; i < req->nsegs; p += req->segs[i++].iov_len)
		if (memcmp(p, req->segs[i].iov_base, req->segs[i].iov_len))
			return ANNEX_SC_COMPARE_FAILURE;
	return 0;
}

/* Some of the data has moved: all of it? A file that ends early gives 0. */
static bool moved(struct emu_req *req, int res, uint16_t *status)
{
	if (!res) {
		*status = status_of(req, -EIO);
		return true;
	}
	if (req->sqe.opcode == ANNEX_NVM_WRITE_ZEROES)
		req->done += (uint32_t)res;
	else
		advance(req, (uint32_t)res);
	if (req->done < req->len)
		return false;
	req->step++;
	if (req->far) /* far.c does the rest */
		return true;
	if (req->sqe.opcode == ANNEX_NVM_COMPARE)
		*status = compare(req);
	else if (req->sqe.opcode == ANNEX_NVM_READ && req->bounce)
		annex_emu_to_host(req->segs, req->nsegs, req->bounce, req->len);
	return req->step == req->steps;
}

static bool unsupported(int res)
{
	return res == -EOPNOTSUPP || res == -ENOSYS || res == -EINVAL || res == -ENODEV;
}

bool annex_emu_io_result(struct emu_req *req, int res, uint16_t *status)
{
	uint8_t op = req->sqe.opcode;
	bool by_fallocate = op == ANNEX_NVM_WRITE_ZEROES && !req->zeroing && !req->step;

	if (req->dropped)
		return true;
	if (res == -EINTR && req->cancelled)
		res = -ECANCELED;
	if ((res == -EAGAIN || res == -EINTR) && !req->cancelled && req->tries++ < RETRIES)
		return false;
	if (by_fallocate && unsupported(res)) {
		req->zeroing = true;
		return false;
	}
	if (op == ANNEX_NVM_DSM && unsupported(res))
		res = 0; /* a hint */
	if (res < 0) {
		*status = status_of(req, res);
		return true;
	}
	if (op == ANNEX_NVM_FLUSH || op == ANNEX_NVM_DSM || by_fallocate || req->step)
		return ++req->step == req->steps;
	return moved(req, res, status);
}
