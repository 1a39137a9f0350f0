// SPDX-License-Identifier: MIT
/* Sum a file of 64-bit numbers, however large, through a cache of 1 GB: sum FILE COUNT */
#include <stdio.h>
#include <stdlib.h>
#include <annex/array.h>
#include <annex/device.h>

int main(int argc, char **argv)
{
	struct annex_cache_opts opts = {.bytes = 1ull << 30, .ndevs = 1};
	struct annex_cache *cache = NULL;
	struct annex_dev *dev = NULL;
	struct annex_array numbers;
	char uri[4096];
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 0) : 0, x, sum = 0;
	int err;

	snprintf(uri, sizeof(uri), "file:%s?readonly=1", argc > 1 ? argv[1] : "");
	err = annex_dev_open(uri, NULL, &dev);
	opts.devs = &dev;
	if (!err)
		err = annex_cache_create(&opts, &cache);
	if (!err)
		err = annex_array_init(&numbers, cache, 0, sizeof(x), n);
	for (uint64_t i = 0; !err && i < n; i++) {
		err = annex_array_get(&numbers, i, &x);
		sum += x;
	}
	if (err)
		fprintf(stderr, "sum: %s\n", annex_last_error());
	else
		printf("%llu\n", (unsigned long long)sum);
	annex_cache_destroy(cache);
	annex_dev_close(dev);
	return err ? 1 : 0;
}
