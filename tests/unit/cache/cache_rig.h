/* SPDX-License-Identifier: MIT */
/*
 * Devices and a cache over them, for tests of the cache.
 */
#ifndef ANNEX_TESTS_CACHE_RIG_H
#define ANNEX_TESTS_CACHE_RIG_H

#include <annex/array.h>
#include <annex/cache.h>
#include <annex/device.h>

#define RIG_DEVS 3

struct rig {
	struct annex_dev *devs[RIG_DEVS];
	unsigned int ndevs;
	struct annex_cache *c;
	char *buf; /* mapped on every device, for access past the cache */
	uint64_t addr[RIG_DEVS];
};

#define RIG_BUF (1u << 20)

/* Open @ndevs devices and fill each, past any cache, with words that rig_word() knows. */
void rig_open(struct rig *r, unsigned int ndevs, const char *uri,
	      const struct annex_dev_opts *opts);
void rig_close(struct rig *r);

/* A cache over the rig's devices. */
void rig_cache(struct rig *r, uint64_t bytes, uint32_t line, enum annex_layout layout,
	       uint64_t size);

/* One device and a cache of @slots lines over it. */
void rig_start(struct rig *r, const char *uri, uint64_t slots, uint32_t line);

/* The word that rig_open() writes at byte @offset (a multiple of 8) of device @dev. */
uint64_t rig_word(unsigned int dev, uint64_t offset);

/* Read or write a device past the cache. */
void rig_read(struct rig *r, unsigned int dev, uint64_t offset, void *out, uint32_t len);
void rig_write(struct rig *r, unsigned int dev, uint64_t offset, const void *in, uint32_t len);

/* Inject @count errors with this opcode on blocks [@lba, @lba + @blocks); @blocks 0: anywhere. */
void rig_error(struct rig *r, unsigned int dev, int opcode, uint64_t lba, uint64_t blocks,
	       uint64_t count);

struct annex_cache_stats rig_stats(const struct rig *r);

/* Run @fn on @n threads, with @arg and the thread's number, and wait for all. */
struct rig_thread {
	void *arg;
	unsigned int id;
};
void rig_threads(unsigned int n, void *(*fn)(void *), void *arg);

#endif
