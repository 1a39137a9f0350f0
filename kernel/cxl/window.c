// SPDX-License-Identifier: GPL-2.0
/*
 * CXL windows of host addresses: the CEDT (CXL 3.1 section 9.18.1). Owns the reserved addresses.
 */
#include <linux/acpi.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <uapi/annex_hdm.h>
#include "compat.h"
#include "cxl.h"
#include "window.h"

ANNEX_IMPORT_NS(ACPI);
ANNEX_IMPORT_NS(CXL);

/* The same bit under its older name in ACPICA. */
#ifndef ACPI_CEDT_CFMWS_RESTRICT_HOSTONLYMEM
#define ACPI_CEDT_CFMWS_RESTRICT_HOSTONLYMEM ACPI_CEDT_CFMWS_RESTRICT_TYPE3
#endif

#define WINDOWS_MOST 64

#define say(fmt, ...) pr_notice_ratelimited("annex: " fmt "\n", ##__VA_ARGS__)

/*
 * struct table - Windows of the CEDT.
 * @windows: valid windows.
 * @n: number of @windows.
 * @odd: number of invalid windows.
 * @at: address of the first invalid window.
 */
struct table {
	struct annex_window *windows;
	unsigned int n, odd;
	u64 at;
};

/* Codes 0 to 4: 1 to 16 ways; 8 to 10: 3, 6, 12 ways. Returns 0 for reserved codes. */
static u32 window_ways_of(u8 code)
{
	return code <= 4 ? 1u << code : code >= 8 && code <= 10 ? 3u << (code - 8) : 0;
}

/* The kernel only checks that an entry begins within the table. */
static bool window_is_whole(const struct acpi_cedt_header *header, size_t bytes, unsigned long end)
{
	unsigned long at = (unsigned long)header;

	return end - at >= bytes && header->length >= bytes && header->length <= end - at;
}

/* Whether a window is aligned, within the host's addresses, and overlaps no other window. */
static bool window_is_sound(const struct acpi_cedt_cfmws *c, const struct table *t)
{
	u64 last = c->base_hpa + c->window_size - 1;

	if (!c->window_size || !IS_ALIGNED(c->base_hpa, CXL_GRANULE) || last < c->base_hpa ||
	    last > iomem_resource.end || t->n == WINDOWS_MOST)
		return false;
	for (unsigned int i = 0; i < t->n; i++)
		if (c->base_hpa < t->windows[i].base + t->windows[i].bytes &&
		    t->windows[i].base <= last)
			return false;
	return true;
}

static int window_take(union acpi_subtable_headers *header, void *arg, const unsigned long end)
{
	struct acpi_cedt_cfmws *c = (struct acpi_cedt_cfmws *)header;
	struct table *t = arg;
	struct annex_window *w = &t->windows[t->n];
	u32 ways;

	if (!window_is_whole(&c->header, sizeof(*c), end)) {
		say("the CEDT has a truncated window");
		return 0;
	}
	ways = window_ways_of(c->interleave_ways);
	if (!window_is_whole(&c->header, sizeof(*c) + ways * sizeof(u32), end) || !ways ||
	    c->granularity > 6 || !window_is_sound(c, t)) {
		if (!t->odd++)
			t->at = c->base_hpa;
		return 0;
	}
	*w = (struct annex_window){
		.base = c->base_hpa,
		.bytes = c->window_size,
		.ways = ways,
		.granularity = 256u << c->granularity,
		.restrictions = c->restrictions,
		.usable = ways == 1 ||
			  (is_power_of_2(ways) &&
			   c->interleave_arithmetic == ACPI_CEDT_CFMWS_ARITHMETIC_MODULO),
	};
	memcpy(w->targets, c->interleave_targets, ways * sizeof(u32));
	t->n++;
	return 0;
}

static int window_read_table(int type, acpi_tbl_entry_handler_arg take, void *arg)
{
	int got = acpi_table_parse_cedt(type, take, arg);

	if (got < 0 && got != -ENODEV)
		say("the CEDT cannot be read: error %d", got);
	return got;
}

int annex_windows_read(struct annex_window **windows)
{
	struct table t = {};
	int got;

	t.windows = kcalloc(WINDOWS_MOST, sizeof(*t.windows), GFP_KERNEL);
	if (!t.windows)
		return -ENOMEM;
	got = window_read_table(ACPI_CEDT_TYPE_CFMWS, window_take, &t);
	if (t.odd)
		say("invalid windows in the CEDT: %u, the first at 0x%llx", t.odd, t.at);
	if (got < 0 && got != -ENODEV) {
		kfree(t.windows);
		return got;
	}
	if (!t.n) {
		kfree(t.windows);
		say("firmware declares no CXL window (%s)",
		    got < 0 ? "no CEDT" : "none in the CEDT");
		return -ENODEV;
	}
	*windows = t.windows;
	return t.n;
}

/* With an extended linear cache, a part of the window is DRAM, which caches the CXL memory. */
static bool window_is_cached(const struct annex_window *w)
{
	u64 cache = annex_linear_cache(w->base, w->bytes);

	if (cache)
		say("0x%llx bytes of the window at 0x%llx are a cache of DRAM", cache, w->base);
	return cache;
}

