// SPDX-License-Identifier: MIT
/*
 * How NVM commands become I/O of a backend: each is a sequence of one or more steps.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/least.h"
#include "backend.h"

#define RETRIES 64 /* of an I/O that ended with EAGAIN or EINTR */

char annex_emu_zeroes[EMU_ZEROES] __attribute__((aligned(4096)));

static bool durable(const struct emu_req *req)
{
	return req->sqe.cdw12 & ANNEX_RW_FUA;
}

/* Whether the backend can use the host's memory as it is. */
static bool usable(const struct emu_req *req)
{
	const struct emu_ns *ns = req->ns;

	for (unsigned int i = 0; i < req->nsegs; i++)
		if (((uintptr_t)req->segs[i].iov_base | req->segs[i].iov_len) & (ns->align - 1))
			return false;
	return req->nsegs == 1 || (req->nsegs <= ns->pieces && req->len <= ns->most);
}

static int find_buf(const struct annex_emu *emu, const struct iovec *seg)
{
	uint64_t addr = (uintptr_t)seg->iov_base, off;
	const struct emu_map *m = annex_emu_reach(emu, addr, seg->iov_len);

	if (!m || m->buf < 0)
		return -1;
	off = addr - m->range.addr;
	if (off / emu->chunk != (off + seg->iov_len - 1) / emu->chunk)
		return -1;
	return m->buf + (int)(off / emu->chunk);
}

/* Bytes of a command's blocks that are behind the end of the file. */
static uint32_t behind(const struct emu_cmd *cmd, uint32_t len)
{
	const struct emu_ns *ns = cmd->ns;

	return ns->missing && cmd->pos + len == ns->blocks << ns->shift ? ns->missing : 0;
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
	req->missing = behind(cmd, req->len);
	if (req->far)
		return 0; /* it will have room in far.c's buffer */
	if (cmd->sqe.opcode != ANNEX_NVM_COMPARE && !req->missing && usable(req)) {
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

uint16_t annex_emu_prepare(struct annex_emu *emu, struct emu_sq *sq, struct emu_cmd *cmd)
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
		req->len -= behind(cmd, req->len);
		req->steps = durable(req) ? 2 : 1;
		return 0;
	default:
		return prepare_rw(emu, sq, cmd);
	}
}

/*
 * The data of a read or write: no more than the backend takes at once. Reads go on behind the end
 * of a file, because direct I/O is for whole blocks.
 */
static void set_data(struct emu_req *req, const struct emu_ns *ns)
{
	const struct iovec *seg = &req->segs[req->seg];
	struct emu_io *io = &req->io;
	const uint32_t end = req->len - (io->opcode == ANNEX_NVM_WRITE ? req->missing : 0);

	io->len = least(end - req->done, ns->most);
	io->n = 1;
	io->v = &io->one;
	if (req->zeroing) {
		io->len = least(io->len, EMU_ZEROES);
		io->one.iov_base = annex_emu_zeroes;
	} else if (req->bounce) {
		io->one.iov_base = req->bounce + req->done;
	} else {
		io->n = req->nsegs - req->seg;
		io->v = io->n == 1 ? &io->one : seg;
		io->one.iov_base = seg->iov_base;
	}
	io->one.iov_len = io->len;
}

/* Write Zeroes is one command, or writes of zeroes, and then a flush if it has to be durable. */
static void set_zeroes(struct emu_req *req, const struct emu_ns *ns)
{
	if (req->step) {
		req->io.opcode = ANNEX_NVM_FLUSH;
	} else if (req->zeroing) {
		req->io.opcode = ANNEX_NVM_WRITE;
		req->io.fua = false;
		set_data(req, ns);
	} else {
		req->io.len = req->len;
		req->io.deac = req->sqe.cdw12 & ANNEX_WZ_DEAC;
	}
}

void annex_emu_io_next(struct emu_req *req, const struct emu_ns *ns)
{
	const uint8_t op = req->sqe.opcode;

	req->io = (struct emu_io){
		.opcode = op == ANNEX_NVM_COMPARE ? ANNEX_NVM_READ : op,
		.fua = durable(req),
		.pos = req->pos + req->done,
	};
	if (op == ANNEX_NVM_WRITE_ZEROES) {
		set_zeroes(req, ns);
	} else if (op == ANNEX_NVM_DSM) {
		req->io.pos = req->ranges[req->step].slba << ns->shift;
		req->io.len = (uint64_t)req->ranges[req->step].nlb << ns->shift;
	} else if (op != ANNEX_NVM_FLUSH) {
		set_data(req, ns);
	}
}

/*
 * A read-only namespace has nothing to flush, and read-only file systems refuse it (EINVAL).
 */
