// SPDX-License-Identifier: MIT
/*
 * The packet filter, and devices that do not acknowledge its changes, or write into its table: each
 * wait ends in time, and the device's writes never decide which pages a process has.
 */
#include "filter.h"
#include "piece.h"
#include "rig.h"
#include "tests/unit/unit.h"

#define PART (16 * PAGE_SIZE)
#define OFFSET 0x40000000ull /* in the range */
#define BAR 4

static u8 part[PART];
static struct annex_gate gate;
static struct annex_piece pieces[ANNEX_FILTER_ENTRIES + 1];
static u64 heartbeats;
static bool beating;

static struct annex_filter *table(void)
{
	return (struct annex_filter *)part;
}

/* The module reads only two words of the table; the device's heartbeat goes on meanwhile. */
static void beats_on(const u8 *at)
{
	shim_require(at == (u8 *)&table()->acknowledged || at == (u8 *)&table()->heartbeat);
	if (beating)
		table()->heartbeat = ++heartbeats;
}

static void acknowledge(const u8 *at)
{
	beats_on(at);
	table()->acknowledged = table()->change;
}

/* A wrong number each time. */
static void lie(const u8 *at)
{
	beats_on(at);
	table()->acknowledged = table()->change - 2 * (1 + heartbeats % 5);
}

static void begin(void (*reads)(const u8 *))
{
	rig_make();
	shim.bar[BAR].start = RIG_WINDOW;
	shim.bar[BAR].bytes = PART;
	shim.bar[BAR].mem = part;
	shim.reads = reads;
	memset(part, 0xff, sizeof(part));
	memset(&gate, 0, sizeof(gate));
	memset(pieces, 0, sizeof(pieces));
	beating = true;
	CU_ASSERT_EQUAL_FATAL(annex_filter_init(&gate, RIG_WINDOW, PART, OFFSET), 0);
	CU_ASSERT_EQUAL(table()->magic, ANNEX_FILTER_MAGIC);
}

static void end(void)
{
	annex_filter_exit(&gate);
	CU_ASSERT_EQUAL(table()->magic, 0);
	shim.bar[BAR].mem = NULL;
	rig_end();
}

/* The @i-th page behind the table. */
static int add(unsigned int i)
{
	struct annex_piece *p = &pieces[i];

	p->offset = OFFSET + (1 + i % 15) * PAGE_SIZE;
	p->bytes = PAGE_SIZE;
	return annex_filter_add(&gate, p);
}

static bool removes(unsigned int i)
{
	return annex_filter_remove(&gate, &pieces[i]);
}

static void good_device(void)
{
	const struct annex_filter_entry *e = table()->entry;

	begin(acknowledge);
	CU_ASSERT_EQUAL(add(2), 0);
	CU_ASSERT(e[0].base == OFFSET + 3 * PAGE_SIZE && e[0].bound == e[0].base + PAGE_SIZE);
	CU_ASSERT_EQUAL(e[0].asid, 1);
	CU_ASSERT_EQUAL(table()->change, 2);
	CU_ASSERT(part[2 * PAGE_SIZE] == 0xff && part[3 * PAGE_SIZE] == 0 &&
		  part[4 * PAGE_SIZE - 1] == 0 && part[4 * PAGE_SIZE] == 0xff);
	CU_ASSERT(removes(2));
	CU_ASSERT_EQUAL(e[0].asid, 0);
	CU_ASSERT(shim.us < 1000);
	CU_ASSERT_EQUAL(add(0), 0);
	CU_ASSERT_EQUAL(e[0].asid, 2); /* not the last one's again */
	end();
}

