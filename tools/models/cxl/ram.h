/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory below a simulated machine's last-level cache. It holds the program's data, and times
 * loads and stores of lines of 64 bytes. Requests must come in the order of their times.
 */
#ifndef TOOLS_CXL_RAM_H
#define TOOLS_CXL_RAM_H

#include <annex/models/cxlssd.h>
#include "board.h"

#define RAM_LINE 64u
#define RAM_PAGE 4096u

/*
 * struct ram_stats - Counters of a run. For SkyByte's machine @reads, @hits and @late count stores
 * too.
 * @faults: pages paged in by the host's runtime.
 * @reads: loads in the endpoint (annex/models/cxlssd.h).
 * @hits: loads that hit in its DRAM.
 * @late: hits on data still in flight.
 * @flash_reads: pages read from flash.
 * @flash_writes: pages programmed.
 * @copied: pages copied by garbage collection.
 * @promoted: pages moved to host memory.
 * @demoted: pages moved back.
 * @host: accesses served by host memory.
 */
struct ram_stats {
	uint64_t faults;
	uint64_t reads, hits, late;
	uint64_t flash_reads, flash_writes, copied;
	uint64_t promoted, demoted, host;
};

/*
 * struct ram - A memory.
 * @load: load a line at @t->now; sets @t->done and @t->told.
 * @store: store some bytes of a line, likewise.
 * @settle: complete all stores; with flash, write them to flash.
 * @read: read stored bytes after @settle.
 * @stats: read the counters.
 * @close: free the memory.
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
 * Create the memory of board @m with @bytes of @data, one function for each kind of memory. Return:
 * 0, or a negative errno with the line set.
 */
int ram_local_open(const struct board *m, const char *data, uint64_t bytes, struct ram **out);
int ram_paged_open(const struct board *m, const char *data, uint64_t bytes, struct ram **out);
int ram_port_open(const struct board *m, const char *data, uint64_t bytes, struct ram **out);
int ram_tier_open(const struct board *m, const char *data, uint64_t bytes, struct ram **out);

/*
 * struct ram_ssd - An endpoint that holds the data.
 * @s: the endpoint.
 * @base: its time at the start of the simulation.
 * @before: its counters at that time.
 * @bytes: bytes of the data.
 * @others: pages of other data after the data.
 */
struct ram_ssd {
	struct annex_cxlssd *s;
	uint64_t base;
	struct annex_cxlssd_stats before;
	uint64_t bytes, others;
};

/*
 * ram_ssd_open() - Create the endpoint of board @m. All of its flash has been written, so that
 * writes cause garbage collection. @others: dirty pages of other data that fill its DRAM.
 * ram_ssd_alone() - Drop the other data.
 * ram_ssd_settle() - Write all data to flash.
 * ram_ssd_stats() - Read its counters since the start of the simulation.
 */
int ram_ssd_open(const struct board *m, const char *data, uint64_t bytes, uint64_t others,
		 struct ram_ssd *out);
int ram_ssd_alone(struct ram_ssd *d);
int ram_ssd_settle(struct ram_ssd *d);
void ram_ssd_stats(const struct ram_ssd *d, struct ram_stats *out);

/*
 * struct ram_link - A link.
 * @rate: bytes a second.
 * @free_ps: time at which it is idle, picoseconds.
 */
struct ram_link {
	uint64_t rate, free_ps;
};

/* ram_pass() - Send @bytes at @now. Return: the time at which the link has passed them. */
static inline uint64_t ram_pass(struct ram_link *l, uint64_t now, uint64_t bytes)
{
	const uint64_t ps = now * 1000;

	l->free_ps = (l->free_ps > ps ? l->free_ps : ps) + bytes * 1000000 / (l->rate / 1000000);
	return l->free_ps / 1000;
}

#endif