static void pass_readonly(const struct annex_emu *emu, struct emu_req *req)
{
	while (req->step < req->steps && (req->ns ? req->ns : &emu->ns[req->step])->readonly)
		req->step++;
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
	case -ERANGE: /* unix: behind the end of the daemon's file */
		return ANNEX_SC_LBA_RANGE;
	case -ESHUTDOWN: /* unix: there is no daemon now */
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
	while (!req->bounce && !req->zeroing && n) {
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

/* @res bytes have moved, 0 at the end of a file. Return: whether the request has ended. */
static bool moved(struct emu_req *req, int res, uint16_t *status)
{
	if (!res) {
		*status = status_of(req, -EIO);
		return true;
	}
	advance(req, (uint32_t)res);
	if (req->done < req->len - req->missing)
		return false;
	if (req->missing)
		memset(req->bounce + req->len - req->missing, 0, req->missing);
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

bool annex_emu_step_result(struct emu_req *req, int res, uint16_t *status)
{
	const uint8_t op = req->io.opcode;

	if (req->dropped)
		return true;
	if (res == -EINTR && req->cancelled)
		res = -ECANCELED;
	if ((res == -EAGAIN || res == -EINTR) && !req->cancelled && req->tries++ < RETRIES)
		return false;
	if (op == ANNEX_NVM_WRITE_ZEROES && unsupported(res)) {
		req->zeroing = true;
		return false;
	}
	if (op == ANNEX_NVM_DSM && unsupported(res))
		res = 0; /* a hint */
	if (res < 0) {
		*status = status_of(req, res);
		return true;
	}
	return req->io.n ? moved(req, res, status) : ++req->step == req->steps;
}

void annex_emu_finish(struct annex_emu *emu, struct emu_req *req, uint16_t status)
{
	/* Sequentially consistent: see annex_emu_hand_over(). */
	annex_atomic_sub(&emu->in_flight, 1u, ANNEX_SEQ_CST);
	annex_emu_req_done(emu, req, status);
}

/* Data of a read for far memory is moved next. */
void annex_emu_ended(struct annex_emu *emu, struct emu_req *req, uint16_t status)
{
	if (req->far && !status && !req->dropped && req->sqe.opcode != ANNEX_NVM_WRITE)
		annex_emu_far_arrived(emu, req);
	else
		annex_emu_finish(emu, req, status);
}

/* The next step of a request, and those after it while they end at once. */
static void go_on(struct annex_emu *emu, struct emu_req *req)
{
	struct emu_ns *ns;
	uint16_t status = 0;
	int res;

	do {
		if (req->sqe.opcode == ANNEX_NVM_FLUSH)
			pass_readonly(emu, req);
		if (req->step == req->steps)
			break;
		ns = req->ns ? req->ns : &emu->ns[req->step];
		annex_emu_io_next(req, ns);
		res = emu->backend->issue(emu, req, ns);
		if (res == EMU_PENDING)
			return;
	} while (!annex_emu_step_result(req, res, &status));
	annex_emu_ended(emu, req, status);
}

/* A write may have zeroes only behind the end of its file, which keeps its size. */
static bool fits(const struct annex_emu *emu, const struct emu_req *req)
{
	const char *tail = req->bounce + req->len - req->missing;
	struct emu_ns *ns = req->ns;

	if (req->sqe.opcode != ANNEX_NVM_WRITE ||
	    (!tail[0] && !memcmp(tail, tail + 1, req->missing - 1)))
		return true;
	if (!ns->told)
		annex_log(ANNEX_LOG_WARNING,
			  "%s: namespace %u: writes of more than zeroes behind the end of the file "
			  "fail: it keeps its %llu bytes (truncate -s makes it larger)",
			  emu->scheme, ns->nsid, (ull)((ns->blocks << ns->shift) - ns->missing));
	ns->told = true;
	return false;
}

void annex_emu_start(struct annex_emu *emu, struct emu_req *req)
{
	req->state = EMU_REQ_ISSUED;
	annex_atomic_add(&emu->in_flight, 1u, ANNEX_SEQ_CST);
	if (req->missing && !fits(emu, req))
		annex_emu_finish(emu, req, ANNEX_SC_LBA_RANGE);
	else
		go_on(emu, req);
}

void annex_emu_step_ended(struct annex_emu *emu, struct emu_req *req, int res)
{
	uint16_t status = 0;

	if (annex_emu_step_result(req, res, &status))
		annex_emu_ended(emu, req, status);
	else
		go_on(emu, req);
}

/* Steps that end in submit() free room, which other requests may wait for. */
void annex_emu_submit(struct annex_emu *emu)
{
	annex_emu_far_run(emu);
	do {
		if (emu->backend->submit)
			emu->backend->submit(emu);
	} while (annex_emu_far_run(emu));
}

void annex_emu_vanish(struct annex_emu *emu)
{
	/* Release, and more: a thread that sees the controller stopped sees the cause. */
	annex_atomic_store(&emu->gone, 1u, ANNEX_SEQ_CST);
	annex_atomic_store(&emu->running, 0u, ANNEX_RELEASE);
	annex_emu_reqs_end(emu, NULL);
	annex_emu_wake_all(emu);
}

void annex_emu_reap(struct annex_emu *emu)
{
	bool there = !emu->backend->reap || emu->backend->reap(emu);

	annex_emu_submit(emu);
	if (!there)
		annex_emu_vanish(emu);
}
