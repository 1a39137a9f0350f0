// SPDX-License-Identifier: MIT
/*
 * Decoders that firmware or other drivers have locked or committed, and decoders that do not obey:
 * the module refuses to program them, and leaves their registers unchanged.
 */
#include "rig.h"
#include "tests/unit/unit.h"

#define BASE (8ull << 30)
#define MOST 4

static u8 before[CXL_HDM_BYTES(MOST)];
static u32 id;

static void *decoder(u32 i)
{
	return rig_register(0, CXL_CM + RIG_HDM + CXL_HDM_DECODER(i));
}

static void set(u32 i, u64 base, u64 bytes, u32 ctrl)
{
	memcpy(decoder(i) + CXL_DEC_BASE, &base, sizeof(base));
	memcpy(decoder(i) + CXL_DEC_SIZE, &bytes, sizeof(bytes));
	memcpy(decoder(i) + CXL_DEC_CTRL, &ctrl, sizeof(ctrl));
}

static void begin(void)
{
	rig_make();
	CU_ASSERT_EQUAL_FATAL(rig_start(), 0);
}

static bool is_unchanged(void)
{
	return !memcmp(before, rig_register(0, CXL_CM + RIG_HDM), sizeof(before));
}

static int commit(u32 ways, u32 granularity)
{
	struct annex_setup setup = {.base = BASE,
				    .bytes = RIG_BYTES,
				    .ways = ways,
				    .granularity = granularity,
				    .list = annex_decoders_used(&rig.decoders)};

	memcpy(before, rig_register(0, CXL_CM + RIG_HDM), sizeof(before));
	return annex_decoder_commit(&rig.decoders, &setup, &id);
}

/* The commit fails with one line, and leaves the registers unchanged. */
static void refused(int err)
{
	CU_ASSERT_EQUAL(commit(1, 256), err);
	CU_ASSERT_EQUAL(shim.lines, 1);
	CU_ASSERT(is_unchanged());
	CU_ASSERT(shim.us < USEC_PER_SEC);
	rig_over();
}

static void committed(void)
{
	u64 base, bytes;

	begin();
	CU_ASSERT_EQUAL(commit(2, 512), 0);
	CU_ASSERT_EQUAL(id, 0);
	CU_ASSERT(annex_decoder_range(&rig.decoders, 0, &base, &bytes));
	CU_ASSERT(base == BASE && bytes == RIG_BYTES);
	CU_ASSERT_EQUAL(annex_decoders_end(&rig.decoders), BASE + RIG_BYTES);
	CU_ASSERT_EQUAL(annex_decoders_used(&rig.decoders), RIG_BYTES / 2);
	annex_decoder_release(&rig.decoders, id);
	CU_ASSERT(is_unchanged());
	CU_ASSERT_EQUAL(shim.lines, 0);
	rig_over();
}

static void locked(void)
{
	begin();
	set(0, 0, 0, CXL_DEC_CTRL_LOCK);
	refused(-EPERM);
}

/* A decoder of firmware stays as it is, below ours, and after ours is released. */
static void firmware(void)
{
	begin();
	set(0, 4ull << 30, SZ_256M, CXL_DEC_CTRL_LOCK | CXL_DEC_CTRL_COMMITTED);
	CU_ASSERT_EQUAL(annex_decoders_used(&rig.decoders), SZ_256M);
	CU_ASSERT_EQUAL(commit(1, 256), 0);
	CU_ASSERT_EQUAL(id, 1);
	annex_decoder_release(&rig.decoders, id);
	before[CXL_HDM_CTRL] = *(u8 *)rig_register(0, CXL_CM + RIG_HDM + CXL_HDM_CTRL);
	CU_ASSERT(is_unchanged());
	CU_ASSERT_EQUAL(shim.lines, 0);
	rig_over();
}

static void odd_places(void)
{
	begin();
	set(2, 4ull << 30, SZ_256M, CXL_DEC_CTRL_COMMITTED);
	refused(-EBUSY);
	begin();
	set(0, 4ull << 30, SZ_256M, CXL_DEC_CTRL_COMMIT); /* on its way */
	set(3, 6ull << 30, SZ_256M, CXL_DEC_CTRL_COMMITTED);
	refused(-EBUSY);
	begin();
	for (u32 i = 0; i < MOST; i++)
		set(i, (4ull + i) << 30, SZ_256M, CXL_DEC_CTRL_COMMITTED);
	refused(-ENOSPC);
}

