// SPDX-License-Identifier: MIT
/* Print one number of a file of doubles, however large: element file:PATH?readonly=1 INDEX */
#include <stdio.h>
#include <stdlib.h>
#include <annex/array.h>
#include <annex/device.h>

int main(int argc, char **argv)
{
	struct annex_dev *dev = NULL;
	struct annex_cache *cache = NULL;
	static struct annex_cache_opts opts; /* zeroes are defaults */
	struct annex_array a;
	double x;
	int err;

	if (argc != 3)
		return fputs("usage: element URI INDEX\n", stderr), 2;
	opts.bytes = 1ull << 30;
	opts.devs = &dev;
	opts.ndevs = 1;
	err = annex_dev_open(argv[1], NULL, &dev) || annex_cache_create(&opts, &cache) ||
	      annex_array_init(&a, cache, 0, sizeof(x), annex_cache_size(cache) / sizeof(x)) ||
	      annex_array_get(&a, strtoull(argv[2], NULL, 0), &x);

	if (err)
		fprintf(stderr, "element: %s\n", annex_last_error());
	else
		printf("%g\n", x);
	annex_cache_destroy(cache);
	annex_dev_close(dev);
	return err;
}
