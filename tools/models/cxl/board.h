/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A simulated machine: cores and caches, and the memory below them. Its numbers come from papers
 * and data sheets; board.c says from which.
 */
#ifndef TOOLS_CXL_BOARD_H
#define TOOLS_CXL_BOARD_H

#include <stdbool.h>
#include <annex/models/cxlport.h>
#include <annex/models/cxltask.h>

/* Memory below the last-level cache. */
enum board_memory {
	BOARD_LOCAL, /* all data in local memory */
	BOARD_UVM,   /* pages come from the host's memory when they are touched */
	BOARD_GDS,   /* or from an SSD */
	BOARD_PORT,  /* a CXL endpoint behind a root port */
	BOARD_TIER,  /* a CXL-SSD, and host memory for hot pages */
};

/*
 * struct board - Times in nanoseconds, sizes in bytes, rates in bytes a second.
 * @instr_ps: picoseconds of an instruction. @fetch: a store fetches its line first.
 * @buffer: lines that the last-level cache can have on their way out.
 * @ahead: loads that a thread may have under way until it computes or stores; 0: one, for
 * which it waits at once.
 * @share: data divided by local memory, for UVM and GPUDirect storage.
 * @media, @media_percent, @dram to @append_ns: of the endpoint, as keys of its URI have it; with
 * @log, @log_bytes of @dram are its write log. @promote: pages of more than @hot accesses go to
 * @host bytes of host memory. @policy: of annex/models/cxltask.h.
 */
struct board {
	uint32_t cores, threads;
	uint64_t instr_ps;
	uint64_t l1, llc;
	uint64_t llc_ns;
	uint32_t buffer;
	bool fetch;
	uint32_t ahead;
	enum board_memory memory;
	uint64_t local_ns, local_rate;
	uint64_t link_ns, link_rate;
	double share;
	uint64_t runtime_ns;
	struct annex_cxlport_opts port;
	const char *media;
	uint32_t media_percent, erase_percent;
	uint64_t dram;
	uint32_t unit;
	uint32_t queue;
	uint32_t channels, dies;
	bool ssd_fetch;
	uint32_t block_pages;
	bool log;
	uint64_t log_bytes;
	uint32_t spare;
	uint64_t look_ns, dram_ns, append_ns;
	bool promote;
	uint64_t host;
	uint32_t hot;
	uint64_t migration_rate;
	uint64_t threshold_ns, switch_ns;
	int policy;
	double scale;
	uint64_t seed;
};

/* board_gpu() - CXL-GPU's. board_cpu() - SkyByte's. */
void board_gpu(struct board *m);
void board_cpu(struct board *m);

/*
 * board_set() - Set a number by the name of its option; @text is as long-lived as the board.
 * Return: 0; -ENOENT (no such name, no line set); -EINVAL.
 * board_name() - Names, from 0 up to the first NULL.
 */
int board_set(struct board *m, const char *name, const char *text);
const char *board_name(unsigned int i);

#endif