/* The module does not read identifiers back from the table, which a device can overwrite. */
static void table_that_lies(void)
{
	const struct annex_filter_entry *e = table()->entry;

	begin(acknowledge);
	for (unsigned int i = 0; i < ANNEX_FILTER_ENTRIES; i++) {
		CU_ASSERT_EQUAL(add(i), 0);
		CU_ASSERT_EQUAL(e[i].asid, i + 1);
		memset(table()->entry, i % 2 ? 0xff : 0, (i + 1) * sizeof(*e));
	}
	CU_ASSERT_EQUAL(add(ANNEX_FILTER_ENTRIES), -ENOSPC);
	CU_ASSERT(removes(7));
	gate.asid = U16_MAX - 1;
	CU_ASSERT_EQUAL(add(7), 0);
	CU_ASSERT_EQUAL(e[7].asid, U16_MAX);
	CU_ASSERT(removes(7));
	CU_ASSERT_EQUAL(add(7), 0); /* wraps around, past identifiers in use */
	CU_ASSERT_EQUAL(e[7].asid, 8);
	CU_ASSERT(removes(9));
	CU_ASSERT_EQUAL(add(9), 0);
	CU_ASSERT_EQUAL(e[9].asid, 10);
	end();
}

static u64 lasts(unsigned int i, bool want)
{
	u64 from = shim.us;

	CU_ASSERT_EQUAL(removes(i), want);
	return shim.us - from;
}

/* The module waits once for a device that does not acknowledge, and briefly for a dead one. */
static void deaf_devices(void)
{
	begin(beats_on);
	CU_ASSERT(!add(0) && !add(1) && !add(2));
	CU_ASSERT(lasts(0, false) <= 1100000);
	CU_ASSERT_EQUAL(lasts(1, false), 0);
	shim.reads = acknowledge;
	CU_ASSERT(lasts(2, true) < 1000);
	end();
	begin(lie);
	for (unsigned int i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(add(i), 0);
		CU_ASSERT(lasts(i, false) <= 1100000);
	}
	end();
	begin(beats_on);
	CU_ASSERT_EQUAL(add(0), 0);
	beating = false;
	table()->heartbeat = 5;
	CU_ASSERT(lasts(0, true) <= 250000);
	table()->heartbeat = 0; /* no device */
	CU_ASSERT_EQUAL(add(0), 0);
	CU_ASSERT_EQUAL(lasts(0, true), 0);
	end();
}

/* A process that is killed gets no entry, and stops clearing pages. */
static void killed(void)
{
	begin(beats_on);
	shim.killed = true;
	CU_ASSERT_EQUAL(add(0), -EINTR);
	CU_ASSERT_EQUAL(table()->entry[0].asid, 0);
	CU_ASSERT_EQUAL(part[PAGE_SIZE], 0xff);
	end();
	shim.killed = false;
	CU_ASSERT_EQUAL(add(0), -ENODEV); /* the range has ended */
}

static void untouched(const u8 *at)
{
	(void)at;
	shim_require(false);
}

/* Memory that has ended in some way is neither read nor written, and its pages count as free. */
static void not_touched(void (*from_now_on)(struct annex_gate *g))
{
	begin(acknowledge);
	CU_ASSERT(!add(0) && !add(1));
	from_now_on(&gate);
	shim.reads = untouched;
	memset(part, 0xff, sizeof(part));
	CU_ASSERT(removes(0));
	CU_ASSERT_EQUAL(add(2), -ENODEV);
	annex_filter_exit(&gate);
	for (u32 i = 0; i < PART; i++)
		CU_ASSERT_EQUAL_FATAL(part[i], 0xff);
	table()->magic = 0;
	end();
}

static void gone(void)
{
	not_touched(annex_filter_kill);
}

static void poisoned(void)
{
	not_touched(annex_filter_poison);
}

/* A removal does not wait for the pieces. */
static void ended(void)
{
	not_touched(annex_filter_exit);
}

UNIT_SUITE(cxl_filter, {"a good device", good_device},
	   {"a device that writes into the table", table_that_lies},
	   {"devices that do not acknowledge", deaf_devices}, {"a process that is killed", killed},
	   {"memory that is gone", gone}, {"a poisoned table", poisoned},
	   {"a table that ends before its pieces", ended})
