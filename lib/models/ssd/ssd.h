/* SPDX-License-Identifier: MIT */
/*
 * Internal structures and functions of a CXL-SSD (annex/models/cxlssd.h): loads and stores
 * (access.c), cleaning (clean.c), fences (fence.c), power cuts (cut.c), blocks (blocks.c),
 * transactions (tx.c), time (time.c), opening (open.c, mount.c).
 */
#ifndef ANNEX_HDM_SSD_SSD_H
#define ANNEX_HDM_SSD_SSD_H

#include <pthread.h>
#include <annex/models/cxlssd.h>
#include <annex/uri.h>
#include "cache.h"
#include "flash.h"
#include "ingress.h"
#include "journal.h"
#include "log.h"

/*
 * struct ssd_config - Parameters of a URI. Missing numbers are 0.
 * @path: path of the file; NULL: memory.
 * @bytes: bytes that the host sees.
 * @given: geometry of a new file; an existing file must have it.
 * @spare: spare flash, in percent.
 * @media: times of the flash.
 * @dram: bytes of DRAM, with the log.
 * @log: bytes of the log.
 * @clean: percentage of the log at which it is cleaned.
 * @unit: bytes of a unit of the cache.
 * @queue: requests that the endpoint accepts at a time.
 * @look: nanoseconds of a lookup.
 * @dram_ns: nanoseconds of an access to DRAM.
 * @append: nanoseconds of an append to the log.
 * @use: mode of the file.
 * @transactions: the log takes transactions (log=bytefs).
 * @delay: calls take the time of the model.
 * @fetch: a store to a unit that DRAM lacks fetches the rest of it.
 * @buffered: writes of blocks complete in a write buffer.
 */
struct ssd_config {
	const char *path;
	uint64_t bytes;
	struct ssd_geometry given;
	uint32_t spare;
	struct ssd_media media;
	uint64_t dram, log;
	uint32_t clean, unit, queue;
	uint64_t look, dram_ns, append;
	enum ssd_file_use use;
	bool transactions, delay, fetch, buffered;
};

/*
 * struct annex_cxlssd - A CXL-SSD.
 * @c: its configuration, without the path.
 * @lock: protects all members.
 * @file: the backing file.
 * @journal: the journal.
 * @flash: the flash.
 * @cache: the cache in DRAM.
 * @log: the write log in DRAM.
 * @bytes: bytes that the host sees.
 * @page_bytes: bytes of a page.
 * @page_lines: lines of a page.
 * @empty: logical pages whose contents in flash are void, a bit each.
 * @trimmed: pages of @empty that the journal does not know yet.
 * @n_trimmed: number of these.
 * @page: buffer of a page.
 * @page2: another buffer of a page.
 * @queue: requests in service.
 * @programs: pages in write buffers.
 * @cleaning: time until which the last cleaned log occupies DRAM.
 * @cleaned: number of its entries.
 * @ahead: end of the announced pages of a sequential reader.
 * @behind: end of the pages that it has read.
 * @start: time of the opening.
 * @last: the latest time that was reported.
 * @stats: counters.
 */
struct annex_cxlssd {
	struct ssd_config c;
	pthread_mutex_t lock;
	struct ssd_file *file;
	struct ssd_journal *journal;
	struct ssd_flash *flash;
	struct ssd_cache cache;
	struct ssd_log log;
	uint64_t bytes;
	uint32_t page_bytes, page_lines;
	uint64_t *empty, *trimmed;
	uint64_t n_trimmed;
	char *page, *page2;
	struct ssd_ingress queue, programs;
	uint64_t cleaning;
	uint32_t cleaned;
	uint32_t ahead, behind;
	uint64_t start, last;
	struct annex_cxlssd_stats stats;
};

static inline bool ssd_bit(const uint64_t *bits, uint32_t i)
{
	return bits[i / 64] >> i % 64 & 1;
}

static inline uint32_t ssd_pages(const struct annex_cxlssd *s)
{
	return (uint32_t)(s->bytes / s->page_bytes);
}

/*
 * time.c. ssd_enter() - Take the lock and accept a request. Return: @t; if that is NULL, @own.
 * ssd_leave() - End the request, which occupies the queue until @until, and drop the lock. If calls
 * take the time of the model, sleep. Return: @err.
 */
struct annex_cxlssd_time *ssd_enter(struct annex_cxlssd *s, struct annex_cxlssd_time *t,
				    struct annex_cxlssd_time *own);