bool annex_window_fits(const struct annex_window *w, u32 kind, u32 granularity)
{
	u16 need = ACPI_CEDT_CFMWS_RESTRICT_HOSTONLYMEM |
		   (kind == ANNEX_HDM_PERSISTENT ? ACPI_CEDT_CFMWS_RESTRICT_PMEM
						 : ACPI_CEDT_CFMWS_RESTRICT_VOLATILE);

	return w->usable && (w->restrictions & need) == need &&
	       !(w->restrictions & ACPI_CEDT_CFMWS_RESTRICT_FIXED) &&
	       (w->ways == 1 || !granularity || granularity == w->granularity) &&
	       !window_is_cached(w);
}

/* struct bridge - The host bridge with @uid in the CEDT. */
struct bridge {
	u32 uid;
	u64 base, bytes;
	u32 version;
};

static int window_take_bridge(union acpi_subtable_headers *header, void *arg,
			      const unsigned long end)
{
	struct acpi_cedt_chbs *c = (struct acpi_cedt_chbs *)header;
	struct bridge *b = arg;

	if (window_is_whole(&c->header, sizeof(*c), end) && c->uid == b->uid) {
		b->base = c->base;
		b->bytes = c->length;
		b->version = c->cxl_version;
	}
	return 0;
}

int annex_window_bridge(u32 uid, phys_addr_t *at)
{
	struct bridge b = {.uid = uid};
	int got = window_read_table(ACPI_CEDT_TYPE_CHBS, window_take_bridge, &b);

	if (got < 0 && got != -ENODEV)
		return got;
	if (!b.base || b.version != ACPI_CEDT_CHBS_VERSION_CXL20 || b.bytes < CXL_COMPONENT_BYTES) {
		say("host bridge %u has no registers of CXL 2.0 in the CEDT", uid);
		return -ENXIO;
	}
	if (!IS_ALIGNED(b.base, PAGE_SIZE) || b.base > iomem_resource.end - CXL_COMPONENT_BYTES ||
	    region_intersects(b.base, CXL_COMPONENT_BYTES, IORESOURCE_SYSTEM_RAM,
			      IORES_DESC_NONE) != REGION_DISJOINT) {
		say("host bridge %u cannot have registers at 0x%llx", uid, b.base);
		return -EINVAL;
	}
	*at = b.base;
	return 0;
}

/* Whether a window of the kernel's driver is a child of the frame, and fills it. */
static int window_is_framed(struct resource *res, void *arg)
{
	const struct resource *frame = arg;

	return res->parent == frame && res->start == frame->start && res->end == frame->end;
}

/*
 * struct place - A window that is searched for free addresses.
 * @frame: resource around the window.
 * @framed: @frame is in the resource tree.
 * @shared: a window of the kernel's driver fills the frame.
 */
struct place {
	struct resource frame;
	bool framed, shared;
};

/*
 * cxl_acpi adds the windows to the kernel's resource tree, and its regions below them. As long as a
 * region is not busy, that is, before it has pages, a request in its addresses succeeds and becomes
 * its child. Windows and regions can be removed at any time, so pointers to them must not be
 * followed, but they can be compared: with a frame around the window, a request outside of regions
 * is a child of the frame, or of the window that fills it. No region can be made over a request,
 * nor in a window that is added around the frame, so the result stays valid.
 */
static void window_frame(const struct annex_window *w, struct place *p)
{
	*p = (struct place){
		.frame = {.name = "annex window",
			  .start = w->base,
			  .end = w->base + w->bytes - 1,
			  .flags = IORESOURCE_MEM},
	};
	/* -EBUSY: a resource of firmware crosses the edge of the window. */
	p->framed = !insert_resource(&iomem_resource, &p->frame);
	p->shared = p->framed &&
		    walk_iomem_res_desc(IORES_DESC_CXL, IORESOURCE_MEM, p->frame.start,
					p->frame.end, &p->frame, window_is_framed) == 1;
}

static void window_unframe(struct place *p)
{
	if (p->framed)
		remove_resource(&p->frame);
}

/* Whether a request is outside of all regions of the kernel's driver. */
static bool window_is_alone(const struct place *p, const struct resource *res)
{
	const struct resource *parent = READ_ONCE(res->parent);

	return parent == (p->framed ? &p->frame : &iomem_resource) ||
	       (p->shared && parent == READ_ONCE(p->frame.child));
}

/* The end of an entry in @taken that overlaps; 0: there is none. */
static u64 window_end_of_overlap(const struct annex_taken *taken, unsigned int n, u64 base,
				 u64 bytes)
{
	for (unsigned int i = 0; i < n; i++)
		if (taken[i].base < base + bytes && base < taken[i].base + taken[i].bytes)
			return taken[i].base + taken[i].bytes;
	return 0;
}

struct resource *annex_window_take(const struct annex_window *w, u64 bytes, u64 floor,
				   const struct annex_taken *taken, unsigned int n)
{
	u64 at = max(w->base, floor), end = w->base + w->bytes, base, overlap;
	struct resource *res = NULL;
	struct place place;

	window_frame(w, &place);
	while (at < end && !res) {
		base = ALIGN(at, CXL_GRANULE);
		if (base >= end || bytes > end - base)
			break;
		overlap = window_end_of_overlap(taken, n, base, bytes);
		at = overlap ? overlap : base + CXL_GRANULE;
		if (overlap)
			continue;
		res = request_mem_region(base, bytes, "annex");
		if (res && !window_is_alone(&place, res)) {
			release_mem_region(base, bytes);
			res = NULL;
		}
		cond_resched();
	}
	window_unframe(&place);
	return res;
}
