/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The admin queue (NVMe Base 2.0 section 5).
 *
 * Its doorbells share a page with those of the owner's queues, so a hostile owner may ring them at
 * any time. Unused entries hold a command that every controller refuses, all data goes to one page
 * that is used for nothing else, and an unexpected completion leads to a reset.
 */
#ifndef ANNEX_ADMIN_H
#define ANNEX_ADMIN_H

#include <linux/types.h>

struct annex_ctrl;
struct nvme_command;
struct nvme_completion;

#define ANNEX_ADMIN_DEPTH 32u

/**
 * struct annex_admin - The queue pair, and a page for the data of its commands.
 * @sq: submission queue.
 * @cq: completion queue.
 * @data: data page.
 * @sq_addr: DMA address of @sq.
 * @cq_addr: DMA address of @cq.
 * @data_addr: DMA address of @data.
 * @tail: tail of the submission queue.
 * @head: head of the completion queue.
 * @next: command identifier that is used next.
 * @phase: phase tag of the next completion.
 * @broken: a completion was unexpected, or late; until the next reset.
 */
struct annex_admin {
	struct nvme_command *sq;
	struct nvme_completion *cq;
	void *data;
	dma_addr_t sq_addr, cq_addr, data_addr;
	u16 tail, head, next;
	u8 phase;
	bool broken;
};

int annex_admin_init(struct annex_ctrl *ctrl);
void annex_admin_exit(struct annex_ctrl *ctrl);
/* annex_admin_begin() - Empty queues, told to a controller that is disabled. */
void annex_admin_begin(struct annex_ctrl *ctrl);
/*
 * annex_admin_run() - One command. The status field of its completion (0: success), or -ENODEV,
 * -ETIMEDOUT, -EIO (it is broken, or the controller reports a fatal status).
 */
int annex_admin_run(struct annex_ctrl *ctrl, struct nvme_command *cmd, u32 *result);
/* annex_admin_identify() - Identify, into @admin.data. As annex_admin_run(). */
int annex_admin_identify(struct annex_ctrl *ctrl, u8 cns, u32 nsid);

#endif
