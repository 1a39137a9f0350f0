/* SPDX-License-Identifier: MIT */
/*
 * pci: memory of CXL devices that are bound to annex.ko (include/uapi/annex.h).
 */
#ifndef ANNEX_HDM_PCI_H
#define ANNEX_HDM_PCI_H

#include <annex/uri.h>
#include "core/medium.h"

/**
 * struct hdm_piece - Uncached memory of a range, zeroed, of this process alone.
 * @bytes: whole pages.
 * @at: where it is mapped; the mapping keeps it.
 * @fd: file of its first device.
 */
struct hdm_piece {
	void *at;
	uint64_t bytes;
	int fd;
};

/**
 * hdm_piece_open() - Join a range, or create it, and have a piece of @out->bytes.
 * @uri: pci:DDDD:BB:DD.F[,DDDD:BB:DD.F...][?size=, granularity=, persistent=, m2func=, piece=]:
 *	several devices are interleaved, in this order; m2func of its bytes are not mapped with the
 *	range, but given out by this.
 *
 * Return: 0; as annex_module_file(); -EPROTONOSUPPORT (another version of the module); -EINVAL;
 * -ENOMEM; -ENODEV (no memory device); -EBUSY, -EOPNOTSUPP as ANNEX_IOC_HDM_RANGE; -ENOSPC (as
 * that, or no such piece is left).
 */
int hdm_piece_open(const struct annex_uri *uri, struct hdm_piece *out);
void hdm_piece_close(struct hdm_piece *piece);
/*
 * hdm_piece_beside() - Whether @m is memory of the same range; then *@offset is where @addr is in
 * the range: calls of a device use such offsets.
 */
bool hdm_piece_beside(const struct hdm_piece *piece, const struct annex_medium *m, const char *addr,
		      uint64_t *offset);

#endif
