/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory below a simulated machine's last-level cache. It holds the program's data, and says
 * when each line of 64 bytes comes and goes. Requests come in the order of their times.
 */
#ifndef TOOLS_CXL_RAM_H
#define TOOLS_CXL_RAM_H

#include <annex/models/cxlssd.h>
#include "board.h"

#define RAM_LINE 64u
#define RAM_PAGE 4096u

/*
 * struct ram_stats - Counters of a run. @faults: pages that the host's runtime brought.
 * @reads, @hits, @late: loads that the endpoint's DRAM had, or waited for (annex/models/cxlssd.h);
 * of SkyByte's, stores as well.
 * @flash_writes: pages programmed; @copied: by collection.
 */
struct ram_stats {
	uint64_t faults;
	uint64_t reads, hits, late;
	uint64_t flash_reads, flash_writes, copied;
	uint64_t promoted, demoted, host;
};

/*
 * struct ram - @load, @store: of one line, at @t->now; they set @t->done and @t->told. @store is of
 * some bytes of a line.
 * @settle: have all stores reach their place, which is flash if there is any.
 * @read: bytes as they are there then.
 */
struct ram {
	int (*load)(struct ram *r, uint64_t at, void *line, struct annex_cxlssd_time *t);
	int (*store)(struct ram *r, uint64_t at, const void *buf, uint32_t bytes,
		     struct annex_cxlssd_time *t);
	int (*settle)(struct ram *r, uint64_t now);
	int (*read)(struct ram *r, uint64_t at, void *buf, uint64_t bytes);
	void (*stats)(struct ram *r, struct ram_stats *out);
	void (*close)(struct ram *r);
};

/*
 * ram_open() - Memory as board @m has it, which holds @bytes of @data. Return: 0, or a negative
 * errno with the line set.
 */
int ram_open(const struct board *m, const char *data, uint64_t bytes, struct ram **out);

/* The kinds of memory, for ram_open(). */
int ram_local_open(const struct board *m, const char *data, uint64_t bytes, struct ram **out);
int ram_paged_open(const struct board *m, const char *data, uint64_t bytes, struct ram **out);
int ram_port_open(const struct board *m, const char *data, uint64_t bytes, struct ram **out);
int ram_tier_open(const struct board *m, const char *data, uint64_t bytes, struct ram **out);

/*
 * struct ram_ssd - An endpoint that holds the data. @base: its time when the simulation begins.
 * @before: its counters then. @bytes: of the data; @others: pages of other data behind them.
 */
struct ram_ssd {
	struct annex_cxlssd *s;
	uint64_t base;
	struct annex_cxlssd_stats before;
	uint64_t bytes, others;
};

/*
 * ram_ssd_open() - Make one as board @m has it, whose flash has been written all over, so that it
 * collects garbage when it is written to. @others: pages of other data that its DRAM is full of,
 * stored to once each.
 * ram_ssd_alone() - Drop the other data.
 * ram_ssd_settle() - Have its flash hold all data.
 * ram_ssd_stats() - Its counters since then.
 */
int ram_ssd_open(const struct board *m, const char *data, uint64_t bytes, uint64_t others,
		 struct ram_ssd *out);
int ram_ssd_alone(struct ram_ssd *d);
int ram_ssd_settle(struct ram_ssd *d);
void ram_ssd_stats(const struct ram_ssd *d, struct ram_stats *out);

/* struct ram_link - Something that passes so many bytes a second. ram_pass() - When a request that
 * comes at @now has passed. */
struct ram_link {
	uint64_t rate, free_ps;
};

static inline uint64_t ram_pass(struct ram_link *l, uint64_t now, uint64_t bytes)
{
	const uint64_t ps = now * 1000;

	l->free_ps = (l->free_ps > ps ? l->free_ps : ps) + bytes * 1000000 / (l->rate / 1000000);
	return l->free_ps / 1000;
}

#endif
