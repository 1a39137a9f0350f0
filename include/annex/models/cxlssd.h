/* SPDX-License-Identifier: MIT */
/*
 * A CXL-SSD in the process: an endpoint with flash behind a small DRAM, accessed by bytes (CXL.mem)
 * and by blocks (NVMe). Its data is in a backing file; its latencies are those of a model.
 *
 *	cxlssd:/path?size=1G	in a file, which is created if it does not exist
 *	cxlssd:?size=64M	in memory of the process
 *
 *	size=BYTES	capacity for the host; optional if the file exists
 *	media=NAME	times of the flash: optane, znand (default), ull, slc, nand, or a file with
 *			a / in its name
 *	media_percent=N	scale the times of the flash, not of DRAM, to this percentage, default 100
 *	erase_percent=N	scale the time of an erase in addition, default 100
 *	channels=, dies=, planes=, pages=, page=
 *			geometry: 8 x 1 x 1 planes, blocks of 256 pages of 4096 bytes
 *	spare=PERCENT	flash beyond size, default 7
 *	dram=BYTES	lines in the internal DRAM, default size / 64, at least 1 MiB
 *	log=none	DRAM caches pages, and writes them back
 *	log=skybyte	a part of DRAM is a log of stored lines, which is cleaned when half of it is
 *			full (SkyByte, arXiv:2501.10682)
 *	log=bytefs	the same, cleaned when three quarters are full, with transactions
 *			(ByteFS, arXiv:2501.04993)
 *	log_size=BYTES	size of the log, default 1/8 (skybyte) or 1/2 (bytefs) of dram
 *	unit=BYTES	granularity of the DRAM cache, up to a page; default 4096
 *	fetch=0		do not fetch the rest of an absent unit for a store of whole lines
 *	buffered=1	a block write completes when a write buffer has the data, and not when
 *			flash has it
 *	queue=N		requests that the endpoint accepts at once, default 64
 *	durable=host	durable data survives a power loss of the host (default)
 *	durable=model	durable data survives the death of the process only
 *	delay=1		calls take the time of the model
 *
 * Ordering and durability. A store (annex_cxlssd_write()) that has returned is visible to every
 * later call. It is durable when a later annex_cxlssd_fence(), by any thread, has returned. If the
 * power is lost before, any subset of its 64-byte lines may survive, and of several stores any
 * subset of their lines. Block writes are atomic per page. DRAM keeps fenced lines, like a device
 * with capacitors; annex_cxlssd_flush() writes them to flash too.
 *
 * Any number of threads may use a handle. A child of fork() can close it, which changes nothing;
 * its stores fail with -ECHILD.
 */
#ifndef ANNEX_CXLSSD_H
#define ANNEX_CXLSSD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct annex_cxlssd;
struct annex_dev;
struct annex_dev_opts;

#define ANNEX_CXLSSD_LINE 64u

/**
 * enum annex_cxlssd_load - Load of the endpoint: DevLoad of a response (CXL 3.1, 3.3.4).
 * @ANNEX_CXLSSD_LIGHT: less than a quarter of its queue is in use.
 * @ANNEX_CXLSSD_OPTIMAL: less than half.
 * @ANNEX_CXLSSD_MODERATE: less than three quarters.
 * @ANNEX_CXLSSD_SEVERE: more; or garbage collection runs, or starts with the next write to flash.
 */
enum annex_cxlssd_load {
	ANNEX_CXLSSD_LIGHT,
	ANNEX_CXLSSD_OPTIMAL,
	ANNEX_CXLSSD_MODERATE,
	ANNEX_CXLSSD_SEVERE,
};

/**
 * struct annex_cxlssd_time - Times of a request, in nanoseconds of any clock.
 * @now: set by the caller: arrival of the request at the endpoint.
 * @done: departure of the response. A host that switches threads instead of waiting (SkyByte)
 *	learns this time at @told.
 * @told: end of the endpoint's lookup of the address.
 * @load: load of the endpoint, in the response.
 * @hit: all bytes were in DRAM, or being fetched.
 * @late: some of them were being fetched.
 */
struct annex_cxlssd_time {
	uint64_t now;
	uint64_t done;
	uint64_t told;
	enum annex_cxlssd_load load;
	bool hit;
	bool late;
};

