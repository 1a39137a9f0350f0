/* SPDX-License-Identifier: MIT */
/*
 * pci: memory of CXL devices that are bound to annex.ko (include/uapi/annex.h).
 */
#ifndef ANNEX_HDM_PCI_H
#define ANNEX_HDM_PCI_H

#include <annex/uri.h>
#include "core/medium.h"

/**
 * hdm_pci_open() - Create the range of CXL memory devices that are bound to annex.ko, or join
 * the one that they have.
 * @uri: pci:DDDD:BB:DD.F[,DDDD:BB:DD.F...][?size=, granularity=, persistent=, m2func=]: several
 *	devices are interleaved, in this order; m2func of its bytes are not mapped, but had by
 *	hdm_piece_open().
 *
 * Return: 0; as annex_module_file(); -EPROTONOSUPPORT (another version of the module); -EINVAL;
 * -ENOMEM; -ENODEV (no memory device); -EBUSY, -ENOSPC, -EOPNOTSUPP as ANNEX_IOC_HDM_RANGE.
 */
int hdm_pci_open(const struct annex_uri *uri, uint32_t timeout_ms, struct annex_medium **out);

/**
 * struct hdm_piece - Uncached memory of a range, zeroed, that nobody else has.
 * @bytes: whole pages.
 * @fd: whose it is.
 */
struct hdm_piece {
	void *at;
	uint64_t bytes;
	int fd;
};

/**
 * hdm_piece_open() - Join a range, or create it, and have a piece of @out->bytes.
 * @uri: as for hdm_pci_open(), which needs nothing else of this.
 *
 * Return: as hdm_pci_open(); -ENOSPC: no such piece is left.
 */
int hdm_piece_open(const struct annex_uri *uri, struct hdm_piece *out);
void hdm_piece_close(struct hdm_piece *piece);

#endif
