/* SPDX-License-Identifier: MIT */
/*
 * A CXL-SSD in the process: an endpoint with flash behind a small DRAM, which is reached by bytes
 * (CXL.mem) and by blocks (NVMe). Its data lie in a backing file; its times are those of a model.
 *
 *	cxlssd:/path?size=1G	kept in a file, which is made if it is not there
 *	cxlssd:?size=64M	kept in memory of the process
 *
 *	size=BYTES	shown to the host; may be left out when the file is there
 *	media=NAME	optane, znand (default), ull, slc, nand, or a file with a / in its name
 *	media_percent=N	its times, in percent of that: 100
 *	erase_percent=N	that of an erase, in percent of that: 100
 *	channels=, dies=, planes=, pages=, page=
 *			geometry: 8 x 1 x 1 planes, blocks of 256 pages of 4096 bytes
 *	spare=PERCENT	flash beyond size, default 7
 *	dram=BYTES	of lines in the internal DRAM, default size / 64, at least 1 MiB
 *	log=none	DRAM caches pages, and writes them back
 *	log=skybyte	a part of it is a log of stored lines, which is cleaned when half of it is
 *			full (SkyByte, arXiv:2501.10682)
 *	log=bytefs	the same, cleaned when three quarters are full, with transactions
 *			(ByteFS, arXiv:2501.04993)
 *	log_size=BYTES	of dram, default 1/8 (skybyte) and 1/2 (bytefs)
 *	unit=BYTES	that DRAM caches at a time, up to a page; default 4096
 *	fetch=0		a store of whole lines to a unit that DRAM lacks does not fetch the rest
 *			of it (it does)
 *	buffered=1	a block that is written is answered for when a write buffer has it, and
 *			not when flash has it
 *	queue=N		requests that the endpoint takes in at once, default 64
 *	durable=host	a promise is kept in the backing file over a loss of power (default)
 *	durable=model	it is kept over the death of the process
 *	delay=1		calls take the time of the model
 *
 * Ordering and durability. A store (annex_cxlssd_write()) is seen by every later call when it has
 * returned. It lasts when a later annex_cxlssd_fence() has returned, from whichever thread. When
 * the power is cut before, any of its 64-byte lines may last and any may not, and so for lines of
 * several stores, in any order. Blocks are written whole or not at all, a page at a time. DRAM
 * keeps fenced lines, as by the capacitors of such a device; annex_cxlssd_flush() has flash hold
 * them too.
 *
 * A handle may be used by any number of threads. A child of fork() can close it,
 * which changes nothing; its stores do not last (-ECHILD).
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
 * enum annex_cxlssd_load - How busy the endpoint is: DevLoad of a response (CXL 3.1, 3.3.4).
 * @ANNEX_CXLSSD_LIGHT: less than a quarter of its queue is taken.
 * @ANNEX_CXLSSD_OPTIMAL: less than half.
 * @ANNEX_CXLSSD_MODERATE: less than three quarters.
 * @ANNEX_CXLSSD_SEVERE: more; or garbage is collected, or will be by the next write to flash.
 */
enum annex_cxlssd_load {
	ANNEX_CXLSSD_LIGHT,
	ANNEX_CXLSSD_OPTIMAL,
	ANNEX_CXLSSD_MODERATE,
	ANNEX_CXLSSD_SEVERE,
};

/**
 * struct annex_cxlssd_time - When a request comes, and when it is answered. Nanoseconds of any
 * clock.
 * @now: set by the caller: when the request arrives at the endpoint.
 * @done: when the response leaves it. A host that does not want to wait for so long (SkyByte)
 *	knows this at @told.
 * @told: when the endpoint has looked its address up.
 * @load: of the response.
 * @hit: DRAM had all of it, or it was on its way there.
 * @late: it was on its way there.
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
 * annex_cxlssd_open() - Open an endpoint, or make it.
 * @uri: as above.
 * @out: the endpoint, to be given back with annex_cxlssd_close().
 *
 * Return: 0; -EINVAL (the URI, flash that cannot be, DRAM smaller than a page; the file was made
 * with something else); -ERANGE; -ENOSPC (the file does not fit on its disk; nothing to spare);
 * -EBUSY (another process has the file); -EILSEQ (it is no backing file, or a damaged one);
 * -EPROTONOSUPPORT (of another version); -EIO; -ENOENT, -EACCES and others of open(); -ENOMEM.
 */
