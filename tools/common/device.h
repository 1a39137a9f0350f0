/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Storage as the commands see it: devices, and one cache over them.
 */
#ifndef TOOLS_DEVICE_H
#define TOOLS_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <annex/cache.h>
#include <annex/device.h>
#include <annex/hdm.h>
#include "cli.h"
#include "out.h"

#define STORAGE_DEVS 16

/*
 * struct storage_opts - The options that commands share.
 * @cache: bytes; 0: STORAGE_CACHE.
 * @threads: 0: a thread a core.
 * @threads_named: it was asked for.
 * @cache_in: the range that the cache's lines lie in; NULL: ordinary memory.
 */
struct storage_opts {
	const char *uris[STORAGE_DEVS];
	unsigned int nuris;
	int layout;
	uint64_t cache;
	uint32_t line;
	uint32_t threads;
	bool threads_named;
	uint32_t queues;
	uint32_t depth;
	const char *cache_in;
};

#define STORAGE_CACHE (256ull << 20)

/* Tables of its options: --device; --layout; and all the others. */
extern const struct cli_option storage_device_options[], storage_layout_options[],
	storage_cache_options[];

/* storage_settle() - Once they are parsed: usual values in place of those not given. */
int storage_settle(struct storage_opts *o);

/* storage_add() - One more device; a struct cli_value's call. */
int storage_add(void *opts, const char *opt, char *uri);

/*
 * struct storage - Open devices and the cache over them, in @range if not NULL.
 * @base: the counters when the timing began. A zeroed one is closed.
 */
struct storage {
	struct annex_dev *devs[STORAGE_DEVS];
	unsigned int ndevs;
	struct annex_hdm *range;
	const char *range_uri;
	struct annex_cache *cache;
	uint64_t bytes; /* size of the cache: as asked for, or less where the data is smaller */
	struct annex_cache_stats base;
};

/* storage_useful() - Bytes of a cache, of those asked for, that @data bytes can use. */
uint64_t storage_useful(const struct storage_opts *o, uint64_t data, uint64_t bytes);

/*
 * storage_open() - Open @n devices and a cache of @bytes over the first @size bytes of their data.
 * storage_close() - Close them; the errno of a write-back that failed.
 */
int storage_open(struct storage *s, const struct storage_opts *o, const char *const *uris,
		 unsigned int n, uint64_t size, uint64_t bytes);
int storage_close(struct storage *s);

/* storage_claim_read() - Keep writers from the devices, which are read, until they are closed. */
int storage_claim_read(struct storage *s);

/* storage_renew() - Put an empty cache in the place of the present one. */
int storage_renew(struct storage *s, const struct storage_opts *o, uint64_t size, uint64_t bytes);

/*
 * storage_check_image() - Whether the devices of the options can hold an image together; *@empty:
 * they are mem: devices, which are filled from the file. 0, or -EINVAL with the line set.
 */
int storage_check_image(const struct storage_opts *o, bool *empty);

/*
 * storage_open_image() - Storage that holds an image of the file @path, open as @fd, @size bytes:
 * the devices of the options, or else the file itself. mem: devices are filled from the file, the
 * others are compared with it in places. The cache is empty afterwards.
 */
int storage_open_image(struct storage *s, const struct storage_opts *o, const char *path, int fd,
		       uint64_t size);

/* storage_fill() - Write all of the file @fd through the cache, and flush. */
int storage_fill(struct storage *s, const char *path, int fd, uint64_t size);

/* storage_used() - Counters since the storage was opened or renewed. */
void storage_used(const struct storage *s, struct annex_cache_stats *used);

/* storage_report() - Rows on cache and devices; @asked bytes were needed by the job. */
void storage_report(const struct storage *s, uint64_t asked, struct out *o);

#endif
