// SPDX-License-Identifier: MIT
/*
 * How NVM commands become commands of the kernel's NVMe driver. A command above the kernel's limit
 * becomes several, like an I/O on a file that moves only some of its bytes.
 */
#include <errno.h>
#include <limits.h>
#include <linux/nvme_ioctl.h>
#include <stdio.h>
#include <string.h>
#include "ng.h"

#define PATH_TRIES 100u
#define TIMEOUT_DEFAULT_MS 30000u
#define TIMEOUT_MIN_MS 1000u /* the kernel resets the controller for all its users */

/* The blocks of the namespace. */
static void set_blocks(struct nvme_uring_cmd *cmd, const struct emu_io *io, const struct emu_ns *ns)
{
	const uint64_t slba = io->pos >> ns->shift;

	cmd->cdw10 = (uint32_t)slba;
	cmd->cdw11 = (uint32_t)(slba >> 32);
	cmd->cdw12 = (uint32_t)((io->len >> ns->shift) - 1) | (io->fua ? ANNEX_RW_FUA : 0) |
		     (io->deac ? ANNEX_WZ_DEAC : 0);
	if (((const struct emu_ng *)ns->own)->protect) /* as in annex_io_build() */
		annex_sqe_protect(cmd->opcode, &cmd->cdw12, cmd->cdw10, &cmd->cdw14);
}

static void set_data(struct io_uring_sqe *sqe, struct nvme_uring_cmd *cmd, const struct emu_io *io,
		     int buf)
{
	cmd->addr = io->n > 1 ? (uintptr_t)io->v : (uintptr_t)io->one.iov_base;
	cmd->data_len = io->n > 1 ? io->n : (uint32_t)io->len;
	if (io->n > 1)
		sqe->cmd_op = NVME_URING_CMD_IO_VEC;
	if (buf >= 0) {
		sqe->uring_cmd_flags = IORING_URING_CMD_FIXED;
		sqe->buf_index = (uint16_t)buf;
	}
}

/* All ranges of the request at once. */
static void set_ranges(struct nvme_uring_cmd *cmd, const struct emu_req *req)
{
	cmd->addr = (uintptr_t)req->ranges;
	cmd->data_len = req->steps * (uint32_t)sizeof(*req->ranges);
	cmd->cdw10 = req->steps - 1;
	cmd->cdw11 = ANNEX_DSM_DEALLOCATE;
}

/* Half of the caller's timeout: the kernel aborts after it, and resets after as long again. */
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
	const struct emu_ng *ng = ns->own;
	const struct emu_io *io = &req->io;

	memset(sqe, 0, 2 * sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = fd;
	sqe->cmd_op = NVME_URING_CMD_IO;
	cmd->nsid = ng->nsid;
	cmd->timeout_ms = timeout_ms(emu);
	cmd->opcode = io->opcode;
	if (io->opcode == ANNEX_NVM_DSM)
		set_ranges(cmd, req);
	else if (io->opcode != ANNEX_NVM_FLUSH)
		set_blocks(cmd, io, ns);
	if (io->n)
		set_data(sqe, cmd, io, req->buf);
}

/* A drive without write zeroes has zeroes written to it; deallocating is a hint. */
static bool is_missing(const struct emu_req *req, uint16_t sc)
{
	return (sc == ANNEX_SC_INVALID_OPCODE || sc == ANNEX_SC_INVALID_FIELD) &&
	       (req->io.opcode == ANNEX_NVM_WRITE_ZEROES ||
		(req->io.opcode == ANNEX_NVM_DSM && !req->step));
}

/* Whether a controller of the namespace is live, as the kernel says. */
static bool is_live(const struct emu_ng *ng)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/device", ng->node);
	return annex_emu_ctrl_is(path, "state", "live");
}

/*
 * During a reset of the controller, for any user, the kernel ends commands (-EINTR) and refuses new
 * ones. A disk that might have other paths has none then (-EINVAL), and for a moment after that;
 * only if the controller has been live for as many tries, the error is the command's.
 */
bool annex_emu_ng_transient(const struct annex_emu *emu, struct emu_req *req, int res)
{
	const struct emu_ns *ns = req->ns ? req->ns : &emu->ns[req->step];

	if (res == -EINVAL) {
		if (req->tries++ == PATH_TRIES && !is_live(ns->own))
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
	if (req->io.opcode == ANNEX_NVM_DSM || (req->io.opcode == ANNEX_NVM_WRITE_ZEROES && !*res))
		req->step = req->steps - 1;
	else if (req->io.n && !*res)
		*res = (int)req->io.len;
	return false;
}
