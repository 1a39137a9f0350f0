/* SPDX-License-Identifier: MIT */
/*
 * Controllers and memory devices behind annex.ko: pci:DDDD:BB:DD.F (include/uapi/annex.h).
 */
#ifndef ANNEX_MODULE_MODULE_H
#define ANNEX_MODULE_MODULE_H

#include <annex/uri.h>
#include "../core/ctrl.h"
#include "../core/medium.h"

/**
 * annex_module_open() - Become the owner of a controller that is bound to annex.ko.
 * @uri: pci:DDDD:BB:DD.F[?wait=poll|sleep], other parameters left alone.
 * @out: the controller, enabled and without I/O queues, to be given back with its close().
 *
 * Return: 0; -ENOENT (no such controller, or not bound); -EBUSY (it has an owner); -EACCES, -EPERM;
 * -EPROTONOSUPPORT (another version of the module); -EINVAL, -ENODEV, -ENOMEM.
 */
int annex_module_open(const struct annex_uri *uri, struct annex_ctrl **out);

/**
 * annex_module_range() - Create the range of CXL memory devices that are bound to annex.ko, or join
 * the one that they have.
 * @uri: pci:DDDD:BB:DD.F[,DDDD:BB:DD.F...][?size=, granularity=, persistent=, m2func=]: several
 *	devices are interleaved, in this order; m2func of its bytes are not mapped, but had by
 *	annex_module_piece().
 *
 * Return: 0; as annex_module_open(); -ENODEV (no memory device); -EBUSY, -ENOSPC, -EOPNOTSUPP as
 * ANNEX_IOC_HDM_RANGE.
 */
int annex_module_range(const struct annex_uri *uri, struct annex_medium **out);

/**
 * struct annex_module_piece - Uncached memory of a range, zeroed, that nobody else has.
 * @bytes: whole pages. @fd: whose it is.
 */
struct annex_module_piece {
	void *at;
	uint64_t bytes;
	int fd;
};

/**
 * annex_module_piece() - Join a range, or create it, and have a piece of @out->bytes.
 * @uri: as for annex_module_range(), which needs nothing else of this.
 *
 * Return: as annex_module_range(); -ENOSPC: no such piece is left.
 */
int annex_module_piece(const struct annex_uri *uri, struct annex_module_piece *out);
void annex_module_piece_close(struct annex_module_piece *piece);

#endif
