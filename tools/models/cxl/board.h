/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A simulated machine: cores and caches, and the memory below them. board.c names the papers and
 * data sheets that its numbers come from.
 */
#ifndef TOOLS_CXL_BOARD_H
#define TOOLS_CXL_BOARD_H

#include <stdbool.h>
#include <annex/models/cxlport.h>
#include <annex/models/cxltask.h>

/* Memory below the last-level cache. */
enum board_memory {
	BOARD_LOCAL, /* all data in local memory */
	BOARD_UVM,   /* the host's memory, paged in by faults */
	BOARD_GDS,   /* an SSD, paged in by faults */
	BOARD_PORT,  /* a CXL endpoint behind a root port */
	BOARD_TIER,  /* a CXL-SSD, and host memory for hot pages */
};

/*
 * struct board - A machine. Times in nanoseconds, sizes in bytes, rates in bytes a second.
 * @cores: number of cores.
 * @threads: number of threads.
 * @instr_ps: picoseconds of an instruction.
 * @l1: L1 of a core.
 * @llc: last-level cache.
 * @llc_ns: time of a hit in it.
 * @buffer: lines that it can be writing back at a time.
 * @fetch: a store fetches its line first.
 * @ahead: loads that a thread may have in flight until it computes or stores; 0: a thread waits for
 *	each load.
 * @memory: memory below the last-level cache.
 * @local_ns: latency of local memory.
 * @local_rate: rate of local memory.
 * @link_ns: latency of the link, one way.
 * @link_rate: rate of the link, each way.
 * @share: data divided by local memory, for UVM and GPUDirect storage.
 * @runtime_ns: time of the host's runtime for a page fault.
 * @port: the root port.
 * @media: as in the endpoint's URI (annex/models/cxlssd.h), like the next members.
 * @media_percent: times of the flash, in percent.
 * @erase_percent: times of its erases, in percent.
 * @dram: DRAM of the endpoint.
 * @unit: unit of the cache in that DRAM.
 * @queue: depth of the endpoint's queue.
 * @channels: channels of the flash.
 * @dies: dies of a channel.
 * @ssd_fetch: a store to a unit that the endpoint's DRAM lacks fetches the rest of it.
 * @block_pages: pages of a block.
 * @log: @log_bytes of @dram are a write log.
 * @log_bytes: size of the write log.
 * @spare: spare flash, in percent.
 * @look_ns: time of a lookup in the endpoint.
 * @dram_ns: time of an access to its DRAM.
 * @append_ns: time of an append to its log.
 * @promote: pages of more than @hot accesses move to host memory.
 * @host: host memory for hot pages.
 * @hot: accesses that make a page hot.
 * @migration_rate: rate of moving hot pages.
 * @threshold_ns: a longer announced wait gives up the core.
 * @switch_ns: time of a switch of threads.
 * @policy: an enum annex_cxltask_policy.
 * @scale: size of programs.
 * @seed: seed of their input.
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

/* board_gpu() - CXL-GPU's machine. board_cpu() - SkyByte's machine. */
void board_gpu(struct board *m);
void board_cpu(struct board *m);

/*
 * board_set() - Set a number by the name of its option; @text must live as long as the board.
 * Return: 0; -ENOENT (no such name, no line set); -EINVAL.
 * board_name() - Names, from index 0 to the first NULL.
 */
int board_set(struct board *m, const char *name, const char *text);
const char *board_name(unsigned int i);

/*
 * board_check_value() - Check a value before any run. @front precedes the option's name in the
 * error line: "--" or "--sweep ". Return: 0; -ENOENT (no such option, no line set); another
 * negative errno with the line set.
 */
int board_check_value(const char *front, const char *name, const char *value);

/* board_check() - Check a board for values that exclude each other. @config: its configuration. */
int board_check(const char *config, const struct board *m);

#endif