int annex_cxlssd_open(const char *uri, struct annex_cxlssd **out);

/**
 * annex_cxlssd_close() - Flush and close.
 * @s: the endpoint; may be NULL. No other thread may be using it.
 *
 * Return: 0; an error of annex_cxlssd_flush(): all that was fenced is there when it is opened
 * again. The handle is gone in any case.
 */
int annex_cxlssd_close(struct annex_cxlssd *s);

/**
 * annex_cxlssd_bytes() - Tell the size of an endpoint.
 * @s: the endpoint.
 *
 * Return: bytes that it shows.
 */
uint64_t annex_cxlssd_bytes(const struct annex_cxlssd *s);

/**
 * annex_cxlssd_readonly() - Tell whether an endpoint was opened by readonly=1.
 * @s: the endpoint.
 *
 * Return: true: calls that change it return -EROFS, and its file keeps every byte.
 */
bool annex_cxlssd_readonly(const struct annex_cxlssd *s);

/**
 * annex_cxlssd_page() - Tell the size of its flash pages, by which blocks are written.
 * @s: the endpoint.
 *
 * Return: bytes.
 */
uint32_t annex_cxlssd_page(const struct annex_cxlssd *s);

/**
 * annex_cxlssd_read() - Load bytes.
 * @s: the endpoint.
 * @at: offset of the first.
 * @buf: where they go.
 * @bytes: how many.
 * @t: when, in virtual time; NULL: now.
 *
 * A page whose checksum is wrong stays damaged until all of it is written, or trimmed. A log takes
 * lines of such a page without reading it; unless they are the whole page, they are lost with it
 * when the log is cleaned, which is told by a warning.
 *
 * Return: 0; -EINVAL (it crosses the end); -EIO (a damaged flash page); errors of the file.
 */
int annex_cxlssd_read(struct annex_cxlssd *s, uint64_t at, void *buf, size_t bytes,
		      struct annex_cxlssd_time *t);

/**
 * annex_cxlssd_write() - Store bytes.
 * @s: the endpoint.
 * @at: offset of the first.
 * @buf: the bytes.
 * @bytes: how many.
 * @t: as above.
 *
 * Return: as annex_cxlssd_read().
 */
int annex_cxlssd_write(struct annex_cxlssd *s, uint64_t at, const void *buf, size_t bytes,
		       struct annex_cxlssd_time *t);

/**
 * annex_cxlssd_prefetch() - Have DRAM fetch bytes that will be read: MemSpecRd.
 * @s: the endpoint.
 * @at: offset of the first.
 * @bytes: how many.
 * @t: as above; the response does not wait for them.
 *
 * Return: as annex_cxlssd_read().
 */
int annex_cxlssd_prefetch(struct annex_cxlssd *s, uint64_t at, size_t bytes,
			  struct annex_cxlssd_time *t);

/**
 * annex_cxlssd_release() - Tell that bytes will be read elsewhere, as by a host that has a copy.
 * @s: the endpoint.
 * @at: offset of the first.
 * @bytes: how many.
 * @t: as above.
 *
 * DRAM forgets units that lie wholly in there and that flash has, so that other units need not
 * leave it. All bytes stay readable.
 *
 * Return: as annex_cxlssd_read().
 */
int annex_cxlssd_release(struct annex_cxlssd *s, uint64_t at, size_t bytes,
			 struct annex_cxlssd_time *t);

/**
 * annex_cxlssd_fence() - Have all stores last that have returned, blocks and trims as well.
 * @s: the endpoint.
 * @t: as above.
 *
 * Return: 0; an error of the file: which of them last is not known then, and nothing that is
 * written afterwards will.
 */
int annex_cxlssd_fence(struct annex_cxlssd *s, struct annex_cxlssd_time *t);

