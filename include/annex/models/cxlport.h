/* SPDX-License-Identifier: MIT */
/*
 * The host's side of a CXL-SSD: a root port that reads speculatively and stores deterministically
 * (CXL-GPU, "Pushing GPU memory boundaries with the integration of CXL technologies"). Each
 * mechanism can be left out.
 *
 * Loads and stores come in virtual time, in the order of their times, each no earlier than the one
 * before. Two queues are below the port: the memory queue has the requests that the endpoint has
 * not answered yet; loads that find it full wait in the speculative reader's (SR) queue.
 *
 * Ordering and durability. A store is seen by every later load of this port when it has returned.
 * It lasts when a later annex_cxlport_fence() has returned. With deterministic stores, lines lie in
 * local memory while the endpoint is busy, and loads see these; whoever uses the endpoint past the
 * port sees what lay there before, until annex_cxlport_fence().
 *
 * One thread at a time.
 */
#ifndef ANNEX_CXLPORT_H
#define ANNEX_CXLPORT_H

#include <annex/models/cxlssd.h>

#ifdef __cplusplus
extern "C" {
#endif

struct annex_cxlport;

/**
 * enum annex_cxlport_reads - Speculative reads: requests to the endpoint (MemSpecRd, CXL 2.0) to
 * fetch bytes into its DRAM before they are read.
 * @ANNEX_CXLPORT_PLAIN: none.
 * @ANNEX_CXLPORT_NAIVE: the line of each load, as soon as it comes.
 * @ANNEX_CXLPORT_DYNAMIC: from the line of each load on, 256 bytes up to 1 KiB: more while the
 *	endpoint says that its load is light, less while it is moderate, none from when it is severe
 *	until it is light.
 * @ANNEX_CXLPORT_WINDOW: as many bytes before the load and behind it: the fewer before it the more
 *	requests there are under way, and behind it the more wait.
 */
enum annex_cxlport_reads {
	ANNEX_CXLPORT_PLAIN,
	ANNEX_CXLPORT_NAIVE,
	ANNEX_CXLPORT_DYNAMIC,
	ANNEX_CXLPORT_WINDOW,
};

/**
 * struct annex_cxlport_opts - Mechanisms and times. Zero means the default.
 * @reads: speculative reads (none).
 * @deterministic: stores are released at once, and kept in local memory while the endpoint has
 *	internal tasks (no).
 * @link_ns: of a request or a response on the link (20).
 * @local_ns: of a store to local memory, or a load from it (46).
 * @queue: entries of the memory queue, and of the SR queue (32).
 * @reserved: bytes of local memory for lines that wait (1 MiB).
 */
struct annex_cxlport_opts {
	enum annex_cxlport_reads reads;
	bool deterministic;
	uint64_t link_ns;
	uint64_t local_ns;
	uint32_t queue;
	uint64_t reserved;
};

/**
 * annex_cxlport_switches() - Switch mechanisms by their names.
 * @names: "none", or some of "naive", "dynamic", "sr" (of which the last counts) and "ds", with
 *	commas between.
 * @opts: gets them.
 *
 * Return: 0; -EINVAL (another name).
 */
int annex_cxlport_switches(const char *names, struct annex_cxlport_opts *opts);

/**
 * annex_cxlport_create() - Make a port to an endpoint.
 * @s: the endpoint, which outlives the port.
 * @opts: NULL: the defaults.
 * @out: the port, to be given back with annex_cxlport_destroy().
 *
 * Return: 0; -EINVAL (no queue entry, less than a line reserved); -ENOMEM.
 */
int annex_cxlport_create(struct annex_cxlssd *s, const struct annex_cxlport_opts *opts,
			 struct annex_cxlport **out);

/**
 * annex_cxlport_destroy() - Give the port back.
 * @p: the port; may be NULL.
 *
 * Return: 0; an error of annex_cxlport_fence(), which it does first.
 */
int annex_cxlport_destroy(struct annex_cxlport *p);

/**
 * annex_cxlport_load() - Load bytes of one line.
 * @p: the port.
 * @at: offset of the first.
 * @buf: where they go.
 * @bytes: how many, up to the end of the line of ANNEX_CXLSSD_LINE bytes.
 * @t: @now: when the load comes; gets @done: when the bytes are there, @hit and @late of the
 *	endpoint, @told: when the request was taken into the memory queue.
 *
 * Return: as annex_cxlssd_read().
 */
int annex_cxlport_load(struct annex_cxlport *p, uint64_t at, void *buf, size_t bytes,
		       struct annex_cxlssd_time *t);

/**
 * annex_cxlport_store() - Store bytes of one line.
 * @p: the port.
 * @at: offset of the first.
 * @buf: the bytes.
 * @bytes: how many, up to the end of the line.
 * @t: @now: when the store comes; gets @told: when the program may go on, @done: when it is
 *	answered.
 *
 * Return: as annex_cxlssd_write().
 */
int annex_cxlport_store(struct annex_cxlport *p, uint64_t at, const void *buf, size_t bytes,
			struct annex_cxlssd_time *t);

/**
 * annex_cxlport_fence() - Have all stores last that have returned.
 * @p: the port.
 * @t: as above.
 *
 * Return: as annex_cxlssd_fence().
 */
int annex_cxlport_fence(struct annex_cxlport *p, struct annex_cxlssd_time *t);

/**
 * struct annex_cxlport_stats - Since the port was made.
 * @loads: loads.
 * @stores: stores.
 * @hits: loads that the endpoint's DRAM had, or that were on their way there.
 * @late: of these, those that were on their way.
 * @local: loads of lines that waited in local memory.
 * @speculated: speculative reads.
 * @speculated_bytes: bytes of these.
 * @halts: times that they were halted.
 * @kept: stores that waited in local memory.
 * @most_kept: lines that waited at once.
 */
struct annex_cxlport_stats {
	uint64_t loads;
	uint64_t stores;
	uint64_t hits;
	uint64_t late;
	uint64_t local;
	uint64_t speculated;
	uint64_t speculated_bytes;
	uint64_t halts;
	uint64_t kept;
	uint64_t most_kept;
};

/**
 * annex_cxlport_get_stats() - Read the counters.
 * @p: the port.
 * @out: the counters.
 */
void annex_cxlport_get_stats(const struct annex_cxlport *p, struct annex_cxlport_stats *out);

#ifdef __cplusplus
}
#endif
#endif
