/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The admin queue (NVMe Base 2.0 section 5).
 *
 * It lies in the owner's IOMMU domain, and its doorbells share a page with those of the owner's
 * queues. So a hostile owner may ring them at any time, and may have the controller write wherever
 * it may write itself. The controller may only read the submission queue, and only write the
 * completion queue and the page for data. Unused entries hold a command that every controller
 * refuses, and an unexpected completion leads to a reset.
 */
#ifndef ANNEX_ADMIN_H
#define ANNEX_ADMIN_H

#include <linux/dma-direction.h>
#include <linux/types.h>

struct annex_ctrl;
struct nvme_command;

#define ANNEX_ADMIN_DEPTH 32u

/**
 * struct annex_area - A page that the controller may either read or write.
 * @at: where the CPU sees it.
 * @addr: DMA address.
 * @way: what the controller may do with it.
 * @mapped: it may, now.
 */
struct annex_area {
	void *at;
	dma_addr_t addr;
	enum dma_data_direction way;
	bool mapped;
};

/**
 * struct annex_admin - The queue pair, and a page for the data of its commands.
 * @sq: submission queue.
 * @cq: completion queue.
 * @data: data page.
 * @tail: tail of the submission queue.
 * @head: head of the completion queue.
 * @next: command identifier that is used next.
 * @phase: phase tag of the next completion.
 * @broken: a completion was unexpected, or late; until the next reset.
 */
struct annex_admin {
	struct annex_area sq, cq, data;
	u16 tail, head, next;
	u8 phase;
	bool broken;
};

int annex_admin_init(struct annex_ctrl *ctrl);
void annex_admin_exit(struct annex_ctrl *ctrl);
/* annex_admin_begin() - Empty queues, told to a controller that is disabled. 0 or -ENOMEM. */
int annex_admin_begin(struct annex_ctrl *ctrl);
/*
 * annex_admin_run() - One command. The status field of its completion (0: success), or -ENODEV,
 * -ETIMEDOUT, -EIO (it is broken, or the controller reports a fatal status).
 */
int annex_admin_run(struct annex_ctrl *ctrl, struct nvme_command *cmd, u32 *result);
/* annex_admin_identify() - Identify, into @admin.data.at. As annex_admin_run(). */
int annex_admin_identify(struct annex_ctrl *ctrl, u8 cns, u32 nsid);

#endif
