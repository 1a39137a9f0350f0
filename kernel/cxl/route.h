/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The route from a window to the devices of a range: host bridges and switches, whose decoders
 * ranges share. The decoders' lock (range.h) protects all of this.
 */
#ifndef ANNEX_ROUTE_H
#define ANNEX_ROUTE_H

#include <linux/pci.h>
#include <uapi/annex_hdm.h>
#include "decoder.h"
#include "window.h"

#define ANNEX_ROUTE_DEPTH 4 /* a host bridge and switches */
#define ANNEX_ROUTE_HOPS (ANNEX_HDM_MEMBERS * ANNEX_ROUTE_DEPTH)

struct annex_port;

/**
 * struct annex_hop - A host bridge or a switch on a route.
 * @port: the bridge or switch.
 * @level: number of hops above it.
 * @first: lowest index of a member below it.
 * @above: product of the interleave ways of the window and the hops above it.
 * @ways: interleave ways of its decoder.
 * @list: target list of its decoder.
 * @id: number of its decoder, if @live.
 * @live: its decoder is committed.
 */
struct annex_hop {
	struct annex_port *port;
	u32 level, first, above, ways;
	u64 list;
	u32 id;
	bool live;
};

/**
 * struct annex_route - The route to the members of a range.
 * @n: number of members.
 * @uid: _UID of each member's host bridge.
 * @at: for each member and level, the index of the hop, and the port of it that leads to the
 * member.
 * @depth: number of hops above each member.
 * @hops: all hops, from the top to the bottom.
 * @nhops: number of hops.
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
 * annex_route_find() - Find the hops between the windows and @n devices. -EBUSY: another driver
 * owns their decoders; -EOPNOTSUPP: a hop without CXL; -EINVAL, -ENXIO: impossible registers.
 * Errors have a line.
 */
int annex_route_find(struct annex_route *r, struct pci_dev *const *members, unsigned int n);
void annex_route_put(struct annex_route *r);
/* annex_route_plan() - Check that a window leads to the members in their order. -EOPNOTSUPP. */
int annex_route_plan(struct annex_route *r, const struct annex_window *w);
/* annex_route_end() - First address above all that its decoders cover. */
u64 annex_route_end(const struct annex_route *r);
/*
 * annex_route_commit() - Commit a decoder of each hop; all or none. Errors as
 * annex_decoder_commit().
 */
int annex_route_commit(struct annex_route *r, u64 base, u64 bytes, u32 granularity);
/* annex_route_release() - Release the decoders. -ENOTRECOVERABLE: one stays committed. */
int annex_route_release(struct annex_route *r);
/* annex_route_show() - Print a line for each committed decoder on the route. */
void annex_route_show(const struct annex_route *r, struct seq_file *to);
/*
 * annex_route_taken() - List the host addresses that decoders of this route, and of all memory
 * devices of this machine, cover. Returns their number; @taken is for kfree().
 */
int annex_route_taken(const struct annex_route *r, struct annex_taken **taken);

#endif
