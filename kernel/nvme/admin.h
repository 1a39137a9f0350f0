/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The admin queue (NVMe Base 2.0 section 5).
 *
 * The admin queue is in the owner's IOMMU domain, and its doorbells share a page with the owner's
 * doorbells. A hostile owner can ring them at any time, and can have the controller write to any
 * address that the domain lets it write. The submission queue is therefore mapped for reading only,
 * the completion queue and the data page for writing only. Unused entries hold a reserved opcode,
 * which every controller refuses, and an unexpected completion leads to a reset.
 */
#ifndef ANNEX_ADMIN_H
#define ANNEX_ADMIN_H

#include <linux/types.h>
#include "space.h"

struct annex_ctrl;
struct nvme_command;

#define ANNEX_ADMIN_DEPTH 32u

/**
 * struct annex_admin - The queue pair, and a page for the data of its commands.
 * @sq: submission queue.
 * @cq: completion queue.
 * @data: data page.
 * @tail: tail of the submission queue.
 * @head: head of the completion queue.
 * @next: identifier of the next command.
 * @phase: phase tag of the next completion.
 * @broken: a completion was unexpected or late; cleared by a reset.
 * @request: request the next asynchronous event before the next command.
 * @requested: the controller has an Asynchronous Event Request.
 * @happened: it has completed one.
 * @event: dword 0 of that completion.
 */
struct annex_admin {
	struct annex_area sq, cq, data;
	u16 tail, head, next;
	u8 phase;
	bool broken;
	bool request, requested, happened;
	u32 event;
};

int annex_admin_init(struct annex_ctrl *ctrl);
void annex_admin_exit(struct annex_ctrl *ctrl);
/*
 * annex_admin_begin() - Empty the queues, and program their addresses into a controller that is
 * disabled. 0 or -ENOMEM.
 */
int annex_admin_begin(struct annex_ctrl *ctrl);
/*
 * annex_admin_run() - Run a command. Returns the status field of its completion (0: success), or
 * -ENODEV, -ETIMEDOUT, -EIO (the queue is broken, or the controller reports a fatal status).
 */
int annex_admin_run(struct annex_ctrl *ctrl, struct nvme_command *cmd, u32 *result);
/*
 * annex_admin_read() - Run a command that writes up to a page of data to @admin.data.at. Returns as
 * annex_admin_run().
 */
int annex_admin_read(struct annex_ctrl *ctrl, struct nvme_command *cmd);
/*
 * annex_admin_drain() - Take the completion of an event request, if there is one, from a queue that
 * is not broken. 0; -ENODEV, -EIO as annex_admin_run(), and for any other completion.
 */
int annex_admin_drain(struct annex_ctrl *ctrl);
/* annex_admin_identify() - annex_admin_read() of Identify. */
int annex_admin_identify(struct annex_ctrl *ctrl, u8 cns, u32 nsid);

#endif
