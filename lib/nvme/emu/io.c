// SPDX-License-Identifier: MIT
/*
 * The NVM command set: decoding commands, and running a batch of them.
 */
#include <string.h>
#include "backend.h"
#include "state.h"

static bool changes_data(uint8_t opcode)
{
	return opcode == ANNEX_NVM_WRITE || opcode == ANNEX_NVM_WRITE_ZEROES ||
	       opcode == ANNEX_NVM_DSM;
}

static bool may_change(const struct annex_emu *emu, const struct emu_ns *ns)
{
	return !ns->readonly && (!emu->backend->writable || emu->backend->writable(ns));
}

/* NVM 3.2: blocks and their range. */
static uint16_t decode_blocks(struct emu_cmd *cmd)
{
	const struct annex_sqe *sqe = &cmd->sqe;
	const struct emu_ns *ns = cmd->ns;
	uint64_t slba = sqe->cdw10 | (uint64_t)sqe->cdw11 << 32;

	cmd->cover = sqe->cdw12 & 0xffff;
	if (sqe->opcode != ANNEX_NVM_WRITE_ZEROES) {
		cmd->len = (cmd->cover + 1) << ns->shift;
		if (cmd->len > EMU_MAX_TRANSFER)
			return ANNEX_SC_INVALID_FIELD;
	}
	if (slba >= ns->blocks || cmd->cover >= ns->blocks - slba)
		return ANNEX_SC_LBA_RANGE;
	cmd->pos = slba << ns->shift;
	return 0;
}

/* Most data is one piece within a page: no walk needed. */
static void decode_short_prp(struct annex_emu *emu, struct emu_sq *sq, struct emu_cmd *cmd)
{
	uint64_t addr = cmd->sqe.dptr[0];
	const struct emu_map *m = sq->last;

	/* sq->last is never far: annex_emu_reach(). */
	if (cmd->sqe.flags & ANNEX_SQE_PSDT_MASK || addr & 3 ||
	    cmd->len > ANNEX_NVME_PAGE - addr % ANNEX_NVME_PAGE)
		return;
	if (!m || !range_holds(&m->range, addr, cmd->len)) {
		m = annex_emu_reach(emu, addr, cmd->len);
		if (!m)
			return;
		sq->last = m;
	}
	cmd->data = (void *)(uintptr_t)addr;
}

static uint16_t decode_fields(struct annex_emu *emu, struct emu_sq *sq, struct emu_cmd *cmd)
{
	const struct annex_sqe *sqe = &cmd->sqe;
	bool flush = sqe->opcode == ANNEX_NVM_FLUSH;
	uint16_t sc;

	switch (sqe->opcode) {
	case ANNEX_NVM_FLUSH:
	case ANNEX_NVM_WRITE:
	case ANNEX_NVM_READ:
	case ANNEX_NVM_COMPARE:
	case ANNEX_NVM_WRITE_ZEROES:
	case ANNEX_NVM_DSM:
		break;
	default:
		return ANNEX_SC_INVALID_OPCODE;
	}
	/* Fused operations, SGLs for metadata, and reserved flags. */
	if (sqe->flags & ~ANNEX_SQE_PSDT_SGL)
		return ANNEX_SC_INVALID_FIELD;
	if (flush && sqe->nsid == ANNEX_NSID_ALL)
		return 0;
	if (sqe->nsid - 1 >= emu->nns)
		return ANNEX_SC_INVALID_NS;
	cmd->ns = &emu->ns[sqe->nsid - 1];
	if (changes_data(sqe->opcode)) {
		if (!may_change(emu, cmd->ns))
			return ANNEX_SC_READ_ONLY;
		/* Relaxed: read only at the close, after all commands have ended. */
		if (!annex_atomic_load(&emu->wrote, ANNEX_RELAXED))
			annex_atomic_store(&emu->wrote, 1u, ANNEX_RELAXED);
	}
	if (flush)
		return 0;
	if (sqe->opcode == ANNEX_NVM_DSM) {
		cmd->len = ((sqe->cdw10 & 0xff) + 1) * (uint32_t)sizeof(struct annex_dsm_range);
		return 0;
	}
	sc = decode_blocks(cmd);
	if (!sc && sqe->opcode != ANNEX_NVM_WRITE_ZEROES)
		decode_short_prp(emu, sq, cmd);
	return sc;
}

static void decode(struct annex_emu *emu, struct emu_sq *sq, struct emu_cmd *cmd)
{
	cmd->ns = NULL;
	cmd->data = NULL;
	cmd->pos = 0;
	cmd->len = cmd->cover = 0;
	cmd->fault = 0;
	cmd->status = decode_fields(emu, sq, cmd);
}

