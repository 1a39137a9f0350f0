/* SPDX-License-Identifier: MIT */
/*
 * The inside of a CXL-SSD (annex/models/cxlssd.h), shared by the files that make it one: loads and
 * stores (access.c), cleaning (clean.c), fences (fence.c), power cuts (cut.c), blocks (blocks.c),
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
 * struct ssd_config - A URI's words. Numbers that it does not have are 0.
 * @path: NULL: memory.
 * @given: of a new file; one that was there must have them.
 * @log: bytes of the log. @clean: it is cleaned when so many hundredths are full.
 * @look, @dram_ns, @append: nanoseconds to look an address up, to reach DRAM, to append to the log.
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
 * struct annex_cxlssd - @c: without its path.
 * @page_lines: lines of a page.
 * @empty: a bit for each logical page of which nothing counts that flash holds; @trimmed: likewise,
 * but the journal does not know yet. @n_trimmed: how many.
 * @page, @page2: buffers of a page.
 * @programs: pages that are being programmed: as many as there are write buffers.
 * @cleaning: until when the log that was cleaned last holds its room, and @cleaned entries of it.
 * @ahead: pages up to here are expected, by who reads blocks one behind the other up to @behind.
 * @start: when it was opened. @last: the largest time that was told.
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
 * time.c. ssd_enter() - Take the lock, and a request in: @t is the caller's, or NULL: then *@own.
 * Return: the one. ssd_leave() - The request is answered, but keeps its place until @until; give
 * the lock back, and wait, if calls take the time of the model. Return @err.
 */
struct annex_cxlssd_time *ssd_enter(struct annex_cxlssd *s, struct annex_cxlssd_time *t,
				    struct annex_cxlssd_time *own);
int ssd_leave(struct annex_cxlssd *s, struct annex_cxlssd_time *t,
	      const struct annex_cxlssd_time *own, uint64_t until, int err);

/* ssd_group() - Entries of a group of the journal, at most. */
static inline uint64_t ssd_group(const struct annex_cxlssd *s)
{
	return ssd_journal_group(s->c.dram / SSD_LINE, ssd_pages(s));
}

/* access.c: with the lock held, as all that follows. */

/* ssd_check() - Whether [@at, @at + @bytes) is inside: 0, -EINVAL. */
int ssd_check(const struct annex_cxlssd *s, uint64_t at, uint64_t bytes);
/* ssd_check_change() - Whether the host may change anything: 0; -EROFS; the error of the file. */
int ssd_check_change(const struct annex_cxlssd *s);
/* ssd_load() - Bytes of one unit. ssd_store() - Bytes of one line. */
int ssd_load(struct annex_cxlssd *s, uint64_t at, char *buf, uint32_t bytes,
	     struct annex_cxlssd_time *t);
int ssd_store(struct annex_cxlssd *s, uint64_t at, const char *buf, uint32_t bytes,
	      struct annex_cxlssd_time *t);

/* ssd_make_log_room() - Clean the log when it is full enough, or has no room for some lines; the
 * request waits for room that is not there yet. ssd_store_logged() - A line into the log, which has
 * room for it. */
int ssd_make_log_room(struct annex_cxlssd *s, uint32_t lines, struct annex_cxlssd_time *t);
void ssd_store_logged(struct annex_cxlssd *s, uint64_t line, const char *buf,
		      struct annex_cxlssd_time *t);

/* clean.c */

/* ssd_gather() - @wanted bytes of a page from @from on, as a load would see them, at their place in
 * @buf, which has room for all of it, and may get more; *@now: when flash has given its part.
 * *@damaged: flash has lost some of the page; NULL: that is -EIO. */
int ssd_gather(struct annex_cxlssd *s, uint32_t page, char *buf, uint32_t from, uint32_t wanted,
	       uint64_t *now, bool *damaged);
/* ssd_program() - A page gets new bytes in flash. *@done: when it has them. @damaged: some are
 * lost. It follows ssd_ingress_enter() of the write buffers. */
int ssd_program(struct annex_cxlssd *s, uint32_t page, const char *buf, bool damaged, uint64_t now,
		uint64_t *done);
/* ssd_forget() - DRAM has nothing of a page any more. */
void ssd_forget(struct annex_cxlssd *s, uint32_t page);
/* ssd_clean() - Flash gets all of a page that DRAM has. *@now: when there was a write buffer. */
int ssd_clean(struct annex_cxlssd *s, uint32_t page, uint64_t *now, uint64_t *done);
/* ssd_clean_log() - Flash gets all lines of the log, which is empty then. */
int ssd_clean_log(struct annex_cxlssd *s, uint64_t now);

/* fence.c, likewise. ssd_fence() - As annex_cxlssd_fence(). ssd_flush() - As annex_cxlssd_flush().
 * ssd_journal_all() - The other half of the journal begins with all that DRAM has. @last: as of
 *	ssd_journal_turn(), after one that was not.
 * ssd_add_line() - A line goes into the next group of the journal. */
int ssd_fence(struct annex_cxlssd *s);
int ssd_flush(struct annex_cxlssd *s, uint64_t now);
int ssd_journal_all(struct annex_cxlssd *s, bool last);

/* ssd_add_loose() - Stores and trims that do not last yet go to the journal's next group.
 * ssd_make_firm() - It is on the medium. */
int ssd_add_loose(struct annex_cxlssd *s);
void ssd_make_firm(struct annex_cxlssd *s);
int ssd_add_line(struct annex_cxlssd *s, uint64_t line, const char *data);

/* mount.c: ssd_mount() - Open the flash of a file that is not fresh, and bring it up to date with
 * the journal. */
int ssd_mount(struct annex_cxlssd *s);

/* open.c: ssd_open() - As annex_cxlssd_open(), by a URI that may have the keys of a range too. */
int ssd_open(const struct annex_uri *uri, bool range, struct annex_cxlssd **out);
/* ssd_close() - Give everything back, without a flush. */
void ssd_close(struct annex_cxlssd *s);

#endif
