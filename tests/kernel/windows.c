// SPDX-License-Identifier: MIT
/*
 * Invalid CEDTs: invalid entries are skipped with a line, no byte beyond the table is read, and
 * valid entries can be used.
 */
#include "rig.h"
#include "tests/unit/unit.h"

#define BASE RIG_WINDOW
#define GIB (1ull << 30)

static struct annex_window *windows;

/* Read the table, and expect @n windows, or an errno, and @lines in the log. */
static void expect(int n, unsigned int lines)
{
	int got = annex_windows_read(&windows);

	if (got != n || shim.lines != lines)
		printf("%d, %u lines: %s", got, shim.lines, shim.line);
	CU_ASSERT_EQUAL(got, n);
	CU_ASSERT_EQUAL(shim.lines, lines);
	if (got > 0)
		free(windows);
	shim.lines = 0;
}

static void good_table(void)
{
	rig_make();
	rig_bridge(7, 3 * GIB);
	rig_window(BASE, GIB, 0);
	rig_window(BASE + GIB, 2 * GIB, 2);
	rig_window(BASE + 4 * GIB, GIB, 0)->interleave_arithmetic = 9;
	rig_window(BASE + 5 * GIB, GIB, 1)->interleave_arithmetic = 9;
	CU_ASSERT_EQUAL_FATAL(annex_windows_read(&windows), 4);
	CU_ASSERT(windows[1].base == BASE + GIB && windows[1].bytes == 2 * GIB);
	CU_ASSERT(windows[1].ways == 4 && windows[1].granularity == 256);
	CU_ASSERT_EQUAL(windows[1].targets[3], 10);
	CU_ASSERT(windows[0].usable && windows[1].usable && windows[2].usable);
	CU_ASSERT_FALSE(windows[3].usable);
	CU_ASSERT_EQUAL(shim.lines, 0);
	free(windows);
	rig_end();
}

static void no_table(void)
{
	rig_make();
	expect(-ENODEV, 1);
	CU_ASSERT_STRING_EQUAL(shim.line,
			       "annex: firmware declares no CXL window (none in the CEDT)\n");
	rig_end();
	shim.cedt = NULL;
	expect(-ENODEV, 1);
	CU_ASSERT_STRING_EQUAL(shim.line, "annex: firmware declares no CXL window (no CEDT)\n");
}

/* An entry that leads to itself. */
static void zero_length(void)
{
	rig_make();
	rig_window(BASE, GIB, 0);
	rig_window(BASE + GIB, GIB, 0)->header.length = 0;
	expect(-EINVAL, 2);
	rig_end();
}

/* Entries of any length at the end of the table, and entries of any declared length. */
static void truncated(void)
{
	u32 whole = sizeof(struct acpi_cedt_cfmws) + 4;

	for (u32 bytes = 5; bytes < whole; bytes++) {
		rig_make();
		rig_window(BASE, GIB, 0);
		rig_window(BASE + GIB, GIB, 0);
		shim.cedt_bytes -= whole - bytes;
		shim.cedt = realloc(shim.cedt, shim.cedt_bytes);
		expect(1, 1);
		rig_end();
	}
	for (u32 length = 1; length < whole; length++) {
		rig_make();
		rig_window(BASE, GIB, 0);
		/* The next entry is looked up inside of this one. */
		memset(rig_window(0, 0, 0), 0xff, whole);
		((struct acpi_cedt_header *)(shim.cedt + 36 + whole))->type = 1;
		((struct acpi_cedt_header *)(shim.cedt + 36 + whole))->length = (u16)length;
		CU_ASSERT_EQUAL(annex_windows_read(&windows), 1);
		CU_ASSERT(shim.lines >= 1);
		free(windows);
		rig_end();
	}
	rig_make();
	rig_window(BASE, GIB, 0);
	rig_window(BASE + GIB, GIB, 0)->interleave_ways = 4;
	expect(1, 1);
	rig_end();
}

static void invalid(void)
{
	static const struct {
		u64 base, bytes;
		u8 ways;
		u32 granularity;
	} odd[] = {{BASE, 0, 0, 0},
		   {BASE + 4096, GIB, 0, 0},
		   {BASE, 512 * GIB * 2, 0, 0}, /* the machine has no such addresses */
		   {1ull << 40, GIB, 0, 0},
		   {U64_MAX - SZ_256M + 1, GIB, 0, 0}, /* wraps around */
		   {BASE, U64_MAX, 0, 0},
		   {BASE, GIB, 5, 0},
		   {BASE, GIB, 7, 0},
		   {BASE, GIB, 11, 0},
		   {BASE, GIB, 255, 0},
		   {BASE, GIB, 0, 7},
		   {BASE, GIB, 0, U32_MAX}};

	for (u32 i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		rig_make();
		rig_window(odd[i].base, odd[i].bytes, odd[i].ways)->granularity =
			odd[i].granularity;
		rig_window(BASE, GIB, 0);
		expect(1, 1);
		rig_end();
	}
}

