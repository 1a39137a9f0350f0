/* SPDX-License-Identifier: MIT */
/*
 * Two tiers of memory: hot pages of a CXL-SSD are kept in host memory (SkyByte, arXiv:2501.10682).
 *
 * Loads and stores have virtual times, which must not decrease from call to call. The tier counts
 * accesses to each page of the endpoint. It promotes hot pages: it copies them to host memory, by a
 * load of the whole page that the endpoint serves in addition to the program's. Until the copy has
 * arrived, loads and stores go to the endpoint; afterwards they take the time of host memory, and
 * the endpoint's DRAM may drop the page (annex_cxlssd_release()). A colder page is demoted to make
 * room: its dirty lines are stored to the endpoint.
 *
 * The rate of struct annex_cxltier_opts limits the bytes of promoted pages and of dirty lines of
 * demoted pages. A promotion, with the demotion that makes room for it, begins only when the
 * previous one would have ended at that rate. A hot page that is accessed before stays in place;
 * the tier tries again at its next access.
 *
 * Ordering and durability. A store that has returned is visible to every later load of this tier.
 * It is durable when a later annex_cxltier_fence() has returned. Until then dirty lines of promoted
 * pages are in host memory: direct accesses to the endpoint see older bytes, and a power loss loses
 * them. While a tier exists, do not store to the endpoint directly: promoted pages would not have
 * these bytes.
 *
 * One thread at a time may use a tier.
 */
#ifndef ANNEX_CXLTIER_H
#define ANNEX_CXLTIER_H

#include <annex/models/cxlssd.h>

#ifdef __cplusplus
extern "C" {
#endif

struct annex_cxltier;

/* Promote no pages: value for hot of struct annex_cxltier_opts. */
#define ANNEX_CXLTIER_NEVER 0xffffffffu

/**
 * struct annex_cxltier_opts - Options of annex_cxltier_create(). Zero means the default.
 * @host: bytes of host memory for promoted pages (default 16 MiB).
 * @hot: number of accesses that makes a page hot, up to 65535 (default 16), or ANNEX_CXLTIER_NEVER.
 *	All counts are halved after every 4 * @hot accesses for each page of host memory. A page
 *	only replaces a page with at most half its count. A demoted page starts at 0.
 * @rate: limit of migration in bytes per second, for both directions together (default 1 GiB).
 * @link_ns: latency of a request or a response on the link, in nanoseconds (default 20).
 * @local_ns: latency of an access to host memory, in nanoseconds (default 46).
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
 * @s: the endpoint, which must outlive the tier.
 * @opts: the options; NULL means the defaults.
 * @out: the tier; release it with annex_cxltier_destroy().
 *
 * Return: 0; -EINVAL (less host memory than a page of the endpoint, @hot above 65535); -ENOMEM.
 */
int annex_cxltier_create(struct annex_cxlssd *s, const struct annex_cxltier_opts *opts,
			 struct annex_cxltier **out);

/**
 * annex_cxltier_destroy() - Fence, and free a tier.
 * @tier: the tier; may be NULL.
 *
 * Return: 0, or an error of annex_cxltier_fence(). The tier is freed in any case.
 */
int annex_cxltier_destroy(struct annex_cxltier *tier);

/**
 * annex_cxltier_load() - Load bytes.
 * @tier: the tier.
 * @at: offset of the first byte.
 * @buf: receives the bytes.
 * @bytes: number of bytes. Several pages are loaded at the same time.
 * @t: now is the time of the load. Sets done to the arrival of the bytes at the host, and told to
 *	the time at which the host knows done, so that it can switch to another thread instead of
 *	waiting. hit and late are the endpoint's; hit without late if host memory served all bytes.
 *	load is that of the endpoint's last response.
 *
 * Return: as annex_cxlssd_read().
 */
int annex_cxltier_load(struct annex_cxltier *tier, uint64_t at, void *buf, size_t bytes,
		       struct annex_cxlssd_time *t);

/**
 * annex_cxltier_store() - Store bytes.
 * @tier: the tier.
 * @at: offset of the first byte.
 * @buf: the bytes.
 * @bytes: number of bytes. Several pages are stored to at the same time.
 * @t: as for annex_cxltier_load().
 *
 * Return: as annex_cxlssd_write().
 */
int annex_cxltier_store(struct annex_cxltier *tier, uint64_t at, const void *buf, size_t bytes,
			struct annex_cxlssd_time *t);

/**
 * annex_cxltier_fence() - Make all completed stores durable.
 * @tier: the tier.
 * @t: as for annex_cxltier_load(); told equals done.
 *
 * Stores dirty lines of promoted pages to the endpoint; the pages stay, and are clean. These are
 * the program's own stores, so the rate does not limit them.
 *
 * Return: as annex_cxlssd_fence(); the first error of annex_cxlssd_write(): lines that could not be
 * written stay dirty, and visible to loads. The next fence tries again.
 */
int annex_cxltier_fence(struct annex_cxltier *tier, struct annex_cxlssd_time *t);

/**
 * struct annex_cxltier_stats - Counters since the tier was created.
 * @loads: loads, one for each accessed page.
 * @stores: stores, likewise.
 * @host: loads and stores that host memory served.
 * @promoted: promoted pages.
 * @demoted: demoted pages.
 * @moved_bytes: bytes moved by promotions and demotions.
 * @fenced_bytes: bytes of dirty lines that fences stored to the endpoint.
 * @refused: accesses to hot pages that were not promoted because of the rate.
 * @resident: pages that are in host memory now, or being copied there.
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