static void stubborn(void)
{
	u64 base, bytes;
	u32 ctrl;

	begin();
	rig.error = true;
	CU_ASSERT_EQUAL(commit(1, 256), -EIO);
	CU_ASSERT_EQUAL(shim.lines, 1);
	memcpy(&ctrl, decoder(0) + CXL_DEC_CTRL, sizeof(ctrl));
	CU_ASSERT_EQUAL(ctrl & ~(u32)CXL_DEC_CTRL_ERROR, 0);
	memset(decoder(0) + CXL_DEC_CTRL, 0, sizeof(ctrl));
	CU_ASSERT(is_unchanged());
	rig_over();
	begin();
	shim.wrote = NULL;
	CU_ASSERT_EQUAL(commit(1, 256), -ETIMEDOUT);
	CU_ASSERT_EQUAL(shim.lines, 1);
	CU_ASSERT(is_unchanged());
	CU_ASSERT(shim.us < USEC_PER_SEC);
	shim.wrote = NULL;
	rig_over();
	begin();
	/* An error, and committed all the same. */
	rig.locked = true;
	rig.error = true;
	CU_ASSERT_EQUAL(commit(1, 256), -ENOTRECOVERABLE);
	CU_ASSERT_EQUAL(shim.lines, 2);
	CU_ASSERT(annex_decoder_range(&rig.decoders, 0, &base, &bytes));
	CU_ASSERT(base == BASE && bytes == RIG_BYTES);
	rig_over();
}

/* After a reset, a decoder that is committed to other addresses is not the range's any more. */
static void other_addresses(void)
{
	begin();
	CU_ASSERT_EQUAL(commit(1, 256), 0);
	CU_ASSERT(annex_decoder_holds(&rig.decoders, 0, BASE, RIG_BYTES));
	set(0, BASE + RIG_BYTES, RIG_BYTES, CXL_DEC_CTRL_COMMITTED);
	CU_ASSERT_FALSE(annex_decoder_holds(&rig.decoders, 0, BASE, RIG_BYTES));
	set(0, BASE, RIG_BYTES / 2, CXL_DEC_CTRL_COMMITTED);
	CU_ASSERT_FALSE(annex_decoder_holds(&rig.decoders, 0, BASE, RIG_BYTES));
	set(0, BASE, RIG_BYTES, 0);
	CU_ASSERT_FALSE(annex_decoder_holds(&rig.decoders, 0, BASE, RIG_BYTES));
	memset(decoder(0), 0xff, 0x20);
	CU_ASSERT_FALSE(annex_decoder_holds(&rig.decoders, 0, BASE, RIG_BYTES));
	set(0, 0, 0, 0);
	annex_decoder_release(&rig.decoders, 0);
	rig_over();
}

/* It keeps its addresses, and its release is retried when a decoder above it ends. */
static void stays(void)
{
	u64 base, bytes;

	begin();
	CU_ASSERT_EQUAL(commit(1, 256), 0);
	rig.locked = true;
	CU_ASSERT_EQUAL(annex_decoder_release(&rig.decoders, 0), -ENOTRECOVERABLE);
	CU_ASSERT_EQUAL(shim.lines, 1);
	CU_ASSERT(shim.us < USEC_PER_SEC);
	CU_ASSERT(annex_decoder_range(&rig.decoders, 0, &base, &bytes));
	CU_ASSERT(base == BASE && bytes == RIG_BYTES);
	CU_ASSERT_EQUAL(commit(1, 256), 0);
	CU_ASSERT_EQUAL(id, 1);
	rig.locked = false;
	CU_ASSERT_EQUAL(annex_decoder_release(&rig.decoders, 1), 0);
	CU_ASSERT_FALSE(annex_decoder_range(&rig.decoders, 1, &base, &bytes));
	CU_ASSERT_EQUAL(shim.lines, 1);
	CU_ASSERT_FALSE(annex_decoder_range(&rig.decoders, 0, &base, &bytes));
	CU_ASSERT_EQUAL(rig.decoders.committed, 0);
	rig_over();
}

/* A decoder below one that stays committed cannot be decommitted either. */
static void below(void)
{
	begin();
	CU_ASSERT_EQUAL(commit(1, 256), 0);
	CU_ASSERT_EQUAL(commit(1, 256), 0);
	CU_ASSERT_EQUAL(annex_decoder_release(&rig.decoders, 0), 0); /* waits */
	rig.locked = true;
	CU_ASSERT_EQUAL(annex_decoder_release(&rig.decoders, 1), -ENOTRECOVERABLE);
	CU_ASSERT_EQUAL(shim.lines, 1); /* of the upper one */
	CU_ASSERT_EQUAL(rig.decoders.committed, 3);
	CU_ASSERT_EQUAL(annex_decoder_release(&rig.decoders, 0), -ENOTRECOVERABLE);
	CU_ASSERT_EQUAL(rig.decoders.committed, 3);
	rig_over();
}

