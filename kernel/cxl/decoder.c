// SPDX-License-Identifier: GPL-2.0
/*
 * HDM decoders: commit and release (CXL 3.1 section 8.2.4.20). Owns the decoders that this driver
 * has committed in a component.
 */
#include <linux/bitfield.h>
#include <linux/io.h>
#include <linux/iopoll.h>
#include <linux/log2.h>
#include <linux/overflow.h>
#include <linux/seq_file.h>
#include <uapi/annex_hdm.h>
#include "cxl.h"
#include "decoder.h"
#include "trace.h"

#define COMMIT_US (20 * USEC_PER_MSEC) /* the specification allows 10 ms (8.2.4.20.12) */
#define POLL_US 100
#define GRANULARITY_SHIFT 8

#define say(d, fmt, ...) pr_notice_ratelimited("annex: %s: " fmt "\n", (d)->name, ##__VA_ARGS__)

u32 annex_decoders_count(u32 cap)
{
	u32 n = FIELD_GET(CXL_HDM_CAP_COUNT, cap);

	return !n ? 1 : n <= 8 ? 2 * n : n <= 12 ? 4 * n - 16 : 0;
}

void annex_decoders_init(struct annex_decoders *d, void __iomem *cm, u32 at, phys_addr_t phys,
			 const char *name, bool endpoint)
{
	d->regs = cm + at;
	d->phys = phys + at;
	d->name = name;
	d->cap = readl(d->regs + CXL_HDM_CAP);
	d->count = annex_decoders_count(d->cap);
	/* The count may differ from the one that annex_regs_find_hdm() read. */
	while (d->count && CXL_HDM_BYTES(d->count) > CXL_CM_BYTES - at)
		d->count--;
	d->targets = endpoint ? 0 : clamp_t(u32, FIELD_GET(CXL_HDM_CAP_TARGETS, d->cap), 1, 8);
}

static void __iomem *decoder(const struct annex_decoders *d, u32 id)
{
	return d->regs + CXL_HDM_DECODER(id);
}

static u64 decoder_read_pair(void __iomem *at)
{
	return (u64)readl(at + 4) << 32 | readl(at);
}

static void decoder_write_pair(u64 value, void __iomem *at)
{
	writel(upper_32_bits(value), at + 4);
	writel(lower_32_bits(value), at);
}

static bool decoder_committed(u32 ctrl)
{
	return ctrl != U32_MAX && ctrl & CXL_DEC_CTRL_COMMITTED;
}

bool annex_decoder_range(const struct annex_decoders *d, u32 id, u64 *base, u64 *bytes)
{
	if (!decoder_committed(readl(decoder(d, id) + CXL_DEC_CTRL)))
		return false;
	*base = decoder_read_pair(decoder(d, id) + CXL_DEC_BASE);
	/* Do not trust the size: it may reach beyond the last address. */
	*bytes = min(decoder_read_pair(decoder(d, id) + CXL_DEC_SIZE), U64_MAX - *base);
	return true;
}

bool annex_decoder_holds(const struct annex_decoders *d, u32 id, u64 base, u64 bytes)
{
	u64 its_base, its_bytes;

	return annex_decoder_range(d, id, &its_base, &its_bytes) && its_base == base &&
	       its_bytes == bytes;
}

int annex_decoders_next(struct annex_decoders *d)
{
	u32 next = d->count, ctrl;

	for (u32 i = 0; i < d->count; i++) {
		ctrl = readl(decoder(d, i) + CXL_DEC_CTRL);
		if (ctrl == U32_MAX) {
			say(d, "it does not answer");
			return -ENODEV;
		}
		if (!(ctrl & (CXL_DEC_CTRL_COMMITTED | CXL_DEC_CTRL_COMMIT))) {
			next = min(next, i);
		} else if (next < i) {
			say(d, "decoder %u is committed, but not decoder %u", i, next);
			return -EBUSY;
		}
	}
	if (next == d->count) {
		say(d, "all %u decoders are in use", d->count);
		return -ENOSPC;
	}
	if (readl(decoder(d, next) + CXL_DEC_CTRL) & CXL_DEC_CTRL_LOCK) {
		say(d, "decoder %u is locked by firmware", next);
		return -EPERM;
	}
	return next;
}

u64 annex_decoders_end(const struct annex_decoders *d)
{
	u64 end = 0, base, bytes;

	for (u32 i = 0; i < d->count; i++)
		if (annex_decoder_range(d, i, &base, &bytes))
			end = max(end, base + bytes);
	return end;
}

