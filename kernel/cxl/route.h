/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The way from a window to the devices of a range: host bridges and switches, whose decoders ranges
 * share. All of it under the ranges' lock.
 */
#ifndef ANNEX_ROUTE_H
#define ANNEX_ROUTE_H

#include <linux/pci.h>
#include <uapi/annex.h>
#include "decoder.h"
#include "window.h"

#define ANNEX_ROUTE_DEPTH 4 /* a host bridge and switches */
#define ANNEX_ROUTE_HOPS (ANNEX_HDM_MEMBERS * ANNEX_ROUTE_DEPTH)

struct annex_port;

/**
 * struct annex_hop - A port on the way.
 * @level: how far below the window. @first: the lowest member below it.
 * @above: interleave ways of what is above it. @ways: its own.
 * @list: its targets.
 * @id: its decoder, if @live.
 */
struct annex_hop {
	struct annex_port *port;
	u32 level, first, above, ways;
	u64 list;
	u32 id;
	bool live;
};

/**
 * struct annex_route - The way to the members of a range, which has @n.
 * @uid: of each one's host bridge.
 * @at: of each one, by level: which hop, and by which of its ports.
 * @depth: of each one.
 * @hops: from the top to the bottom, @nhops of them.
 */
struct annex_route {
	unsigned int n;
	u32 uid[ANNEX_HDM_MEMBERS];
	struct {
		u32 hop;
		u8 target;
	} at[ANNEX_HDM_MEMBERS][ANNEX_ROUTE_DEPTH];
	u32 depth[ANNEX_HDM_MEMBERS];
	struct annex_hop hops[ANNEX_ROUTE_HOPS];
	unsigned int nhops;
};

/*
 * annex_route_find() - What is between the windows and @n devices. -EBUSY: decoders of another
 * driver's; -EOPNOTSUPP: no CXL there; -EINVAL, -ENXIO: registers that cannot be. With a line.
 */
int annex_route_find(struct annex_route *r, struct pci_dev *const *members, unsigned int n);
void annex_route_drop(struct annex_route *r);
/*
 * annex_route_plan() - Whether a window leads to the members in their order: -EOPNOTSUPP if not.
 */
int annex_route_plan(struct annex_route *r, const struct annex_window *w);
/* annex_route_end() - First address above all that its decoders cover. */
u64 annex_route_end(const struct annex_route *r);
/*
 * annex_route_commit() - Program the decoders on the way; all or none, but -ENOTRECOVERABLE as for
 * one decoder.
 */
int annex_route_commit(struct annex_route *r, u64 base, u64 bytes, u32 granularity);
/* annex_route_release() - Take them back. -ENOTRECOVERABLE: one of them stays. */
int annex_route_release(struct annex_route *r);
int annex_route_show(const struct annex_route *r, char *buf, int at);
/*
 * annex_route_taken() - What the decoders on this way, and those of all memory devices of this
 * machine, cover. How many, for kfree().
 */
int annex_route_taken(const struct annex_route *r, struct annex_taken **taken);

#endif