/**
 * annex_cxlssd_open() - Open an endpoint, or create it.
 * @uri: as above.
 * @out: the endpoint; release it with annex_cxlssd_close().
 *
 * Return: 0; -EINVAL (the URI, an impossible geometry, DRAM smaller than a page; the file was
 * created with other parameters); -ERANGE; -ENOSPC (the file does not fit on its disk; no spare
 * flash); -EBUSY (another process has the file open); -EILSEQ (not a backing file, or a damaged
 * one); -EPROTONOSUPPORT (another version); -EIO; -ENOENT, -EACCES and other errors of open();
 * -ENOMEM.
 */
int annex_cxlssd_open(const char *uri, struct annex_cxlssd **out);

/**
 * annex_cxlssd_close() - Flush and close.
 * @s: the endpoint; may be NULL. No other thread may be using it.
 *
 * Return: 0, or an error of annex_cxlssd_flush(): fenced data is then still there at the next open.
 * The handle is closed in any case.
 */
int annex_cxlssd_close(struct annex_cxlssd *s);

/**
 * annex_cxlssd_bytes() - Capacity of an endpoint.
 * @s: the endpoint.
 *
 * Return: bytes.
 */
uint64_t annex_cxlssd_bytes(const struct annex_cxlssd *s);

/**
 * annex_cxlssd_readonly() - Whether an endpoint was opened with readonly=1.
 * @s: the endpoint.
 *
 * Return: true: calls that would change it return -EROFS, and its file is not written.
 */
bool annex_cxlssd_readonly(const struct annex_cxlssd *s);

/**
 * annex_cxlssd_page() - Size of a flash page, the unit of block writes.
 * @s: the endpoint.
 *
 * Return: bytes.
 */
uint32_t annex_cxlssd_page(const struct annex_cxlssd *s);

/**
 * annex_cxlssd_read() - Load bytes.
 * @s: the endpoint.
 * @at: offset of the first byte.
 * @buf: receives the bytes.
 * @bytes: number of bytes.
 * @t: virtual time of the request; NULL: now.
 *
 * A page with a wrong checksum stays damaged until it is overwritten as a whole, or trimmed. A log
 * accepts lines of such a page without reading it. Unless they cover the whole page, they are lost
 * with it when the log is cleaned, and a warning is logged.
 *
 * Return: 0; -EINVAL (beyond the end); -EIO (a damaged flash page); errors of the file.
 */
int annex_cxlssd_read(struct annex_cxlssd *s, uint64_t at, void *buf, size_t bytes,
		      struct annex_cxlssd_time *t);

/**
 * annex_cxlssd_write() - Store bytes.
 * @s: the endpoint.
 * @at: offset of the first byte.
 * @buf: the bytes.
 * @bytes: number of bytes.
 * @t: as for annex_cxlssd_read().
 *
 * Return: as annex_cxlssd_read().
 */
int annex_cxlssd_write(struct annex_cxlssd *s, uint64_t at, const void *buf, size_t bytes,
		       struct annex_cxlssd_time *t);

/**
 * annex_cxlssd_prefetch() - Fetch bytes that will be read into DRAM: MemSpecRd.
 * @s: the endpoint.
 * @at: offset of the first byte.
 * @bytes: number of bytes.
 * @t: as for annex_cxlssd_read(); the response does not wait for the bytes.
 *
 * Return: as annex_cxlssd_read().
 */
int annex_cxlssd_prefetch(struct annex_cxlssd *s, uint64_t at, size_t bytes,
			  struct annex_cxlssd_time *t);

/**
 * annex_cxlssd_release() - Hint that bytes will not be read, for example because the host has a
 * copy.
 * @s: the endpoint.
 * @at: offset of the first byte.
 * @bytes: number of bytes.
 * @t: as for annex_cxlssd_read().
 *
 * DRAM drops clean units that are wholly within the range, which makes room for others. All bytes
 * stay readable.
 *
 * Return: as annex_cxlssd_read().
 */
int annex_cxlssd_release(struct annex_cxlssd *s, uint64_t at, size_t bytes,
			 struct annex_cxlssd_time *t);

/**
 * annex_cxlssd_fence() - Make completed stores, block writes and trims durable.
 * @s: the endpoint.
 * @t: as for annex_cxlssd_read().
 *
 * Return: 0; an error of the file: it is unknown which of them are durable, and no later write will
 * be.
 */
int annex_cxlssd_fence(struct annex_cxlssd *s, struct annex_cxlssd_time *t);

/**
 * annex_cxlssd_flush() - annex_cxlssd_fence(), and write the contents of DRAM to flash.
 * @s: the endpoint.
 * @t: as for annex_cxlssd_read().
 *
 * Return: as annex_cxlssd_fence().
 */
