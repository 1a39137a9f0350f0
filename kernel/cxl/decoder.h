/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The HDM decoders of a component: an endpoint, a switch's upstream port, a host bridge (CXL 3.1
 * section 8.2.4.20). They are committed in ascending order, of number and of address, and given
 * back from the top: one that is not the last any more waits for those above it.
 */
#ifndef ANNEX_DECODER_H
#define ANNEX_DECODER_H

#include <linux/types.h>

/**
 * struct annex_setup - What a decoder is told.
 * @base, @bytes: host addresses. @ways, @granularity: of the interleaving that it resolves.
 * @list: a byte for each target; of an endpoint: how many device addresses lie unused before.
 */
struct annex_setup {
	u64 base, bytes;
	u32 ways, granularity;
	u64 list;
};

/**
 * struct annex_decoders - The decoders of a component. Under the ranges' lock.
 * @regs: their registers, @phys: where these are for the CPU. NULL: the component is gone.
 * @name: the component's, for lines in the log.
 * @cap: their capability. @count: how many. @targets: most targets of one; 0: an endpoint.
 * @enabled: they were enabled here.
 * @ours: those committed here. @ended: of these, those that wait for others above them, or that
 *	did not do as they were told. @lost: of these, those that somebody was told will stay.
 */
struct annex_decoders {
	void __iomem *regs;
	phys_addr_t phys;
	const char *name;
	u32 cap, count, targets;
	bool enabled;
	u32 ours, ended, lost;
};

/* annex_decoders_count() - How many a capability register declares; 0: a reserved number. */
u32 annex_decoders_count(u32 cap);
/* annex_decoders_init() - Those at @at of capabilities mapped at @cm, which are at @phys. */
void annex_decoders_init(struct annex_decoders *d, void __iomem *cm, u32 at, phys_addr_t phys,
			 const char *name, bool endpoint);
/*
 * annex_decoder_commit() - Program the next free one, and enable all. Its number in @id, or
 * -ENOSPC (none is free), -EPERM (locked), -EBUSY (out of order already), -EOPNOTSUPP (it cannot
 * interleave like that), -EIO (refused), -ETIMEDOUT, -ENODEV. With a line, and as it was; but
 * -ENOTRECOVERABLE: it took only some of it and does not give that up.
 */
int annex_decoder_commit(struct annex_decoders *d, const struct annex_setup *setup, u32 *id);
/*
 * annex_decoder_release() - Take it back; 0 also if it waits for one of ours above it, to be taken
 * back with that. -ENOTRECOVERABLE: it, or one above, stays committed: its addresses go on leading
 * to its memory, and may be nobody else's. So the last of ours answers for those that waited for
 * it, when they stay, or when another driver's are above them.
 */
int annex_decoder_release(struct annex_decoders *d, u32 id);
/* annex_decoders_next() - Number of the next free one, or as annex_decoder_commit(). */
int annex_decoders_next(struct annex_decoders *d);
/* annex_decoders_end() - First address above all that is committed: the next base is not lower. */
u64 annex_decoders_end(const struct annex_decoders *d);
/* annex_decoders_used() - Device addresses up to which all is committed, of an endpoint. */
u64 annex_decoders_used(const struct annex_decoders *d);
/* annex_decoder_range() - What decoder @id covers, if it is committed. */
bool annex_decoder_range(const struct annex_decoders *d, u32 id, u64 *base, u64 *bytes);
/* annex_decoders_show() - A line for each that is committed. The bytes written to @buf. */
int annex_decoders_show(const struct annex_decoders *d, char *buf, int at);

#endif
