/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The HDM decoders of a component: an endpoint, a switch's upstream port, a host bridge (CXL 3.1
 * section 8.2.4.20). Decoders are committed in ascending order, of number and of address, and
 * decommitted from the top: a released decoder waits until all decoders above it are released.
 */
#ifndef ANNEX_DECODER_H
#define ANNEX_DECODER_H

#include <linux/types.h>

struct seq_file;

/**
 * struct annex_setup - The settings of a decoder.
 * @base: first host address.
 * @bytes: host addresses that it decodes.
 * @ways: targets that it interleaves.
 * @granularity: bytes on one target before the next.
 * @list: target list, a byte for each port; for an endpoint the DPA skip.
 */
struct annex_setup {
	u64 base, bytes;
	u32 ways, granularity;
	u64 list;
};

/**
 * struct annex_decoders - The decoders of a component. The decoders' lock (range.h) protects it.
 * @regs: mapped registers; NULL: the component is gone.
 * @phys: physical address of the registers.
 * @name: name of the component, for lines in the log.
 * @cap: HDM decoder capability register.
 * @count: number of decoders.
 * @targets: most targets of a decoder; 0: an endpoint.
 * @enabled: this driver has set HDM Decoder Enable.
 * @committed: bitmap of decoders that this driver has committed.
 * @released: of @committed, released decoders that are below a live one, or that refused to be
 *	decommitted.
 * @reported: of @released, decoders that were reported by -ENOTRECOVERABLE.
 */
struct annex_decoders {
	void __iomem *regs;
	phys_addr_t phys;
	const char *name;
	u32 cap, count, targets;
	bool enabled;
	u32 committed, released, reported;
};

/* annex_decoders_count() - Decoders that a capability register declares; 0: a reserved value. */
u32 annex_decoders_count(u32 cap);
/*
 * annex_decoders_init() - Describe the decoders at offset @at of the capabilities that are mapped
 * at @cm and have the physical address @phys.
 */
void annex_decoders_init(struct annex_decoders *d, void __iomem *cm, u32 at, phys_addr_t phys,
			 const char *name, bool endpoint);
/*
 * annex_decoder_commit() - Program the next free decoder, and enable HDM decoding. @id: its number.
 * Errors have a line, and leave the component as it was: -ENOSPC (no free decoder), -EPERM
 * (locked), -EBUSY (committed out of order), -EOPNOTSUPP (no such interleaving, or memory that is
 * device-coherent only), -EIO (refused), -ETIMEDOUT, -ENODEV; but with -ENOTRECOVERABLE the decoder
 * stays committed.
 */
int annex_decoder_commit(struct annex_decoders *d, const struct annex_setup *setup, u32 *id);
/*
 * annex_decoder_release() - Decommit a decoder, and all released ones below it. 0: also when it
 * waits for a decoder of this driver above it, whose release decommits both. -ENOTRECOVERABLE: the
 * decoder, or one that waited for it, stays committed, since it refuses, or since another driver's
 * decoder is above it: its host addresses cannot be used again.
 */
int annex_decoder_release(struct annex_decoders *d, u32 id);
/* annex_decoders_next() - Number of the next free decoder; errors as annex_decoder_commit(). */
int annex_decoders_next(struct annex_decoders *d);
/* annex_decoders_on() - Whether HDM decoding is on. */
bool annex_decoders_on(const struct annex_decoders *d);
/* annex_decoders_end() - First host address above all committed decoders: the least next base. */
u64 annex_decoders_end(const struct annex_decoders *d);
/* annex_decoders_used() - End of the device addresses that an endpoint's decoders cover. */
u64 annex_decoders_used(const struct annex_decoders *d);
/* annex_decoder_range() - Host addresses of decoder @id; false: it is not committed. */
bool annex_decoder_range(const struct annex_decoders *d, u32 id, u64 *base, u64 *bytes);
/* annex_decoder_holds() - Whether decoder @id is committed to these host addresses. */
bool annex_decoder_holds(const struct annex_decoders *d, u32 id, u64 base, u64 bytes);
/* annex_decoders_show() - Write a line for each committed decoder. */
void annex_decoders_show(const struct annex_decoders *d, struct seq_file *to);

#endif
