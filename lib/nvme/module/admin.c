// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include "core/log.h"
#include "core/thread.h"
#include "module.h"

#define RECOVERY_MS 10000 /* of a controller whose PCI link had an error */

int module_identify(struct annex_ctrl *ctrl, uint32_t cns, uint32_t nsid, void *data)
{
	struct annex_ioc_identify args = {
		.size = sizeof(args), .cns = cns, .nsid = nsid, .data = (uintptr_t)data};
	struct module *p = module_of(ctrl);
	int err = module_call(p, ANNEX_IOC_IDENTIFY, &args, "identify");

	if (err == -EOPNOTSUPP)
		annex_fail(err,
			   "pci:%s: namespace %u has a format that cannot be used: the kernel's "
			   "log has the command that changes it",
			   p->name, nsid);
	return err;
}

int module_create(struct annex_ctrl *ctrl, uint16_t qid, uint32_t depth, uint64_t sq, uint64_t cq)
{
	struct module *p = module_of(ctrl);
	struct annex_ioc_queue args = {.size = sizeof(args),
				       .qid = qid,
				       .depth = depth,
				       .eventfd = module_eventfd(module_of(ctrl), qid)};
	uint64_t sq_offset, cq_offset;
	int err = module_find(p, sq, &args.sq_map, &sq_offset);

	if (!err)
		err = module_find(p, cq, &args.cq_map, &cq_offset);
	if (err)
		return annex_fail(err, "pci:%s: a queue in memory that is not mapped", p->name);
	args.sq_offset = sq_offset;
	args.cq_offset = cq_offset;
	return module_call(p, ANNEX_IOC_QUEUE_CREATE, &args, "creating a queue pair");
}

int module_destroy(struct annex_ctrl *ctrl, uint16_t qid)
{
	struct annex_ioc_qid args = {.size = sizeof(args), .qid = qid};
	struct module *p = module_of(ctrl);
	int err = module_call(p, ANNEX_IOC_QUEUE_DELETE, &args, "deleting a queue pair");

	module_settle(p); /* -EIO: it was reset for that */
	return err;
}

int module_abort(struct annex_ctrl *ctrl, uint16_t qid, uint16_t cid, bool *aborted)
{
	struct annex_ioc_abort args = {.size = sizeof(args), .qid = qid, .cid = cid};
	int err = module_call(module_of(ctrl), ANNEX_IOC_ABORT, &args, "abort");

	*aborted = !err && args.aborted;
	return err;
}

int module_reset(struct annex_ctrl *ctrl)
{
	struct module *p = module_of(ctrl);
	struct pollfd fd = {.fd = p->fd, .events = POLLOUT};
	int err = module_call(p, ANNEX_IOC_RESET, NULL, "reset");

	if (err == -EAGAIN && THREAD_KEPT(poll(&fd, 1, RECOVERY_MS)) > 0)
		err = module_call(p, ANNEX_IOC_RESET, NULL, "reset");
	module_settle(p);
	return err;
}