/* Without faults and slow storage, commands end within the batch. */
static void run_fast(struct annex_emu *emu, struct emu_sq *sq, unsigned int n)
{
	struct emu_result res[EMU_BATCH];

	for (unsigned int i = 0; i < n; i++) {
		struct emu_cmd *cmd = &sq->cmds[i];

		if (!cmd->status)
			cmd->status = emu->backend->run(emu, sq, cmd);
		res[i].dw0 = 0;
		res[i].cid = cmd->sqe.cid;
		res[i].status = cmd->status;
	}
	annex_emu_post_held(emu, sq, res, n);
}

static void fill_request(struct annex_emu *emu, struct emu_sq *sq, struct emu_cmd *cmd)
{
	struct emu_req *req = cmd->req;

	req->sqe = cmd->sqe;
	req->ns = cmd->ns;
	req->pos = cmd->pos;
	req->fault = cmd->fault;
	req->delay_us = cmd->delay_us;
	if (cmd->status)
		return;
	if (cmd->fault == ANNEX_FAULT_TORN + 1)
		req->torn = cmd->fault_status;
	if (cmd->fault == ANNEX_FAULT_ERROR + 1)
		cmd->status = cmd->fault_status;
	else
		cmd->status = emu->backend->prepare(emu, sq, cmd);
}

/* Commands that outlive the batch. */
static void run_slow(struct annex_emu *emu, struct emu_sq *sq, unsigned int n, unsigned int fetched)
{
	for (unsigned int i = 0; i < n; i++)
		fill_request(emu, sq, &sq->cmds[i]);
	pthread_mutex_lock(&emu->async);
	for (unsigned int i = 0; i < n; i++) {
		struct emu_cmd *cmd = &sq->cmds[i];

		/* Dropped: the controller has vanished since the commands were fetched. */
		if (cmd->status || cmd->req->dropped)
			annex_emu_req_done(emu, cmd->req, cmd->status);
		else if (cmd->req->far)
			annex_emu_far_start(emu, cmd->req);
		else
			annex_emu_start(emu, cmd->req);
	}
	for (unsigned int i = n; i < fetched; i++)
		annex_emu_req_free(emu, sq->cmds[i].req);
	annex_emu_submit(emu);
	pthread_mutex_unlock(&emu->async);
	annex_emu_hand_over(emu);
}

/* Apply injected faults. Return: how many commands come before one that ends the controller. */
static unsigned int apply_faults(struct annex_emu *emu, struct emu_sq *sq, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		struct emu_cmd *cmd = &sq->cmds[i];

		if (!annex_emu_fault_apply(emu, cmd))
			continue;
		if (cmd->fault == ANNEX_FAULT_FATAL + 1 || cmd->fault == ANNEX_FAULT_REMOVE + 1)
			return i;
	}
	return n;
}

/* A failure of the controller: it fetches nothing until a reset, and sleepers wake up. */
static void fail(struct annex_emu *emu)
{
	/* Release: a thread that sees the controller stopped sees the cause. */
	annex_atomic_store(&emu->fatal, 1u, ANNEX_SEQ_CST);
	annex_atomic_store(&emu->running, 0u, ANNEX_RELEASE);
	annex_emu_wake_all(emu);
}

static void vanish(struct annex_emu *emu)
{
	pthread_mutex_lock(&emu->async);
	annex_emu_vanish(emu);
	pthread_mutex_unlock(&emu->async);
}

void annex_emu_io_batch(struct annex_emu *emu, struct emu_sq *sq, unsigned int n)
{
	unsigned int alive = n;
	bool slow = sq->cmds[0].req;

	for (unsigned int i = 0; i < n; i++) {
		if (!slow)
			sq->cmds[i].req = NULL;
		decode(emu, sq, &sq->cmds[i]);
	}
	if (emu->backend->prefetch)
		emu->backend->prefetch(sq->cmds, n);
	/* A fault injected after the requests were reserved applies from the next batch on. */
	if (slow && annex_atomic_load(&emu->faults.n, ANNEX_RELAXED))
		alive = apply_faults(emu, sq, n);
	if (slow)
		run_slow(emu, sq, alive, n);
	else
		run_fast(emu, sq, n);
	if (alive == n)
		return;
	if (sq->cmds[alive].fault == ANNEX_FAULT_FATAL + 1)
		fail(emu);
	else
		vanish(emu);
}