static void overlaps(void)
{
	rig_make();
	rig_window(BASE, 4 * GIB, 0);
	rig_window(BASE + 2 * GIB, 4 * GIB, 0);
	rig_window(BASE, 4 * GIB, 0);
	rig_window(BASE + 4 * GIB, GIB, 0);
	rig_window(2 * GIB, 64 * GIB, 0);
	expect(2, 1);
	rig_end();
}

static void too_many(void)
{
	rig_make();
	for (u32 i = 0; i < 70; i++)
		rig_window(BASE + i * GIB, GIB, 0);
	expect(64, 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(shim.line, "in the CEDT: 6, the first at 0x1100000000"));
	rig_end();
}

/* The bits of CXL 3.1 section 9.18.1.3, by number, since names in headers have changed. */
static bool fits(u16 restrictions, u32 kind)
{
	struct annex_window w = {.ways = 2, .granularity = 512, .usable = true};

	w.restrictions = restrictions;
	CU_ASSERT_FALSE(annex_window_fits(&w, kind, 256));
	CU_ASSERT_EQUAL(annex_window_fits(&w, kind, 512), annex_window_fits(&w, kind, 0));
	return annex_window_fits(&w, kind, 0);
}

static void restrictions(void)
{
	for (u16 bits = 0; bits < 64; bits++) {
		bool free = bits & 2 && !(bits & 16);

		CU_ASSERT_EQUAL(fits(bits, ANNEX_HDM_VOLATILE), free && bits & 4);
		CU_ASSERT_EQUAL(fits(bits, ANNEX_HDM_PERSISTENT), free && bits & 8);
	}
}

static void bridge(int err, unsigned int lines)
{
	phys_addr_t at = 0;

	CU_ASSERT_EQUAL(annex_window_bridge(7, &at), err);
	CU_ASSERT_EQUAL(shim.lines, lines);
	CU_ASSERT_EQUAL(!err, at == 3 * GIB);
	rig_end();
}

static void bridges(void)
{
	static const u64 nowhere[] = {GIB / 2, 3 * GIB + 4, (1ull << 40) - SZ_4K,
				      U64_MAX - SZ_4K + 1};

	rig_make();
	rig_bridge(8, 5 * GIB);
	rig_bridge(7, 3 * GIB);
	bridge(0, 0);
	rig_make();
	rig_bridge(8, 3 * GIB);
	bridge(-ENXIO, 1);
	rig_make();
	rig_bridge(7, 3 * GIB)->cxl_version = 0;
	bridge(-ENXIO, 1);
	rig_make();
	rig_bridge(7, 3 * GIB)->length = SZ_4K;
	bridge(-ENXIO, 1);
	rig_make();
	rig_bridge(7, 0);
	bridge(-ENXIO, 1);
	for (u32 bytes = 5; bytes < sizeof(struct acpi_cedt_chbs); bytes++) {
		rig_make();
		rig_bridge(7, 3 * GIB);
		shim.cedt_bytes = 36 + bytes;
		shim.cedt = realloc(shim.cedt, shim.cedt_bytes);
		bridge(-ENXIO, 1);
	}
	for (u32 i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++) {
		rig_make();
		rig_bridge(7, nowhere[i]);
		bridge(-EINVAL, 1);
	}
	rig_make();
	rig_bridge(7, 3 * GIB);
	rig_bridge(8, 3 * GIB)->header.length = 0;
	bridge(-EINVAL, 1);
}

static u64 take(u64 floor, const struct annex_taken *taken, u32 n)
{
	static const struct annex_window w = {.base = BASE, .bytes = 4 * GIB};
	struct resource *res = annex_window_take(&w, GIB, floor, taken, n);
	u64 base = res ? res->start : 0;

	if (res)
		release_mem_region(base, GIB);
	return base;
}