/* Two wait below another driver's decoder: the last release reports both. */
static void waits(void)
{
	begin();
	CU_ASSERT_EQUAL(commit(1, 256), 0);
	CU_ASSERT_EQUAL(commit(1, 256), 0);
	set(2, 16ull << 30, SZ_256M, CXL_DEC_CTRL_COMMITTED);
	CU_ASSERT_EQUAL(annex_decoder_release(&rig.decoders, 0), 0);
	CU_ASSERT_EQUAL(annex_decoder_release(&rig.decoders, 1), -ENOTRECOVERABLE);
	CU_ASSERT_EQUAL(rig.decoders.committed, 3);
	CU_ASSERT_EQUAL(rig.decoders.reported, 3);
	set(2, 0, 0, 0);
	CU_ASSERT_EQUAL(annex_decoder_release(&rig.decoders, 1), 0);
	CU_ASSERT_EQUAL(rig.decoders.committed, 0);
	CU_ASSERT_EQUAL(shim.lines, 0);
	rig_over();
}

/* The decoder above was reset: its release decommits the one that waits. */
static void stays_late(void)
{
	begin();
	CU_ASSERT_EQUAL(commit(1, 256), 0);
	CU_ASSERT_EQUAL(commit(1, 256), 0);
	CU_ASSERT_EQUAL(annex_decoder_release(&rig.decoders, 0), 0);
	set(1, 0, 0, 0);
	rig.locked = true;
	CU_ASSERT_EQUAL(annex_decoder_release(&rig.decoders, 1), -ENOTRECOVERABLE);
	CU_ASSERT_EQUAL(rig.decoders.committed, 1);
	CU_ASSERT_EQUAL(rig.decoders.reported, 1);
	rig.locked = false;
	set(0, 0, 0, 0);
	CU_ASSERT_EQUAL(commit(1, 256), 0);
	set(0, 0, 0, 0);
	CU_ASSERT_EQUAL(annex_decoder_release(&rig.decoders, id), 0);
	CU_ASSERT_EQUAL(rig.decoders.committed, 0);
	CU_ASSERT_EQUAL(shim.lines, 1);
	rig_over();
}

static void vanish(u8 *at)
{
	(void)at;
	memset(rig_register(0, CXL_CM + RIG_HDM), 0xff, sizeof(before));
}

static void gone(void)
{
	begin();
	vanish(NULL);
	CU_ASSERT_EQUAL(commit(1, 256), -ENODEV);
	CU_ASSERT_STRING_EQUAL(shim.line, "annex: device: it does not answer\n");
	CU_ASSERT_EQUAL(shim.lines, 1);
	CU_ASSERT_EQUAL(annex_decoders_end(&rig.decoders), 0);
	CU_ASSERT_EQUAL(annex_decoders_used(&rig.decoders), 0);
	rig_over();
}

/* The registers read as ones: the decoders are given up, with one line. */
static void goes(void)
{
	static const u8 nothing[sizeof(before)];

	begin();
	CU_ASSERT_EQUAL(commit(1, 256), 0);
	CU_ASSERT_EQUAL(commit(1, 256), 0);
	memset(rig_register(0, CXL_CM + RIG_HDM), 0xff, sizeof(before));
	CU_ASSERT_EQUAL(annex_decoder_release(&rig.decoders, 1), 0);
	CU_ASSERT_EQUAL(shim.lines, 1);
	CU_ASSERT_STRING_EQUAL(shim.line, "annex: device: it does not answer: its decoders are "
					  "lost\n");
	CU_ASSERT_EQUAL(annex_decoder_release(&rig.decoders, 0), 0);
	CU_ASSERT_EQUAL(rig.decoders.committed, 0);
	CU_ASSERT(shim.us < USEC_PER_SEC);
	memcpy(rig_register(0, CXL_CM + RIG_HDM), nothing, sizeof(nothing));
	CU_ASSERT_EQUAL(commit(1, 256), 0);
	CU_ASSERT_EQUAL(id, 0);
	CU_ASSERT_EQUAL(annex_decoder_release(&rig.decoders, 0), 0);
	rig_over();
}

/* The component disappears during a release. */
static void goes_meanwhile(void)
{
	begin();
	CU_ASSERT_EQUAL(commit(1, 256), 0);
	shim.wrote = vanish;
	CU_ASSERT_EQUAL(annex_decoder_release(&rig.decoders, 0), 0);
	CU_ASSERT_EQUAL(rig.decoders.committed, 0);
	CU_ASSERT(shim.us < USEC_PER_SEC);
	rig_over();
}

