// SPDX-License-Identifier: MIT
/*
 * A user of the installed library: every public header, and one round trip through a device, a
 * cache and an array.
 */
#include <stdio.h>
#include <annex/array.h>
#include <annex/detail/atomic.h>
#include <annex/cache.h>
#include <annex/detail/clock.h>
#include <annex/device.h>
#include <annex/io.h>
#include <annex/log.h>
#include <annex/nvme.h>
#include <annex/provider.h>
#include <annex/queue.h>
#include <annex/uri.h>

#define COUNT 100000

static int round_trip(struct annex_dev *dev)
{
	struct annex_cache_opts opts = {.bytes = 64 << 10, .devs = &dev, .ndevs = 1};
	struct annex_cache *cache;
	struct annex_array a;
	uint64_t v, sum = 0;
	int err;

	err = annex_cache_create(&opts, &cache);
	if (err)
		return err;
	err = annex_array_init(&a, cache, 0, sizeof(v), COUNT);
	for (uint64_t i = 0; !err && i < COUNT; i++)
		err = annex_array_set(&a, i, &i);
	for (uint64_t i = 0; !err && i < COUNT; i++) {
		err = annex_array_get(&a, i, &v);
		sum += v;
	}
	if (!err)
		err = annex_cache_flush(cache, 0, UINT64_MAX);
	annex_cache_destroy(cache);
	if (!err)
		printf("%llu\n", (unsigned long long)sum);
	return err;
}

int main(void)
{
	struct annex_dev *dev;
	int err = annex_dev_open("mem:1M", NULL, &dev);

	if (!err) {
		err = round_trip(dev);
		annex_dev_close(dev);
	}
	if (err)
		fprintf(stderr, "%d: %s\n", err, annex_last_error());
	return err ? 1 : 0;
}
