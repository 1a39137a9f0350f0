// SPDX-License-Identifier: GPL-2.0
#include <linux/acpi.h>
#include <linux/slab.h>
#include "compat.h"
#include "cxl.h"
#include "window.h"

ANNEX_IMPORT_NS(ACPI);

#define WINDOWS_MOST 64

/* struct table - What is read from the CEDT. */
struct table {
	struct annex_window *windows;
	unsigned int n;
};

/* 0: one way, 1: two, ... and from 8 on: three, six, twelve. 0: reserved. */
static u32 ways_of(u8 code)
{
	return code <= 4 ? 1u << code : code >= 8 && code <= 10 ? 3u << (code - 8) : 0;
}

static int take_window(union acpi_subtable_headers *header, void *arg, const unsigned long end)
{
	struct acpi_cedt_cfmws *c = (struct acpi_cedt_cfmws *)header;
	struct table *t = arg;
	struct annex_window *w = &t->windows[t->n];
	u32 ways = ways_of(c->interleave_ways);

	if (c->header.length < sizeof(*c) + ways * sizeof(u32) || t->n == WINDOWS_MOST || !ways ||
	    c->granularity > 6 || !c->window_size || !IS_ALIGNED(c->base_hpa, CXL_GRANULE) ||
	    c->base_hpa > PHYS_ADDR_MAX - c->window_size) {
		pr_notice("annex: the CEDT has a window that makes no sense, at 0x%llx\n",
			  c->base_hpa);
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

int annex_windows_read(struct annex_window **windows)
{
	struct table t = {};
	int got;

	t.windows = kcalloc(WINDOWS_MOST, sizeof(*t.windows), GFP_KERNEL);
	if (!t.windows)
		return -ENOMEM;
	got = acpi_table_parse_cedt(ACPI_CEDT_TYPE_CFMWS, take_window, &t);
	if (got <= 0 || !t.n) {
		kfree(t.windows);
		pr_notice("annex: firmware declares no CXL window (no CEDT)\n");
		return -ENODEV;
	}
	*windows = t.windows;
	return t.n;
}

/* struct bridge - A host bridge that is looked for. */
struct bridge {
	u32 uid;
	u64 base, bytes;
	u32 version;
};

static int take_bridge(union acpi_subtable_headers *header, void *arg, const unsigned long end)
{
	struct acpi_cedt_chbs *c = (struct acpi_cedt_chbs *)header;
	struct bridge *b = arg;

	if (c->uid == b->uid && c->header.length >= sizeof(*c)) {
		b->base = c->base;
		b->bytes = c->length;
		b->version = c->cxl_version;
	}
	return 0;
}

int annex_window_bridge(u32 uid, phys_addr_t *at)
{
	struct bridge b = {.uid = uid};

	if (acpi_table_parse_cedt(ACPI_CEDT_TYPE_CHBS, take_bridge, &b) <= 0 || !b.base ||
	    b.version != ACPI_CEDT_CHBS_VERSION_CXL20 || b.bytes < CXL_COMPONENT_BYTES) {
		pr_notice("annex: host bridge %u has no registers of CXL 2.0 in the CEDT\n", uid);
		return -ENXIO;
	}
	*at = b.base;
	return 0;
}

/* struct look - Whether @res lies in nothing but a window. */
struct look {
	const struct resource *res;
	bool alone;
};

/* There is no such place: it is called for the lock that it is called with. */
static resource_size_t look(void *arg, const struct resource *avail, resource_size_t size,
			    resource_size_t align)
{
	struct look *l = arg;

	l->alone = l->res->parent == &iomem_resource || l->res->parent->desc == IORES_DESC_CXL;
	return PHYS_ADDR_MAX;
}

/*
 * cxl_acpi has the windows in the kernel's tree, and in them its regions, which take in whatever is
 * requested there as long as they are not busy, that is, before they have pages. Both come and go,
 * and of what is exported only this takes the tree's lock around a look at it.
 */
static bool is_alone(const struct resource *res)
{
	struct resource nowhere = {}, none = {};
	struct look l = {.res = res};

	allocate_resource(&nowhere, &none, 1, 0, 0, 1, look, &l);
	return l.alone;
}

static bool hits(const struct annex_taken *taken, unsigned int n, u64 base, u64 bytes)
{
	for (unsigned int i = 0; i < n; i++)
		if (taken[i].base < base + bytes && base < taken[i].base + taken[i].bytes)
			return true;
	return false;
}

struct resource *annex_window_take(const struct annex_window *w, u64 bytes, u64 floor,
				   const struct annex_taken *taken, unsigned int n)
{
	u64 base = max(w->base, ALIGN(floor, CXL_GRANULE)), end = w->base + w->bytes;
	struct resource *res;

	for (; base < end && bytes <= end - base; base += CXL_GRANULE) {
		if (hits(taken, n, base, bytes))
			continue;
		res = request_mem_region(base, bytes, "annex");
		if (res && is_alone(res))
			return res;
		if (res)
			release_mem_region(base, bytes);
	}
	return NULL;
}
