/* SPDX-License-Identifier: MIT */
/*
 * The software cache: lines of a device's data in memory of a fixed size (BaM section 3.4).
 *
 * Memory for lines is allocated at creation. Each line in use has one 64-bit state word in a
 * directory, which says whether and in which slot the line is cached, how many hold it, and whether
 * it is dirty. A clock hand finds victims; pinned lines are skipped; dirty ones are written back
 * ahead of it.
 *
 * A cache is of the process that made it. In a child of fork() all accesses return -ECHILD, and
 * annex_cache_destroy() writes nothing. Threads may be cancelled as annex/device.h says.
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
 * enum annex_layout - How lines lie on several devices.
 * @ANNEX_STRIPE: line L is on device L mod N, at line L / N there.
 * @ANNEX_REPLICA: every line on every device; reads are spread, writes go to all.
 */
enum annex_layout {
	ANNEX_STRIPE,
	ANNEX_REPLICA,
};

/**
 * struct annex_cache_opts - How to make a cache. Zero means the default.
 * @bytes: memory for cached lines; rounded down to whole lines. The directory comes beside it: 8
 *	bytes for each line of the backing data, if that is at most a sixteenth of @bytes, otherwise
 *	at most 36 bytes for each line of these. Required.
 * @line: bytes of a line, a power of two from 512 to 1 MiB (default 4096), and a multiple of the
 *	block size.
 * @devs: the devices; they stay open as long as the cache lives. Required.
 * @ndevs: number of devices. Required.
 * @nsid: namespace on each (default 1).
 * @layout: how lines lie on several devices.
 * @size: bytes of backing data (default: all that the devices hold). It need not be a multiple of
 *	the line, only of the block.
 * @provider: where lines come from (default annex_dev_provider() of the first device).
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
 * struct annex_cache_stats - Counters since creation. Bytes are those of device commands.
 * @hits: probes that found their line: one for equal members of a group, but one for each element
 *	that annex_array_gather() finds cached, since those take no pin that could be shared.
 * @misses: probes that had to read their line or wait for another's read of it.
 * @prefetches: lines read by annex_cache_prefetch().
 * @evictions: valid lines given up for others.
 * @writebacks: lines written.
 * @errors: device commands that failed.
 * @bytes_read: bytes moved from devices to the cache.
 * @bytes_written: bytes moved from the cache to devices.
 * @bytes_asked: bytes that callers asked for through arrays (0 if only lines were pinned);
 *	bytes_read / bytes_asked is the read amplification.
 * @depth_max: most reads and writes outstanding on the devices at once, of all queues together; one
 *	ends when the cache has seen its completion.
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
 * struct annex_range - A range of bytes of the backing data.
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
 * @out: the cache, to be given back with annex_cache_destroy().
 *
 * Return: 0; -EINVAL (sizes that do not fit together; annex_last_error() says which); -ENOMEM (also
 * when the options' bytes exceed the machine's memory); -ERANGE (their size is larger than the
 * devices).
 */
int annex_cache_create(const struct annex_cache_opts *opts, struct annex_cache **out);

/**
 * annex_cache_destroy() - Free a cache; dirty lines that were not flushed are written first.
 * @c: the cache; may be NULL.
 *
 * No other thread may be using it and no line may be pinned.
 *
 * Return: 0, or the errno of a write-back that failed: the data of that line is lost. Call
 * annex_cache_flush() first to keep the cache when it fails.
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
 * annex_cache_pin() - Hold a line in memory.
 * @c: the cache.
 * @line: its number (offset / annex_cache_line()).
 * @flags: ANNEX_PIN_*. ANNEX_PIN_NEW implies ANNEX_PIN_WRITE; on a miss the line holds zeroes.
 * @data: its first byte, valid until annex_cache_unpin().
 *
 * A miss reads the line; callers that miss the same line at once wait for one read. Any number of
 * threads may pin one line; how they share its bytes is theirs to arrange.
 *
 * Return: 0; -ERANGE (no such line); -EBUSY (every slot is pinned); -EIO and other errnos of the
 * failed read, which leaves the line absent; -ETIMEDOUT; -ENODEV.
 */
int annex_cache_pin(struct annex_cache *c, uint64_t line, unsigned int flags, void **data);

/**
 * annex_cache_unpin() - Let a line go.
 * @c: the cache.
 * @line: its number.
 * @flags: the flags that it was pinned with.
 */
void annex_cache_unpin(struct annex_cache *c, uint64_t line, unsigned int flags);

/**
 * annex_cache_pin_group() - Pin the lines of a vector of line numbers (BaM's warp coalescing).
 * @c: the cache.
 * @lines: @n line numbers, in any order, repeats allowed.
 * @n: number of line numbers.
 * @flags: as of annex_cache_pin(), for all of them.
 * @data: @n pointers; entries with the same line number get the same pointer.
 *
 * Members that want the same line make one probe and one pin; all misses are read at once. Undo it
 * with annex_cache_unpin_group() and the same vector. ANNEX_PIN_NEW is taken as ANNEX_PIN_WRITE:
 * lines zeroed for a group that then fails would hide what is on the device.
 *
 * Return: 0 or the first error as annex_cache_pin(); nothing is pinned then. -EBUSY also when the
 * group has more distinct lines than can be held.
 */
int annex_cache_pin_group(struct annex_cache *c, const uint64_t *lines, unsigned int n,
			  unsigned int flags, void **data);

/**
 * annex_cache_unpin_group() - Let the lines of a vector go.
 * @c: the cache.
 * @lines: the vector that was pinned.
 * @n: number of line numbers.
 * @flags: the flags that they were pinned with.
 */
void annex_cache_unpin_group(struct annex_cache *c, const uint64_t *lines, unsigned int n,
			     unsigned int flags);

/**
 * annex_cache_prefetch() - Start reading ranges that will be wanted soon; does not wait.
 * @c: the cache.
 * @ranges: the ranges.
 * @n: number of ranges.
 *
 * A hint: lines that find no free slot, or that fail, are simply not there later. Neighbouring
 * lines go out as one command, all commands with one doorbell.
 *
 * Return: the number of lines whose read was started (0 when all are cached), or -ERANGE.
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
 * (NVMe flush). Lines still pinned for writing are written as they are and stay dirty.
 *
 * Return: 0 when all is on the medium; otherwise the errno of the first failure: lines that could
 * not be written stay dirty and cached, to be tried again.
 */
int annex_cache_flush(struct annex_cache *c, uint64_t offset, uint64_t len);

/**
 * annex_cache_get_stats() - Read the counters; they are not taken at one instant.
 * @c: the cache.
 * @out: the counters.
 */
void annex_cache_get_stats(const struct annex_cache *c, struct annex_cache_stats *out);

#ifdef __cplusplus
}
#endif
#endif
