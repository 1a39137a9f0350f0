// SPDX-License-Identifier: MIT
/*
 * How NVM commands become commands of the kernel's NVMe driver. One that is larger than the kernel
 * takes becomes several, like an I/O on a file that moves only some of its bytes.
 */
#include <errno.h>
#include <linux/nvme_ioctl.h>
#include <string.h>
#include "core/least.h"
#include "ng.h"
#include "ring.h"

#define PATH_TRIES 100u
#define TIMEOUT_DEFAULT_MS 30000u
#define TIMEOUT_MIN_MS 1000u /* the kernel resets the controller for all its users */

static bool writes_zeroes(const struct emu_req *req)
{
	return req->sqe.opcode == ANNEX_NVM_WRITE_ZEROES && !req->zeroing;
}

/* Bytes of data that the next command of a request moves. */
static uint32_t next_bytes(const struct emu_req *req)
{
	uint64_t left = least(req->len - req->done, req->ns->ng->most);

	return (uint32_t)(req->zeroing ? least(left, EMU_ZEROES) : left);
}

/* Blocks of the namespace, from what is done on. */
static void set_blocks(struct nvme_uring_cmd *cmd, const struct emu_req *req, uint32_t bytes)
{
	const unsigned int shift = req->ns->shift;
	uint64_t slba = (req->pos + req->done) >> shift;

	cmd->cdw10 = (uint32_t)slba;
	cmd->cdw11 = (uint32_t)(slba >> 32);
	cmd->cdw12 = ((bytes >> shift) - 1) | (req->sqe.cdw12 & ANNEX_RW_FUA);
}

static void set_data(const struct annex_emu *emu, const struct emu_req *req,
		     struct io_uring_sqe *sqe, struct nvme_uring_cmd *cmd)
{
	const struct iovec *segs = &req->segs[req->seg];
	uint32_t bytes = next_bytes(req);

	set_blocks(cmd, req, bytes);
	cmd->data_len = bytes;
	if (req->zeroing) {
		cmd->addr = (uintptr_t)emu->ring->zeroes;
	} else if (req->bounce) {
		cmd->addr = (uintptr_t)req->bounce + req->done;
	} else if (req->nsegs - req->seg > 1) {
		sqe->cmd_op = NVME_URING_CMD_IO_VEC;
		cmd->addr = (uintptr_t)segs;
		cmd->data_len = req->nsegs - req->seg;
	} else {
		cmd->addr = (uintptr_t)segs->iov_base;
		if (req->buf >= 0) {
			sqe->uring_cmd_flags = IORING_URING_CMD_FIXED;
			sqe->buf_index = (uint16_t)req->buf;
		}
	}
}

/* Half of the time that the caller has: the kernel asks for an abort, and resets after as long. */
static uint32_t timeout_ms(const struct annex_emu *emu)
{
	uint32_t all = emu->ctrl.timeout_ms;

	if (!all) /* the first commands, of opening */
		all = TIMEOUT_DEFAULT_MS;
	return all / 2 > TIMEOUT_MIN_MS ? all / 2 : TIMEOUT_MIN_MS;
}

void annex_emu_ng_issue(const struct annex_emu *emu, const struct emu_req *req,
			const struct emu_ns *ns, struct io_uring_sqe *sqe, int fd)
{
	struct nvme_uring_cmd *cmd = (struct nvme_uring_cmd *)(void *)sqe->cmd;

	memset(sqe, 0, 2 * sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = fd;
	sqe->cmd_op = NVME_URING_CMD_IO;
	cmd->nsid = ns->ng->nsid;
	cmd->timeout_ms = timeout_ms(emu);
	switch (req->sqe.opcode) {
	case ANNEX_NVM_FLUSH:
		cmd->opcode = ANNEX_NVM_FLUSH;
		break;
	case ANNEX_NVM_DSM:
		cmd->opcode = ANNEX_NVM_DSM;
		cmd->addr = (uintptr_t)req->ranges;
		cmd->data_len = req->steps * (uint32_t)sizeof(*req->ranges);
		cmd->cdw10 = req->steps - 1;
		cmd->cdw11 = ANNEX_DSM_DEALLOCATE;
		break;
	case ANNEX_NVM_WRITE_ZEROES:
		if (req->step) {
			cmd->opcode = ANNEX_NVM_FLUSH;
		} else if (req->zeroing) {
			cmd->opcode = ANNEX_NVM_WRITE;
			set_data(emu, req, sqe, cmd);
		} else {
			cmd->opcode = ANNEX_NVM_WRITE_ZEROES;
			set_blocks(cmd, req, req->len);
			cmd->cdw12 |= req->sqe.cdw12 & ANNEX_WZ_DEAC;
		}
		break;
	default:
		cmd->opcode = req->sqe.opcode == ANNEX_NVM_WRITE ? ANNEX_NVM_WRITE : ANNEX_NVM_READ;
		set_data(emu, req, sqe, cmd);
		break;
	}
}

/* A drive without write zeroes has zeroes written to it; deallocating is a hint. */
static bool is_missing(const struct emu_req *req, uint16_t sc)
{
	return (sc == ANNEX_SC_INVALID_OPCODE || sc == ANNEX_SC_INVALID_FIELD) &&
	       (writes_zeroes(req) || req->sqe.opcode == ANNEX_NVM_DSM) && !req->step;
}

/*
 * The kernel resets the controller, on whoever's behalf: it ends commands (-EINTR), and takes none
 * until it is through. A disk that might have other paths has none then (-EINVAL), and for a moment
 * after that; only if the controller has been in order for as many tries, the error is the
 * command's.
 */
bool annex_emu_ng_transient(const struct annex_emu *emu, struct emu_req *req, int res)
{
	const struct emu_ns *ns = req->ns ? req->ns : &emu->ns[req->step];

	if (res == -EINVAL) {
		if (req->tries++ == PATH_TRIES && !annex_emu_ng_live(ns->ng))
			req->tries = 0;
		return req->tries <= 2 * PATH_TRIES;
	}
	return res == -EINTR ||
	       (res > 0 && ((unsigned int)res & ANNEX_SC_MASK) >> 8 == ANNEX_SCT_PATH);
}

bool annex_emu_ng_result(struct emu_req *req, int *res, uint16_t *status)
{
	uint16_t sc = (uint16_t)((unsigned int)*res & ANNEX_SC_MASK);

	if (*res == -EINVAL) {
		*status = ANNEX_SC_INVALID_FIELD;
		return true;
	}
	if (*res > 0 && !is_missing(req, sc)) {
		*status = sc ? sc : ANNEX_SC_INTERNAL;
		return true;
	}
	if (*res > 0)
		*res = -EOPNOTSUPP;
	/* One command has all ranges, or is durable by itself. */
	if (req->sqe.opcode == ANNEX_NVM_DSM || (writes_zeroes(req) && !*res && !req->step))
		req->step = req->steps - 1;
	else if (req->sqe.opcode != ANNEX_NVM_FLUSH && !*res && !req->step)
		*res = (int)next_bytes(req);
	return false;
}