int ssd_leave(struct annex_cxlssd *s, struct annex_cxlssd_time *t,
	      const struct annex_cxlssd_time *own, uint64_t until, int err);

/* ssd_group() - Entries of a group of the journal at most. */
static inline uint64_t ssd_group(const struct annex_cxlssd *s)
{
	return ssd_journal_group(s->c.dram / SSD_LINE, ssd_pages(s));
}

/* access.c. All functions from here on need the lock. */

/* ssd_check() - Check that [@at, @at + @bytes) is inside: 0, -EINVAL. */
int ssd_check(const struct annex_cxlssd *s, uint64_t at, uint64_t bytes);
/* ssd_check_change() - Check that the SSD is writable: 0; -EROFS; the error of the file. */
int ssd_check_change(const struct annex_cxlssd *s);
/* ssd_load() - Load bytes of one unit. ssd_store() - Store bytes of one line. */
int ssd_load(struct annex_cxlssd *s, uint64_t at, char *buf, uint32_t bytes,
	     struct annex_cxlssd_time *t);
int ssd_store(struct annex_cxlssd *s, uint64_t at, const char *buf, uint32_t bytes,
	      struct annex_cxlssd_time *t);

/* ssd_make_log_room() - Clean the log if it is full enough or has no room for @lines; the request
 * waits for room. ssd_store_logged() - Append a line to the log, which must have room. */
int ssd_make_log_room(struct annex_cxlssd *s, uint32_t lines, struct annex_cxlssd_time *t);
void ssd_store_logged(struct annex_cxlssd *s, uint64_t line, const char *buf,
		      struct annex_cxlssd_time *t);

/* clean.c */

/* ssd_gather() - Read @wanted bytes of a page from @from on, as a load sees them, to their place in
 * @buf, which has room for the page and may get more bytes. *@now: time at which flash is done.
 * *@damaged: flash has lost a part of the page; NULL: -EIO in that case. */
int ssd_gather(struct annex_cxlssd *s, uint32_t page, char *buf, uint32_t from, uint32_t wanted,
	       uint64_t *now, bool *damaged);
/*
 * ssd_program() - Program a page in flash. *@done: time of completion. @damaged: some bytes are
 * lost. Call ssd_ingress_enter() of the write buffers first.
 */
int ssd_program(struct annex_cxlssd *s, uint32_t page, const char *buf, bool damaged, uint64_t now,
		uint64_t *done);
/* ssd_forget() - Drop all of a page from DRAM. */
void ssd_forget(struct annex_cxlssd *s, uint32_t page);
/* ssd_clean() - Write DRAM's part of a page to flash. *@now: time of getting a write buffer. */
int ssd_clean(struct annex_cxlssd *s, uint32_t page, uint64_t *now, uint64_t *done);
/* ssd_clean_log() - Write all lines of the log to flash, and empty it. */
int ssd_clean_log(struct annex_cxlssd *s, uint64_t now);

/*
 * fence.c
 * ssd_fence() - As annex_cxlssd_fence().
 * ssd_flush() - As annex_cxlssd_flush().
 * ssd_journal_all() - Begin the other half of the journal with all contents of DRAM. @last: as in
 * ssd_journal_turn(), after a call without it.
 */
int ssd_fence(struct annex_cxlssd *s);
int ssd_flush(struct annex_cxlssd *s, uint64_t now);
int ssd_journal_all(struct annex_cxlssd *s, bool last);

/*
 * ssd_add_loose() - Add stores and trims that are not durable to the journal's next group.
 * ssd_make_firm() - Mark that group as written to the medium.
 * ssd_add_line() - Add a line to the next group.
 */
int ssd_add_loose(struct annex_cxlssd *s);
void ssd_make_firm(struct annex_cxlssd *s);
int ssd_add_line(struct annex_cxlssd *s, uint64_t line, const char *data);

/* mount.c: ssd_mount() - Open the flash of an existing file and replay the journal. */
int ssd_mount(struct annex_cxlssd *s);

/* open.c: ssd_open() - As annex_cxlssd_open(). @range: the URI may have keys of a range too. */
int ssd_open(const struct annex_uri *uri, bool range, struct annex_cxlssd **out);
/* ssd_close() - Free everything, without a flush. */
void ssd_close(struct annex_cxlssd *s);

#endif