int annex_cxlssd_flush(struct annex_cxlssd *s, struct annex_cxlssd_time *t);

/**
 * annex_cxlssd_read_blocks() - Read whole pages by the block interface; DRAM does not cache them.
 * @s: the endpoint.
 * @at: offset of the first byte, a multiple of annex_cxlssd_page().
 * @buf: receives the bytes.
 * @bytes: number of bytes, a multiple of annex_cxlssd_page().
 * @t: as for annex_cxlssd_read().
 *
 * Both interfaces access the same bytes.
 *
 * Return: as annex_cxlssd_read().
 */
int annex_cxlssd_read_blocks(struct annex_cxlssd *s, uint64_t at, void *buf, size_t bytes,
			     struct annex_cxlssd_time *t);

/**
 * annex_cxlssd_write_blocks() - Write whole pages directly to flash.
 * @s: the endpoint.
 * @at: offset of the first byte, a multiple of annex_cxlssd_page().
 * @buf: the bytes.
 * @bytes: number of bytes, a multiple of annex_cxlssd_page().
 * @t: as for annex_cxlssd_read().
 *
 * Return: as annex_cxlssd_read().
 */
int annex_cxlssd_write_blocks(struct annex_cxlssd *s, uint64_t at, const void *buf, size_t bytes,
			      struct annex_cxlssd_time *t);

/**
 * annex_cxlssd_trim() - Zero whole pages, and free their flash.
 * @s: the endpoint.
 * @at: offset of the first byte, a multiple of annex_cxlssd_page().
 * @bytes: number of bytes, a multiple of annex_cxlssd_page().
 * @t: as for annex_cxlssd_read().
 *
 * Return: as annex_cxlssd_read().
 */
int annex_cxlssd_trim(struct annex_cxlssd *s, uint64_t at, uint64_t bytes,
		      struct annex_cxlssd_time *t);

/**
 * annex_cxlssd_open_dev() - Open an NVMe device (annex/device.h) for an endpoint's blocks.
 * @s: the endpoint. It must outlive the device.
 * @params: serve= and fault= parameters as of a mem: URI, for example
 *	"serve=thread&fault=delay,us=100"; NULL: none.
 * @opts: the options; NULL means the defaults.
 * @out: the device; release it with annex_dev_close(), which flushes.
 *
 * The device has one namespace, with the endpoint's pages as logical blocks. Both interfaces access
 * the same bytes: a command sees stores that returned before its submission, and loads see
 * completed commands. Flush, and a write with ANNEX_IO_FUA, imply annex_cxlssd_fence(), which makes
 * earlier stores durable as well. Deallocated and zeroed blocks are trimmed. A page with a wrong
 * checksum is an unrecovered read error, a failure of the file a write fault. With delay=1 commands
 * complete at the time of the model, and commands on different dies overlap.
 *
 * An endpoint may have several devices. annex_dev_claim() of one device excludes neither the others
 * nor stores.
 *
 * Return: 0; -EINVAL (a parameter, or an option); -E2BIG (@params is longer than a
 * URI); -ENOMEM.
 */
int annex_cxlssd_open_dev(struct annex_cxlssd *s, const char *params,
			  const struct annex_dev_opts *opts, struct annex_dev **out);

struct annex_cxlssd_tx;

/**
 * annex_cxlssd_begin() - Begin a transaction: stores that become durable together, or not at all.
 * @s: an endpoint with log=bytefs.
 * @out: the transaction, to be ended by annex_cxlssd_commit() or annex_cxlssd_abort(), while the
 *	endpoint is open. One thread at a time may use it.
 *
 * Its stores become visible to loads at the commit, all at once.
 *
 * Return: 0; -EOPNOTSUPP (another log); -ENOMEM.
 */
int annex_cxlssd_begin(struct annex_cxlssd *s, struct annex_cxlssd_tx **out);

/**
 * annex_cxlssd_tx_write() - Store bytes in a transaction.
 * @tx: the transaction.
 * @at: offset of the first byte.
 * @buf: the bytes.
 * @bytes: number of bytes.
 *
 * Return: 0; -EINVAL (beyond the end); -E2BIG (the transaction's lines exceed half of the log, or a
 * quarter of DRAM); -ENOMEM. An error leaves the transaction unchanged.
 */
int annex_cxlssd_tx_write(struct annex_cxlssd_tx *tx, uint64_t at, const void *buf, size_t bytes);

