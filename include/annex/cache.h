/* SPDX-License-Identifier: MIT */
/*
 * The software cache: lines of a device's data in memory of a fixed size (BaM section 3.4).
 *
 * Memory for lines is allocated at creation. A directory has a 64-bit state word for each line in
 * use: whether and in which slot the line is cached, its number of pins, and whether it is dirty. A
 * clock algorithm selects victims, skips pinned lines, and writes dirty lines back ahead of its
 * hand.
 *
 * A cache belongs to the process that made it. In a child of fork() all accesses return -ECHILD,
 * and annex_cache_destroy() writes nothing. For cancellation of threads see annex/device.h.
 */
#ifndef ANNEX_CACHE_H
#define ANNEX_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <annex/detail/line.h>
#include <annex/log.h>
#include <annex/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

struct annex_dev;
struct annex_cache;

/**
 * enum annex_layout - Placement of lines on several devices.
 * @ANNEX_STRIPE: line L is on device L mod N, at line L / N there.
 * @ANNEX_REPLICA: every line on every device; reads are spread, writes go to all.
 */
enum annex_layout {
	ANNEX_STRIPE,
	ANNEX_REPLICA,
};

/**
 * struct annex_cache_opts - Options of annex_cache_create(). Zero means the default.
 * @bytes: memory for cached lines; rounded down to whole lines. The directory takes additional
 *	memory: 8 bytes for each line of the backing data, if that is at most a sixteenth of @bytes,
 *	otherwise at most 36 bytes for each cached line. Required.
 * @line: bytes of a line, a power of two from 512 to 1 MiB (default 4096), and a multiple of the
 *	block size.
 * @devs: the devices; they must outlive the cache. Required.
 * @ndevs: number of devices. Required.
 * @nsid: namespace on each (default 1).
 * @layout: placement of lines on several devices.
 * @size: bytes of backing data, a multiple of the block but not necessarily of the line (default:
 *	the capacity of the devices).
 * @provider: provider of memory for lines (default annex_dev_provider() of the first device).
 */
struct annex_cache_opts {
	uint64_t bytes;
	uint32_t line;
	struct annex_dev **devs;
	unsigned int ndevs;
	uint32_t nsid;
	enum annex_layout layout;
	uint64_t size;
	const struct annex_provider *provider;
};

/**
 * struct annex_cache_stats - Counters since creation.
 * @hits: probes that found their line cached: one for equal members of a group, but one for each
 *	element (each of its lines) that annex_array_gather() finds cached, since it takes no pins
 *	for these.
 * @misses: probes that had to read their line, or to wait while another thread read it.
 * @prefetches: lines read by annex_cache_prefetch().
 * @evictions: valid lines evicted.
 * @writebacks: lines written.
 * @errors: device commands that failed.
 * @bytes_read: bytes of device commands that read.
 * @bytes_written: bytes of device commands that wrote.
 * @bytes_asked: bytes that callers requested through arrays (0 if only lines were pinned);
 *	bytes_read / bytes_asked is the read amplification.
 * @depth_max: largest number of reads and writes outstanding at once, on all devices and queues,
 *	counted until the cache has seen the completion.
 */
struct annex_cache_stats {
	uint64_t hits;
	uint64_t misses;
	uint64_t prefetches;
	uint64_t evictions;
	uint64_t writebacks;
	uint64_t errors;
	uint64_t bytes_read;
	uint64_t bytes_written;
	uint64_t bytes_asked;
	uint64_t depth_max;
};

/**
 * struct annex_range - A byte range of the backing data.
 * @offset: its first byte.
 * @len: its bytes.
 */
struct annex_range {
	uint64_t offset;
	uint64_t len;
};

/**
 * annex_cache_create() - Make a cache over one or several devices.
 * @opts: the devices and sizes.
 * @out: the cache; release it with annex_cache_destroy().
 *
 * Return: 0; -EINVAL (inconsistent sizes; annex_last_error() says which); -ENOMEM (also if the
 * options' bytes exceed the machine's memory); -ERANGE (the options' size exceeds the devices).
 */
int annex_cache_create(const struct annex_cache_opts *opts, struct annex_cache **out);

/**
 * annex_cache_destroy() - Write dirty lines back, and free a cache.
 * @c: the cache; may be NULL.
 *
 * No other thread may be using the cache and no line may be pinned.
 *
 * Return: 0, or the errno of a write-back that failed: the data of that line is lost. To keep the
 * data in that case, call annex_cache_flush() first.
 */
