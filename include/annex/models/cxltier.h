/* SPDX-License-Identifier: MIT */
/*
 * Two tiers of memory: hot pages of a CXL-SSD lie in host memory (SkyByte, arXiv:2501.10682).
 *
 * Loads and stores come in virtual time, in the order of their times, each no earlier than the one
 * before. The tier counts accesses to each page of the endpoint. A page that is hot is promoted: it
 * is copied to host memory, by a load of the whole page that the endpoint serves beside the
 * program's. Until the copy has arrived, loads and stores go to the endpoint; afterwards they take
 * the time of host memory, and the endpoint's DRAM is told that it need not have the page
 * (annex_cxlssd_release()). A page that is colder makes room (it is demoted): its dirty lines, and
 * no others, are stored to the endpoint.
 *
 * Migration takes a part of the link at most: pages that are promoted, and lines of pages that are
 * demoted, take turns at @rate of struct annex_cxltier_opts. A promotion, with the demotion that
 * makes room for it, begins only when the one before would have ended at that rate. So in any
 * stretch of time from one beginning to another, no more is moved than the rate allows. A hot page
 * that comes in between stays where it is; it is tried again at its next access.
 *
 * Ordering and durability. A store is seen by every later load of this tier when it has returned.
 * It lasts when a later annex_cxltier_fence() has returned. Dirty lines of promoted pages lie in
 * host memory until then: whoever uses the endpoint past the tier sees older bytes, and a loss of
 * power loses them. As long as there is a tier, nobody stores to the endpoint past it: promoted
 * pages would not have these bytes.
 *
 * One thread at a time.
 */
#ifndef ANNEX_CXLTIER_H
#define ANNEX_CXLTIER_H

#include <annex/models/cxlssd.h>

#ifdef __cplusplus
extern "C" {
#endif

struct annex_cxltier;

/* No page is ever hot: @hot of struct annex_cxltier_opts. */
#define ANNEX_CXLTIER_NEVER 0xffffffffu

/**
 * struct annex_cxltier_opts - Sizes and times. Zero means the default.
 * @host: bytes of host memory for promoted pages (16 MiB).
 * @hot: accesses to a page from which it is hot, up to 65535 (16), or ANNEX_CXLTIER_NEVER. All
 *	counts are halved after every 4 * @hot accesses for each page of host memory. A page is only
 *	promoted in the place of one with at most half its count. A demoted page starts at 0.
 * @rate: bytes a second that migration moves at most, both directions together (1 GiB).
 * @link_ns: nanoseconds of a request or a response on the link (20).
 * @local_ns: nanoseconds of an access to host memory (46).
 */
struct annex_cxltier_opts {
	uint64_t host;
	uint32_t hot;
	uint64_t rate;
	uint64_t link_ns;
	uint64_t local_ns;
};

/**
 * annex_cxltier_create() - Make a tier over an endpoint.
 * @s: the endpoint, which outlives the tier.
 * @opts: NULL: the defaults.
 * @out: the tier, to be given back with annex_cxltier_destroy().
 *
 * Return: 0; -EINVAL (less host memory than a page of the endpoint, @hot above 65535); -ENOMEM.
 */
int annex_cxltier_create(struct annex_cxlssd *s, const struct annex_cxltier_opts *opts,
			 struct annex_cxltier **out);

/**
 * annex_cxltier_destroy() - Give the tier back.
 * @tier: the tier; may be NULL.
 *
 * Return: 0; an error of annex_cxltier_fence(), which it does first. The tier is gone in any case.
 */
int annex_cxltier_destroy(struct annex_cxltier *tier);

/**
 * annex_cxltier_load() - Load bytes.
 * @tier: the tier.
 * @at: offset of the first.
 * @buf: where they go.
 * @bytes: how many. They may cross pages, which are loaded at the same time then.
 * @t: @now: when the load comes; gets @done: when the bytes are there, and @told: when the host
 *	knows @done, so that it can switch to another thread instead of waiting; both at the host.
 *	@hit and @late are the endpoint's, @hit and not @late if host memory served all of it. @load
 *	is of the endpoint's last response.
 *
 * Return: as annex_cxlssd_read().
 */
int annex_cxltier_load(struct annex_cxltier *tier, uint64_t at, void *buf, size_t bytes,
		       struct annex_cxlssd_time *t);

/**
 * annex_cxltier_store() - Store bytes.
 * @tier: the tier.
 * @at: offset of the first.
 * @buf: the bytes.
 * @bytes: how many. They may cross pages, which are stored to at the same time then.
 * @t: as above.
 *
 * Return: as annex_cxlssd_write().
 */
int annex_cxltier_store(struct annex_cxltier *tier, uint64_t at, const void *buf, size_t bytes,
			struct annex_cxlssd_time *t);

/**
 * annex_cxltier_fence() - Have all stores last that have returned.
 * @tier: the tier.
 * @t: as above; @told is @done.
 *
 * Dirty lines of promoted pages are stored to the endpoint, and are clean then; the pages stay.
 * These are the program's own stores, so @rate does not hold them back.
 *
 * Return: as annex_cxlssd_fence(); the first error of annex_cxlssd_write(): lines that could not be
 * written are still dirty, and loads see them. The next fence tries again.
 */
int annex_cxltier_fence(struct annex_cxltier *tier, struct annex_cxlssd_time *t);

/**
 * struct annex_cxltier_stats - Since the tier was made.
 * @loads: loads, one for each page that they touched.
 * @stores: stores, likewise.
 * @host: of both, those that host memory served.
 * @promoted: pages that were promoted.
 * @demoted: pages that were demoted.
 * @moved_bytes: bytes of these, both directions.
 * @fenced_bytes: bytes of dirty lines that fences stored to the endpoint.
 * @refused: accesses to hot pages that were not promoted because of the rate.
 * @resident: pages that are in host memory now, or on their way there.
 */
struct annex_cxltier_stats {
	uint64_t loads;
	uint64_t stores;
	uint64_t host;
	uint64_t promoted;
	uint64_t demoted;
	uint64_t moved_bytes;
	uint64_t fenced_bytes;
	uint64_t refused;
	uint64_t resident;
};

/**
 * annex_cxltier_get_stats() - Read the counters.
 * @tier: the tier.
 * @out: the counters.
 */
void annex_cxltier_get_stats(const struct annex_cxltier *tier, struct annex_cxltier_stats *out);

#ifdef __cplusplus
}
#endif
#endif