/**
 * annex_cxlssd_flush() - The same, and have flash hold all that DRAM holds.
 * @s: the endpoint.
 * @t: as above.
 *
 * Return: as annex_cxlssd_fence().
 */
int annex_cxlssd_flush(struct annex_cxlssd *s, struct annex_cxlssd_time *t);

/**
 * annex_cxlssd_read_blocks() - Read whole pages by the block interface; DRAM does not cache them.
 * @s: the endpoint.
 * @at: offset of the first, a multiple of annex_cxlssd_page().
 * @buf: where they go.
 * @bytes: how many, such a multiple too.
 * @t: as above.
 *
 * Both interfaces show the same bytes.
 *
 * Return: as annex_cxlssd_read().
 */
int annex_cxlssd_read_blocks(struct annex_cxlssd *s, uint64_t at, void *buf, size_t bytes,
			     struct annex_cxlssd_time *t);

/**
 * annex_cxlssd_write_blocks() - Write whole pages, which go to flash at once.
 * @s: the endpoint.
 * @at: offset of the first, a multiple of annex_cxlssd_page().
 * @buf: the bytes.
 * @bytes: how many, such a multiple too.
 * @t: as above.
 *
 * Return: as annex_cxlssd_read().
 */
int annex_cxlssd_write_blocks(struct annex_cxlssd *s, uint64_t at, const void *buf, size_t bytes,
			      struct annex_cxlssd_time *t);

/**
 * annex_cxlssd_trim() - Have whole pages hold zeroes, and take no flash.
 * @s: the endpoint.
 * @at: offset of the first, a multiple of annex_cxlssd_page().
 * @bytes: how many, such a multiple too.
 * @t: as above.
 *
 * Return: as annex_cxlssd_read().
 */
int annex_cxlssd_trim(struct annex_cxlssd *s, uint64_t at, uint64_t bytes,
		      struct annex_cxlssd_time *t);

/**
 * annex_cxlssd_open_dev() - Open a device (annex/device.h): NVMe commands on an endpoint's
 * blocks.
 * @s: the endpoint, whose pages have 512 or 4096 bytes. It must outlive the device.
 * @params: how the device is served and which faults it has, as the parameters of a mem: URI:
 *	"serve=thread&fault=delay,us=100"; NULL: none.
 * @opts: NULL for the defaults.
 * @out: the device, to be given back with annex_dev_close(), which flushes.
 *
 * It has one namespace, whose logical blocks are the endpoint's pages. Both interfaces show the
 * same bytes: a command sees stores that have returned before it was submitted, and loads see a
 * command that has completed. Flush, and a write with ANNEX_IO_FUA, are annex_cxlssd_fence():
 * stores before it last as well. Deallocated and zeroed blocks are trimmed. A page whose checksum
 * is wrong is an unrecovered read error, a file that failed a write fault. With delay=1 commands
 * complete at the time of the model, and those of several dies overlap.
 *
 * An endpoint may have several devices. annex_dev_claim() of one keeps out neither the others nor
 * stores.
 *
 * Return: 0; -EINVAL (pages of another size; a parameter, or an option); -E2BIG (@params is longer
 * than a URI); -ENOMEM.
 */
int annex_cxlssd_open_dev(struct annex_cxlssd *s, const char *params,
			  const struct annex_dev_opts *opts, struct annex_dev **out);

struct annex_cxlssd_tx;

/**
 * annex_cxlssd_begin() - Begin a transaction: stores that last together, or not at all.
 * @s: an endpoint with log=bytefs.
 * @out: the transaction, to be ended by annex_cxlssd_commit() or annex_cxlssd_abort(), while the
 *	endpoint is open. One thread at a time may use it.
 *
 * Its stores are seen by nobody before it is committed, and by all at once then.
 *
 * Return: 0; -EOPNOTSUPP (another log); -ENOMEM.
 */
int annex_cxlssd_begin(struct annex_cxlssd *s, struct annex_cxlssd_tx **out);