static u32 decoder_ways_of(u32 ctrl)
{
	u32 code = FIELD_GET(CXL_DEC_CTRL_WAYS, ctrl);

	return code < 8 ? 1u << code : 3u << (code - 8);
}

u64 annex_decoders_used(const struct annex_decoders *d)
{
	u64 used = 0, base, bytes;

	for (u32 i = 0; i < d->count; i++) {
		if (!annex_decoder_range(d, i, &base, &bytes))
			continue;
		bytes = div_u64(bytes, decoder_ways_of(readl(decoder(d, i) + CXL_DEC_CTRL)));
		/* On overflow all addresses are in use. */
		if (check_add_overflow(used, decoder_read_pair(decoder(d, i) + CXL_DEC_LIST),
				       &used) ||
		    check_add_overflow(used, bytes, &used))
			return U64_MAX;
	}
	return used;
}

/* The component must be able to choose targets by the address bits of this interleave. */
static bool decoder_can_interleave(const struct annex_decoders *d, const struct annex_setup *setup)
{
	u32 first = ilog2(setup->granularity), end = first + ilog2(setup->ways);

	for (u32 bit = first; bit < end; bit++)
		if (bit > 14 || !(d->cap & (bit < 12 ? CXL_HDM_CAP_BITS_8 : CXL_HDM_CAP_BITS_12)))
			return false;
	return setup->granularity <= ANNEX_HDM_GRANULARITY_MAX &&
	       (!d->targets || setup->ways <= d->targets);
}

/*
 * Ranges are HDM-H. A device that also supports HDM-DB is used as HDM-H; a device with HDM-D or
 * HDM-DB alone would need a host that answers its snoops.
 */
static bool decoder_can_be_host_only(const struct annex_decoders *d)
{
	return d->targets || FIELD_GET(CXL_HDM_CAP_MODELS, d->cap) != CXL_HDM_CAP_DEVICE_ONLY;
}

/* Do not change a decoder that stays committed: its addresses would lead elsewhere. */
static int decoder_clear(struct annex_decoders *d, u32 id, u32 ctrl)
{
	void __iomem *at = decoder(d, id);

	ctrl &= ~(CXL_DEC_CTRL_COMMIT | CXL_DEC_CTRL_WAYS | CXL_DEC_CTRL_GRANULARITY |
		  CXL_DEC_CTRL_HOST_ONLY);
	writel(ctrl, at + CXL_DEC_CTRL);
	if (readl_poll_timeout(at + CXL_DEC_CTRL, ctrl, !decoder_committed(ctrl), POLL_US,
			       COMMIT_US)) {
		say(d, "decoder %u stays committed", id);
		return -ENOTRECOVERABLE;
	}
	decoder_write_pair(0, at + CXL_DEC_SIZE);
	decoder_write_pair(0, at + CXL_DEC_BASE);
	decoder_write_pair(0, at + CXL_DEC_LIST);
	return 0;
}

static void decoder_enable(struct annex_decoders *d)
{
	u32 ctrl = readl(d->regs + CXL_HDM_CTRL);

	if (!(ctrl & CXL_HDM_CTRL_ENABLE)) {
		writel(ctrl | CXL_HDM_CTRL_ENABLE, d->regs + CXL_HDM_CTRL);
		d->enabled = true;
	}
}

bool annex_decoders_on(const struct annex_decoders *d)
{
	return readl(d->regs + CXL_HDM_CTRL) & CXL_HDM_CTRL_ENABLE;
}

static void decoder_disable(struct annex_decoders *d)
{
	if (d->committed || !d->enabled)
		return;
	writel(readl(d->regs + CXL_HDM_CTRL) & ~CXL_HDM_CTRL_ENABLE, d->regs + CXL_HDM_CTRL);
	d->enabled = false;
}

static int decoder_wait_commit(void __iomem *at)
{
	u32 ctrl;
	int err = readl_poll_timeout(at + CXL_DEC_CTRL, ctrl,
				     ctrl & (CXL_DEC_CTRL_COMMITTED | CXL_DEC_CTRL_ERROR), POLL_US,
				     COMMIT_US);

	if (ctrl == U32_MAX)
		return -ENODEV;
	return err ? err : ctrl & CXL_DEC_CTRL_ERROR ? -EIO : 0;
}