static void cannot_interleave(void)
{
	u32 cap = 2; /* four decoders, and no bits of addresses */

	begin();
	CU_ASSERT_EQUAL(commit(16, 16384), -EOPNOTSUPP); /* by bits beyond the last one */
	CU_ASSERT_EQUAL(shim.lines, 1);
	CU_ASSERT(is_unchanged());
	rig_over();
	rig_make();
	memcpy(rig_register(0, CXL_CM + RIG_HDM), &cap, sizeof(cap));
	CU_ASSERT_EQUAL_FATAL(rig_start(), 0);
	CU_ASSERT_EQUAL(commit(2, 256), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(commit(2, 4096), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(commit(1, 256), 0);
	annex_decoder_release(&rig.decoders, id);
	rig_over();
}

/* BI and UIO, left set by another driver, are cleared: a range is HDM-H. */
static void host_only(void)
{
	u32 both = 3u << 21 | 2 | CXL_HDM_CAP_BITS_8 | CXL_HDM_CAP_BITS_12, ctrl;

	rig_make();
	memcpy(rig_register(0, CXL_CM + RIG_HDM), &both, sizeof(both));
	CU_ASSERT_EQUAL_FATAL(rig_start(), 0);
	set(0, 0, 0, CXL_DEC_CTRL_BI | CXL_DEC_CTRL_UIO);
	CU_ASSERT_EQUAL(commit(1, 256), 0);
	memcpy(&ctrl, decoder(0) + CXL_DEC_CTRL, sizeof(ctrl));
	CU_ASSERT_EQUAL(ctrl & (CXL_DEC_CTRL_HOST_ONLY | CXL_DEC_CTRL_BI | CXL_DEC_CTRL_UIO),
			CXL_DEC_CTRL_HOST_ONLY);
	CU_ASSERT_EQUAL(shim.lines, 0);
	annex_decoder_release(&rig.decoders, id);
	rig_over();
}

static void device_only(void)
{
	u32 cap = 1u << 21 | 2 | CXL_HDM_CAP_BITS_8 | CXL_HDM_CAP_BITS_12;

	rig_make();
	memcpy(rig_register(0, CXL_CM + RIG_HDM), &cap, sizeof(cap));
	CU_ASSERT_EQUAL_FATAL(rig_start(), 0);
	refused(-EOPNOTSUPP);
}

/* Sums of addresses saturate. */
static void no_end(void)
{
	u64 base, bytes, skip = U64_MAX - 4096;

	begin();
	set(0, U64_MAX - SZ_256M, U64_MAX, CXL_DEC_CTRL_COMMITTED | 15 << 4);
	CU_ASSERT(annex_decoder_range(&rig.decoders, 0, &base, &bytes));
	CU_ASSERT_EQUAL(bytes, SZ_256M);
	CU_ASSERT_EQUAL(annex_decoders_end(&rig.decoders), U64_MAX);
	set(0, 0, U64_MAX, CXL_DEC_CTRL_COMMITTED);
	set(1, 0, SZ_256M, CXL_DEC_CTRL_COMMITTED);
	CU_ASSERT_EQUAL(annex_decoders_used(&rig.decoders), U64_MAX);
	set(0, 0, SZ_256M, CXL_DEC_CTRL_COMMITTED);
	memcpy(decoder(0) + CXL_DEC_LIST, &skip, sizeof(skip));
	CU_ASSERT_EQUAL(annex_decoders_used(&rig.decoders), U64_MAX);
	rig_over();
}

/* The number of decoders has grown since the registers were mapped. */
static void more_than_are_mapped(void)
{
	u32 at = CXL_CM_BYTES - CXL_HDM_BYTES(2), cap = 12; /* thirty-two */
	struct annex_decoders d;

	begin();
	memcpy(rig_register(0, CXL_CM + at), &cap, sizeof(cap));
	annex_decoders_init(&d, rig.regs.component, at, rig.regs.phys, "device", true);
	CU_ASSERT_EQUAL(d.count, 2);
	rig_over();
}

UNIT_SUITE(cxl_decoders, {"a decoder is committed and released", committed},
	   {"a decoder is locked", locked}, {"firmware has a decoder", firmware},
	   {"decoders are committed in odd places", odd_places},
	   {"a decoder that does not obey", stubborn},
	   {"a decoder that was committed to other addresses", other_addresses},
	   {"a decoder that stays committed", stays}, {"a decoder below it", below},
	   {"decoders that wait in vain", waits}, {"a decoder that waited and stays", stays_late},
	   {"a component that is gone", gone}, {"a component that goes while it is used", goes},
	   {"a component that goes during a release", goes_meanwhile},
	   {"interleaving that it does not support", cannot_interleave},
	   {"memory that could be HDM-DB", host_only},
	   {"memory that is coherent by the device only", device_only},
	   {"addresses beyond the last", no_end}, {"more than are mapped", more_than_are_mapped})