/**
 * annex_cxlssd_tx_write() - Store bytes in a transaction.
 * @tx: the transaction.
 * @at: offset of the first.
 * @buf: the bytes.
 * @bytes: how many.
 *
 * Return: 0; -EINVAL (it crosses the end); -E2BIG (lines of more than half the log, or a quarter of
 * DRAM); -ENOMEM. The transaction is as it was then.
 */
int annex_cxlssd_tx_write(struct annex_cxlssd_tx *tx, uint64_t at, const void *buf, size_t bytes);

/**
 * annex_cxlssd_tx_write_blocks() - Write whole pages in a transaction.
 * @tx: the transaction.
 * @at: offset of the first, a multiple of annex_cxlssd_page().
 * @buf: the bytes.
 * @bytes: how many, such a multiple too.
 *
 * Return: as annex_cxlssd_tx_write().
 */
int annex_cxlssd_tx_write_blocks(struct annex_cxlssd_tx *tx, uint64_t at, const void *buf,
				 size_t bytes);

/**
 * annex_cxlssd_commit() - End a transaction: all of it lasts when this has returned 0.
 * @tx: the transaction, which is gone.
 * @t: as above.
 *
 * Stores outside of it that have returned before last as well.
 *
 * Return: 0; an error of the file: nothing of it is seen; whether it lasts is not known if the file
 * failed, and nothing that is written afterwards will.
 */
int annex_cxlssd_commit(struct annex_cxlssd_tx *tx, struct annex_cxlssd_time *t);

/**
 * annex_cxlssd_commit_ordered() - End a transaction, without waiting for the host's disk.
 * @tx: the transaction, which is gone.
 * @t: as above.
 *
 * With durable=host it lasts when a fence or annex_cxlssd_commit() that follows has returned. A
 * loss of power before that takes all of it, or nothing; if it takes one that was committed before,
 * it takes this one too. Otherwise it is annex_cxlssd_commit(). Pages that
 * annex_cxlssd_write_blocks() writes afterwards may last before it does.
 *
 * Return: as annex_cxlssd_commit().
 */
int annex_cxlssd_commit_ordered(struct annex_cxlssd_tx *tx, struct annex_cxlssd_time *t);

/**
 * annex_cxlssd_waits() - Whether a transaction has been committed that need not last yet.
 * @s: the endpoint.
 */
bool annex_cxlssd_waits(struct annex_cxlssd *s);

/**
 * annex_cxlssd_abort() - End a transaction: nothing of it was done.
 * @tx: the transaction, which is gone; may be NULL.
 */
void annex_cxlssd_abort(struct annex_cxlssd_tx *tx);

/**
 * annex_cxlssd_unfenced() - Lines that were stored since the last fence and lie in DRAM.
 * @s: the endpoint.
 * @lines: numbers of lines (offset / ANNEX_CXLSSD_LINE), without order; may be NULL.
 * @n: room in @lines.
 *
 * Return: how many there are.
 */
size_t annex_cxlssd_unfenced(struct annex_cxlssd *s, uint64_t *lines, size_t n);

/**
 * annex_cxlssd_cut() - Cut the power: close the endpoint as it would be found.
 * @s: the endpoint, whose handle is gone.
 * @lines: unfenced lines that reach the medium nevertheless.
 * @n: their number.
 *
 * Return: 0, or an error of the file.
 */
int annex_cxlssd_cut(struct annex_cxlssd *s, const uint64_t *lines, size_t n);

/**
 * struct annex_cxlssd_stats - Since the endpoint was opened.
 * @reads: lines loaded.
 * @writes: lines stored.
 * @hits: of both, those that DRAM had, or that were on their way there.
 * @late: of these, those that were on their way.
 * @prefetches: units that were fetched by annex_cxlssd_prefetch().
 * @fences: fences that had something to do.
 * @flash_reads: pages read.
 * @flash_writes: pages programmed, without @copied.
 * @copied: pages that garbage collection programmed.
 * @cleaned: times that the log was cleaned.
 * @coalesced: lines of the log that were stored again before it was cleaned.
 * @erased: blocks.
 * @least_worn: fewest erases of a block, since the file was made.
 * @most_worn: most erases of a block.
 * @valid: pages that hold something.
 * @dirty: lines in DRAM that flash does not have.
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
