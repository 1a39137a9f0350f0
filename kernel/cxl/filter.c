// SPDX-License-Identifier: GPL-2.0
/*
 * The packet filter in the first uncached page (section III-B of M2NDP). Owns the table, except for
 * the two words that the device writes.
 */
#include <linux/delay.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/io.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include "filter.h"
#include "piece.h"

#define LOOK_MS 2
#define DEAD (HZ / 5) /* without a heartbeat for so long, there is no device */

static_assert(sizeof(struct annex_filter) == SZ_4K, "the table is a page");

static void __iomem *filter_field(struct annex_gate *g, size_t at)
{
	return g->at + at;
}

#define TABLE(g, member) filter_field(g, offsetof(struct annex_filter, member))

/* The counter is odd while entries are being written, and even while they are consistent. */
static void filter_begin_change(struct annex_gate *g)
{
	writeq(++g->change, TABLE(g, change));
	wmb(); /* before the entries: the device reads the counter before and after them */
}

static void filter_end_change(struct annex_gate *g)
{
	wmb(); /* after the entries */
	writeq(++g->change, TABLE(g, change));
}

int annex_filter_init(struct annex_gate *g, phys_addr_t base, u64 bytes, u64 offset)
{
	g->offset = offset;
	g->at = ioremap(base, bytes);
	if (!g->at)
		return -ENOMEM;
	memset_io(g->at, 0, PAGE_SIZE);
	writel(ANNEX_FILTER_VERSION, TABLE(g, version));
	writel(ANNEX_FILTER_ENTRIES, TABLE(g, entries));
	/* Tells the device that this is not the table of a kernel that crashed. */
	writeq(get_random_u64(), TABLE(g, generation));
	wmb(); /* the magic makes the table valid: write it last */
	writeq(ANNEX_FILTER_MAGIC, TABLE(g, magic));
	return 0;
}

void annex_filter_kill(struct annex_gate *g)
{
	WRITE_ONCE(g->cut, true);
}

void annex_filter_poison(struct annex_gate *g)
{
	WRITE_ONCE(g->poisoned, true);
}

/* Whether the table is there and may be touched. Under the lock. */
static bool filter_is_there(const struct annex_gate *g)
{
	return g->at && !READ_ONCE(g->cut) && !READ_ONCE(g->poisoned);
}

void annex_filter_exit(struct annex_gate *g)
{
	mutex_lock(&g->lock);
	if (filter_is_there(g))
		writeq(0, TABLE(g, magic));
	if (g->at)
		iounmap(g->at);
	g->at = NULL;
	mutex_unlock(&g->lock);
}

static size_t filter_entry_at(unsigned int i)
{
	return offsetof(struct annex_filter, entry) + i * sizeof(struct annex_filter_entry);
}

/* Always finds one: there are fewer entries than identifiers. */
static u32 filter_new_asid(struct annex_gate *g)
{
	unsigned int i;

	do {
		g->asid = g->asid == U16_MAX ? 1 : g->asid + 1;
		for (i = 0; i < ANNEX_FILTER_ENTRIES && g->asids[i] != g->asid; i++)
			;
	} while (i < ANNEX_FILTER_ENTRIES);
	return g->asid;
}

static void filter_write_entry(struct annex_gate *g, const struct annex_piece *piece, u32 asid)
{
	size_t at = filter_entry_at(piece->entry);

	writeq(piece->offset, filter_field(g, at + offsetof(struct annex_filter_entry, base)));
	writeq(piece->offset + piece->bytes,
	       filter_field(g, at + offsetof(struct annex_filter_entry, bound)));
	writel(asid, filter_field(g, at + offsetof(struct annex_filter_entry, asid)));
	g->asids[piece->entry] = asid;
}

/*
 * Clear the data and calls of an earlier owner. Uncached stores are slow: release the lock after
 * each page, and stop if the caller is killed.
 */
static int filter_clear(struct annex_gate *g, u64 at, u64 bytes)
{
	bool there = true;

	for (u64 end = at + bytes; at < end && there; at += PAGE_SIZE) {
		if (fatal_signal_pending(current))
			return -EINTR;
		mutex_lock(&g->lock);
		there = filter_is_there(g);
		if (there)
			memset_io(g->at + at, 0, PAGE_SIZE);
		mutex_unlock(&g->lock);
		cond_resched();
	}
	return there ? 0 : -ENODEV;
}

int annex_filter_add(struct annex_gate *g, struct annex_piece *piece)
{
	int err = filter_clear(g, piece->offset - g->offset, piece->bytes);

	if (err)
		return err;
	mutex_lock(&g->lock);
	err = filter_is_there(g) ? -ENOSPC : -ENODEV;
	for (unsigned int i = 0; err == -ENOSPC && i < ANNEX_FILTER_ENTRIES; i++) {
		if (g->asids[i])
			continue;
		piece->entry = i;
		filter_begin_change(g);
		filter_write_entry(g, piece, filter_new_asid(g));
		filter_end_change(g);
		err = 0;
	}
	mutex_unlock(&g->lock);
	return err;
}

/* Wait for the device to acknowledge the last change; also true without a live device. */
static bool filter_wait_ack(struct annex_gate *g)
{
	unsigned long end = jiffies + HZ, still = jiffies;
	u64 heartbeat = readq(TABLE(g, heartbeat)), acked = readq(TABLE(g, acknowledged));

	if (g->timed_out && acked == g->acknowledged && heartbeat != g->heartbeat)
		return false;
	while (heartbeat && time_before(jiffies, end) && time_before(jiffies, still + DEAD)) {
		u64 now;

		acked = readq(TABLE(g, acknowledged));
		if (acked == g->change) {
			g->timed_out = false;
			return true;
		}
		msleep(LOOK_MS);
		if (!filter_is_there(g))
			return true;
		now = readq(TABLE(g, heartbeat));
		if (now != heartbeat)
			still = jiffies;
		heartbeat = now;
	}
	g->timed_out = heartbeat && time_before(jiffies, still + DEAD);
	g->acknowledged = acked;
	g->heartbeat = heartbeat;
	return !g->timed_out;
}

bool annex_filter_remove(struct annex_gate *g, const struct annex_piece *piece)
{
	bool free = true;

	mutex_lock(&g->lock);
	if (filter_is_there(g)) {
		filter_begin_change(g);
		filter_write_entry(g, piece, 0);
		filter_end_change(g);
		free = filter_wait_ack(g);
	}
	mutex_unlock(&g->lock);
	return free;
}