/**
 * annex_cxlssd_tx_write_blocks() - Write whole pages in a transaction.
 * @tx: the transaction.
 * @at: offset of the first byte, a multiple of annex_cxlssd_page().
 * @buf: the bytes.
 * @bytes: number of bytes, a multiple of annex_cxlssd_page().
 *
 * Return: as annex_cxlssd_tx_write().
 */
int annex_cxlssd_tx_write_blocks(struct annex_cxlssd_tx *tx, uint64_t at, const void *buf,
				 size_t bytes);

/**
 * annex_cxlssd_commit() - Commit a transaction, which is durable if this returns 0.
 * @tx: the transaction; it is freed.
 * @t: as for annex_cxlssd_read().
 *
 * Earlier completed stores outside of the transaction become durable as well.
 *
 * Return: 0; an error of the file: no store of the transaction is visible; it is unknown whether it
 * is durable, and no later write will be.
 */
int annex_cxlssd_commit(struct annex_cxlssd_tx *tx, struct annex_cxlssd_time *t);

/**
 * annex_cxlssd_commit_ordered() - Commit a transaction, without waiting for the host's disk.
 * @tx: the transaction; it is freed.
 * @t: as for annex_cxlssd_read().
 *
 * With durable=host the transaction is durable when a later fence or annex_cxlssd_commit() has
 * returned. A power loss before that undoes all or nothing of it, and never an earlier transaction
 * without this one. Pages that annex_cxlssd_write_blocks() writes later may become durable earlier.
 * With durable=model this is annex_cxlssd_commit().
 *
 * Return: as annex_cxlssd_commit().
 */
int annex_cxlssd_commit_ordered(struct annex_cxlssd_tx *tx, struct annex_cxlssd_time *t);

/**
 * annex_cxlssd_waits() - Whether a committed transaction may not be durable yet.
 * @s: the endpoint.
 */
bool annex_cxlssd_waits(struct annex_cxlssd *s);

/**
 * annex_cxlssd_abort() - Discard a transaction.
 * @tx: the transaction; it is freed; may be NULL.
 */
void annex_cxlssd_abort(struct annex_cxlssd_tx *tx);

/**
 * annex_cxlssd_unfenced() - Lines that were stored since the last fence and are in DRAM.
 * @s: the endpoint.
 * @lines: numbers of lines (offset / ANNEX_CXLSSD_LINE), unordered; may be NULL.
 * @n: size of @lines.
 *
 * Return: number of such lines.
 */
size_t annex_cxlssd_unfenced(struct annex_cxlssd *s, uint64_t *lines, size_t n);

/**
 * annex_cxlssd_cut() - Simulate a power loss, and close the endpoint.
 * @s: the endpoint; the handle is closed.
 * @lines: unfenced lines that survive.
 * @n: number of these lines.
 *
 * Return: 0, or an error of the file.
 */
int annex_cxlssd_cut(struct annex_cxlssd *s, const uint64_t *lines, size_t n);

/**
 * struct annex_cxlssd_stats - Counters since the endpoint was opened.
 * @reads: lines loaded.
 * @writes: lines stored.
 * @hits: loads and stores of lines that were in DRAM, or being fetched.
 * @late: of these, lines that were being fetched.
 * @prefetches: units fetched by annex_cxlssd_prefetch().
 * @fences: fences with stores before them.
 * @flash_reads: pages read.
 * @flash_writes: pages programmed, without @copied.
 * @copied: pages programmed by garbage collection.
 * @cleaned: number of times that the log was cleaned.
 * @coalesced: lines of the log that were stored again before it was cleaned.
 * @erased: blocks erased.
 * @least_worn: fewest erases of a block since the file was created.
 * @most_worn: most erases of a block since the file was created.
 * @valid: number of valid pages.
 * @dirty: lines in DRAM that are newer than flash.
 */
struct annex_cxlssd_stats {
	uint64_t reads, writes;
	uint64_t hits, late;
	uint64_t prefetches, fences;
	uint64_t flash_reads, flash_writes, copied;
	uint64_t cleaned, coalesced;
	uint64_t erased;
	uint32_t least_worn, most_worn;
	uint64_t valid, dirty;
};

/**
 * annex_cxlssd_get_stats() - Read the counters.
 * @s: the endpoint.
 * @out: the counters.
 */
void annex_cxlssd_get_stats(struct annex_cxlssd *s, struct annex_cxlssd_stats *out);

#ifdef __cplusplus
}
#endif
#endif