int annex_cache_destroy(struct annex_cache *c);

/**
 * annex_cache_line() - Bytes of a line.
 * @c: the cache.
 *
 * Return: bytes.
 */
uint32_t annex_cache_line(const struct annex_cache *c);

/**
 * annex_cache_size() - Bytes of backing data.
 * @c: the cache.
 *
 * Return: bytes.
 */
uint64_t annex_cache_size(const struct annex_cache *c);

/**
 * annex_cache_pin() - Pin a line in memory.
 * @c: the cache.
 * @line: the line's number (offset / annex_cache_line()).
 * @flags: ANNEX_PIN_*. ANNEX_PIN_NEW implies ANNEX_PIN_WRITE; on a miss the line is zeroed instead
 *	of read.
 * @data: set to its first byte, valid until annex_cache_unpin().
 *
 * A miss reads the line; threads that miss the same line at once share one read. Any number of
 * threads may pin a line; they must synchronize their accesses to its bytes.
 *
 * Return: 0; -ERANGE (no such line); -EBUSY (every slot is pinned); -EIO and other errnos of the
 * read, after which the line is not cached; -ETIMEDOUT; -ENODEV.
 */
int annex_cache_pin(struct annex_cache *c, uint64_t line, unsigned int flags, void **data);

/**
 * annex_cache_unpin() - Unpin a line.
 * @c: the cache.
 * @line: the line's number.
 * @flags: the flags passed to annex_cache_pin().
 */
void annex_cache_unpin(struct annex_cache *c, uint64_t line, unsigned int flags);

/**
 * annex_cache_pin_group() - Pin the lines of a vector of line numbers (BaM's warp coalescing).
 * @c: the cache.
 * @lines: @n line numbers, in any order, repeats allowed.
 * @n: number of line numbers.
 * @flags: as for annex_cache_pin(), for all lines.
 * @data: @n pointers; entries with the same line number get the same pointer.
 *
 * Equal members share one probe and one pin; all misses are read at once. Unpin with
 * annex_cache_unpin_group() and the same vector. ANNEX_PIN_NEW is taken as ANNEX_PIN_WRITE: if the
 * group failed, zeroed lines would hide the data on the device.
 *
 * Return: 0, or the first error as annex_cache_pin(), with no line pinned. -EBUSY also if the group
 * has more distinct lines than can be pinned.
 */
int annex_cache_pin_group(struct annex_cache *c, const uint64_t *lines, unsigned int n,
			  unsigned int flags, void **data);

/**
 * annex_cache_unpin_group() - Unpin the lines of a vector.
 * @c: the cache.
 * @lines: the vector that was pinned.
 * @n: number of line numbers.
 * @flags: the flags passed to annex_cache_pin_group().
 */
void annex_cache_unpin_group(struct annex_cache *c, const uint64_t *lines, unsigned int n,
			     unsigned int flags);

/**
 * annex_cache_prefetch() - Start reading ranges that will be needed soon; does not wait.
 * @c: the cache.
 * @ranges: the ranges.
 * @n: number of ranges.
 *
 * A hint: lines without a free slot, and lines whose read fails, are not cached, and no error is
 * returned. Neighbouring lines are read by one command, and one doorbell serves all commands.
 *
 * Return: number of lines whose read was started (0 if all are cached), or -ERANGE.
 */
int64_t annex_cache_prefetch(struct annex_cache *c, const struct annex_range *ranges,
			     unsigned int n);

/**
 * annex_cache_flush() - Make changes durable.
 * @c: the cache.
 * @offset: first byte of the range.
 * @len: bytes of the range; UINT64_MAX: to the end.
 *
 * Writes every line of the range that was dirty when the call began, then flushes the devices
 * (NVMe flush). Lines that are pinned for writing are written with their current contents and stay
 * dirty.
 *
 * Return: 0 if all changes are on the medium; otherwise the errno of the first failure. Lines that
 * could not be written stay dirty and cached, so the call can be repeated.
 */
int annex_cache_flush(struct annex_cache *c, uint64_t offset, uint64_t len);

/**
 * annex_cache_get_stats() - Read the counters. They are not an atomic snapshot.
 * @c: the cache.
 * @out: the counters.
 */
void annex_cache_get_stats(const struct annex_cache *c, struct annex_cache_stats *out);

#ifdef __cplusplus
}
#endif
#endif