int annex_decoder_commit(struct annex_decoders *d, const struct annex_setup *setup, u32 *id)
{
	int next = annex_decoders_next(d), err;
	void __iomem *at;
	u32 ctrl;

	if (next < 0)
		return next;
	if (!decoder_can_interleave(d, setup)) {
		say(d, "it cannot interleave %u ways by %u bytes", setup->ways, setup->granularity);
		return -EOPNOTSUPP;
	}
	if (!decoder_can_be_host_only(d)) {
		say(d, "its memory is coherent by the device only (HDM-D or HDM-DB)");
		return -EOPNOTSUPP;
	}
	decoder_enable(d);
	at = decoder(d, next);
	decoder_write_pair(setup->base, at + CXL_DEC_BASE);
	decoder_write_pair(setup->bytes, at + CXL_DEC_SIZE);
	decoder_write_pair(setup->list, at + CXL_DEC_LIST);
	ctrl = readl(at + CXL_DEC_CTRL) &
	       ~(CXL_DEC_CTRL_WAYS | CXL_DEC_CTRL_GRANULARITY | CXL_DEC_CTRL_BI | CXL_DEC_CTRL_UIO);
	ctrl |= FIELD_PREP(CXL_DEC_CTRL_WAYS, ilog2(setup->ways)) |
		FIELD_PREP(CXL_DEC_CTRL_GRANULARITY,
			   ilog2(setup->granularity) - GRANULARITY_SHIFT) |
		CXL_DEC_CTRL_HOST_ONLY | CXL_DEC_CTRL_COMMIT;
	writel(ctrl, at + CXL_DEC_CTRL);
	err = decoder_wait_commit(at);
	trace_annex_hdm_commit(d->name, next, setup->base, setup->bytes, err);
	if (err) {
		say(d, "decoder %d does not take 0x%llx + 0x%llx: error %d", next, setup->base,
		    setup->bytes, err);
		if (decoder_clear(d, next, readl(at + CXL_DEC_CTRL))) {
			d->committed |= BIT(next);
			d->released |= BIT(next);
			d->reported |= BIT(next);
			err = -ENOTRECOVERABLE;
		}
		decoder_disable(d);
		return err;
	}
	d->committed |= BIT(next);
	*id = next;
	return 0;
}

static void decoder_forget(struct annex_decoders *d, u32 id)
{
	d->committed &= ~BIT(id);
	d->released &= ~BIT(id);
	d->reported &= ~BIT(id);
}

/* A reset or the removal of a component decommits its decoders. */
static void decoder_forget_reset(struct annex_decoders *d)
{
	for (u32 i = 0; i < d->count; i++)
		if (d->released & BIT(i) && !decoder_committed(readl(decoder(d, i) + CXL_DEC_CTRL)))
			decoder_forget(d, i);
}

int annex_decoder_release(struct annex_decoders *d, u32 id)
{
	u64 base, bytes;
	int err = 0;
	u32 left;

	d->released |= BIT(id);
	if (!d->regs)
		return 0;
	if (readl(d->regs + CXL_HDM_CTRL) == U32_MAX)
		say(d, "it does not answer: its decoders are lost");
	decoder_forget_reset(d);
	for (u32 i = d->count; i-- > 0 && !err;) {
		if (!annex_decoder_range(d, i, &base, &bytes))
			continue;
		if (!(d->committed & d->released & BIT(i)))
			break;
		err = decoder_clear(d, i, readl(decoder(d, i) + CXL_DEC_CTRL));
		trace_annex_hdm_decommit(d->name, i, base, bytes, err);
		if (!err)
			decoder_forget(d, i);
	}
	decoder_disable(d);
	/* Other decoders that stay committed are reported by their own release. */
	left = err ? d->committed & BIT(id) : 0;
	if (!(d->committed & ~d->released))
		left |= d->committed & ~d->reported; /* no later release would report them */
	d->reported |= left;
	return left ? -ENOTRECOVERABLE : 0;
}

void annex_decoders_show(const struct annex_decoders *d, struct seq_file *to)
{
	u64 base, bytes;

	for (u32 i = 0; i < d->count; i++) {
		if (!annex_decoder_range(d, i, &base, &bytes))
			continue;
		seq_printf(to, "%s %u at 0x%llx base 0x%llx bytes 0x%llx ctrl 0x%08x list 0x%llx\n",
			   d->name, i, (u64)d->phys + CXL_HDM_DECODER(i), base, bytes,
			   readl(decoder(d, i) + CXL_DEC_CTRL),
			   decoder_read_pair(decoder(d, i) + CXL_DEC_LIST));
	}
}
