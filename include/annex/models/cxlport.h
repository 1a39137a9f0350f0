/* SPDX-License-Identifier: MIT */
/*
 * The host's side of a CXL-SSD: a root port with speculative reads and deterministic stores
 * (CXL-GPU, "Pushing GPU memory boundaries with the integration of CXL technologies"). Each
 * mechanism can be disabled.
 *
 * Loads and stores have virtual times, which must not decrease from call to call. The port has two
 * queues: the memory queue has requests that the endpoint has not answered yet; loads that find it
 * full wait in the queue of the speculative reader (SR).
 *
 * Ordering and durability. A store that has returned is visible to every later load of this port.
 * It is durable when a later annex_cxlport_fence() has returned. With deterministic stores, lines
 * stay in local memory while the endpoint is busy, and loads see these lines. Direct accesses to
 * the endpoint see the older bytes until annex_cxlport_fence().
 *
 * One thread at a time may use a port.
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
 * @ANNEX_CXLPORT_NAIVE: the line of each load, at its arrival.
 * @ANNEX_CXLPORT_DYNAMIC: 256 bytes to 1 KiB from the line of each load on: more while the endpoint
 *	reports a light load, less while the load is moderate, none after a severe load until it is
 *	light again.
 * @ANNEX_CXLPORT_WINDOW: a window that extends by that number of bytes before the load, and equally
 *	far after it. Each request in it that is in the memory queue shortens the part before the
 *	load by a line, each that waits in the SR queue the part after it.
 */
enum annex_cxlport_reads {
	ANNEX_CXLPORT_PLAIN,
	ANNEX_CXLPORT_NAIVE,
	ANNEX_CXLPORT_DYNAMIC,
	ANNEX_CXLPORT_WINDOW,
};

/**
 * struct annex_cxlport_opts - Options of annex_cxlport_create(). Zero means the default.
 * @reads: speculative reads (default: none).
 * @deterministic: stores complete at once, and stay in local memory while the endpoint runs
 *	internal tasks.
 * @link_ns: latency of a request or a response on the link (default 20).
 * @local_ns: latency of a store to local memory, or a load from it (default 46).
 * @queue: entries of the memory queue, and of the SR queue (default 32).
 * @reserved: bytes of local memory for waiting lines (default 1 MiB).
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
 * annex_cxlport_switches() - Select mechanisms by their names.
 * @names: "none", or a comma-separated list of "naive", "dynamic", "sr" (the last one of these
 *	counts) and "ds".
 * @opts: set to the mechanisms.
 *
 * Return: 0; -EINVAL (another name).
 */
int annex_cxlport_switches(const char *names, struct annex_cxlport_opts *opts);

/**
 * annex_cxlport_create() - Make a port to an endpoint.
 * @s: the endpoint, which must outlive the port.
 * @opts: the options; NULL means the defaults.
 * @out: the port; release it with annex_cxlport_destroy().
 *
 * Return: 0; -EINVAL (no queue entry, less than a line reserved); -ENOMEM.
 */
int annex_cxlport_create(struct annex_cxlssd *s, const struct annex_cxlport_opts *opts,
			 struct annex_cxlport **out);

/**
 * annex_cxlport_destroy() - Fence, and free a port.
 * @p: the port; may be NULL.
 *
 * Return: 0, or an error of annex_cxlport_fence().
 */
int annex_cxlport_destroy(struct annex_cxlport *p);

/**
 * annex_cxlport_load() - Load bytes of one line.
 * @p: the port.
 * @at: offset of the first byte.
 * @buf: receives the bytes.
 * @bytes: number of bytes, up to the end of the line of ANNEX_CXLSSD_LINE bytes.
 * @t: now is the time of the load. Sets done to the arrival of the bytes, told to the entry of the
 *	request into the memory queue, and hit and late as the endpoint does.
 *
 * Return: as annex_cxlssd_read().
 */
int annex_cxlport_load(struct annex_cxlport *p, uint64_t at, void *buf, size_t bytes,
		       struct annex_cxlssd_time *t);

/**
 * annex_cxlport_store() - Store bytes of one line.
 * @p: the port.
 * @at: offset of the first byte.
 * @buf: the bytes.
 * @bytes: number of bytes, up to the end of the line.
 * @t: now is the time of the store. Sets told to the time at which the program may continue, and
 *	done to the arrival of the answer.
 *
 * Return: as annex_cxlssd_write().
 */
int annex_cxlport_store(struct annex_cxlport *p, uint64_t at, const void *buf, size_t bytes,
			struct annex_cxlssd_time *t);

/**
 * annex_cxlport_fence() - Make all completed stores durable.
 * @p: the port.
 * @t: as for annex_cxlport_store().
 *
 * Return: as annex_cxlssd_fence().
 */
int annex_cxlport_fence(struct annex_cxlport *p, struct annex_cxlssd_time *t);

/**
 * struct annex_cxlport_stats - Counters since the port was created.
 * @loads: loads.
 * @stores: stores.
 * @hits: loads of lines that were in the endpoint's DRAM, or being fetched.
 * @late: of these, lines that were being fetched.
 * @local: loads of lines that waited in local memory.
 * @speculated: speculative reads.
 * @speculated_bytes: bytes of speculative reads.
 * @halts: number of times that speculative reads were halted.
 * @kept: stores that waited in local memory.
 * @most_kept: most lines that waited at once.
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