static void room(void)
{
	static const struct annex_taken all[] = {{BASE, GIB}, {BASE + GIB, 3 * GIB}};
	static const struct annex_taken most[] = {{BASE + 8, 1}, {0, BASE + 3 * GIB - 1}};
	static const struct annex_taken endless[] = {{BASE + GIB, U64_MAX - BASE - GIB}};

	rig_make();
	CU_ASSERT_EQUAL(take(0, NULL, 0), BASE);
	CU_ASSERT_EQUAL(take(BASE + 1, NULL, 0), BASE + SZ_256M);
	CU_ASSERT_EQUAL(take(BASE + 3 * GIB, NULL, 0), BASE + 3 * GIB);
	CU_ASSERT_EQUAL(take(BASE + 3 * GIB + 1, NULL, 0), 0);
	/* The addresses of decoders may reach up to the last one. */
	CU_ASSERT_EQUAL(take(U64_MAX, NULL, 0), 0);
	CU_ASSERT_EQUAL(take(U64_MAX - SZ_256M, NULL, 0), 0);
	CU_ASSERT_EQUAL(take(0, all, 2), 0);
	CU_ASSERT_EQUAL(take(0, most, 2), BASE + 3 * GIB);
	CU_ASSERT_EQUAL(take(0, endless, 1), BASE);
	CU_ASSERT_EQUAL(take(BASE + SZ_256M, endless, 1), 0);
	request_mem_region(BASE + GIB, 2 * GIB, "another driver");
	CU_ASSERT_EQUAL(take(SZ_256M, NULL, 0), BASE);
	CU_ASSERT_EQUAL(take(BASE + SZ_256M, NULL, 0), BASE + 3 * GIB);
	rig_end();
}

/* Resources of the kernel's driver, or of firmware, in the tree. */
static void add_resource(struct resource *parent, struct resource *res, u64 base, u64 bytes,
			 unsigned long desc)
{
	*res = (struct resource){
		.start = base, .end = base + bytes - 1, .flags = IORESOURCE_MEM, .desc = desc};
	CU_ASSERT_EQUAL_FATAL(insert_resource(parent, res), 0);
}

/* Expect free addresses at @base, and an unchanged resource tree. */
static void expect_room(u64 base, struct resource *window, struct resource *region)
{
	CU_ASSERT_EQUAL(take(0, NULL, 0), base);
	CU_ASSERT_PTR_EQUAL(iomem_resource.child, window);
	CU_ASSERT_PTR_EQUAL(window->child, region);
	CU_ASSERT_PTR_NULL(region->child);
	rig_end();
}

/* A request within a region without pages succeeds, and must be released again. */
static void others_regions(void)
{
	static const struct {
		u64 base, bytes;
	} windows[] = {{BASE, 4 * GIB}, {BASE - GIB, 6 * GIB}};
	static const struct {
		u64 base, bytes, room;
	} regions[] = {{BASE, GIB, BASE + GIB},
		       {BASE + GIB, 3 * GIB, BASE},
		       {BASE + SZ_256M, SZ_256M, BASE + 2 * SZ_256M},
		       {BASE + SZ_256M, 3 * GIB + SZ_256M, 0},
		       {BASE, 4 * GIB, 0}};
	struct resource window, region;

	for (u32 w = 0; w < 2; w++) {
		for (u32 r = 0; r < sizeof(regions) / sizeof(regions[0]); r++) {
			rig_make();
			add_resource(&iomem_resource, &window, windows[w].base, windows[w].bytes,
				     IORES_DESC_CXL);
			add_resource(&window, &region, regions[r].base, regions[r].bytes,
				     IORES_DESC_NONE);
			expect_room(regions[r].room, &window, &region);
		}
	}
	/* Without the kernel's driver: resources of firmware, also across an edge. */
	rig_make();
	add_resource(&iomem_resource, &window, BASE, 4 * GIB, IORES_DESC_NONE);
	CU_ASSERT_EQUAL(take(0, NULL, 0), 0);
	rig_end();
	rig_make();
	add_resource(&iomem_resource, &window, BASE - GIB, 2 * GIB, IORES_DESC_NONE);
	CU_ASSERT_EQUAL(take(0, NULL, 0), BASE + GIB);
	rig_end();
	/* A range of ours from before the kernel's driver was loaded, and one of its regions. */
	rig_make();
	request_mem_region(BASE, GIB, "annex");
	add_resource(&iomem_resource, &window, BASE, 4 * GIB, IORES_DESC_CXL);
	add_resource(&window, &region, BASE + GIB, GIB, IORES_DESC_NONE);
	CU_ASSERT_EQUAL(take(0, NULL, 0), BASE + 2 * GIB);
	rig_end();
}

/* The kernel's driver expects the same: half of the window is DRAM. */
static void linear_cache(void)
{
	rig_make();
	shim.linear_cache = GIB / 2;
	CU_ASSERT_FALSE(fits(2 | 4, ANNEX_HDM_VOLATILE));
	CU_ASSERT_STRING_EQUAL(
		shim.line, "annex: 0x20000000 bytes of the window at 0x0 are a cache of DRAM\n");
	rig_end();
}

UNIT_SUITE(cxl_windows, {"a good table", good_table}, {"no table, or an empty one", no_table},
	   {"an entry of no length", zero_length}, {"truncated entries", truncated},
	   {"invalid windows", invalid}, {"windows that overlap", overlaps},
	   {"more windows than there can be", too_many}, {"restrictions of windows", restrictions},
	   {"a window with a cache of DRAM", linear_cache}, {"host bridges", bridges},
	   {"room in a window", room}, {"regions of the kernel's driver", others_regions})
