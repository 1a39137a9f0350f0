// SPDX-License-Identifier: MIT
/*
 * Rows of a file that is larger than memory: print the mean of some rows of a .npy file of 100
 * floats a row, as numpy.save() writes it: rows features.npy INDEX...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <annex/array.h>
#include <annex/device.h>

#define COLUMNS 100u
#define ROW (COLUMNS * sizeof(float))
#define MOST 64

static void must(int err)
{
	if (err)
		exit((fprintf(stderr, "rows: %s\n", annex_last_error()), 1));
}

/*
 * Where the rows begin, and how many there are. A header's length is at byte 8: 2 bytes in files of
 * version 1, 4 in later ones.
 */
static uint64_t first_row(const char *path, uint64_t *rows)
{
	unsigned char h[12];
	FILE *f = fopen(path, "rb");
	uint64_t first;
	long end = 0;

	if (!f || fread(h, 1, sizeof(h), f) != sizeof(h) || fseek(f, 0, SEEK_END) ||
	    (end = ftell(f)) < 0)
		exit((perror(path), 1));
	fclose(f);
	first = h[8] | (uint64_t)h[9] << 8;
	first += h[6] == 1 ? 10 : 12 + ((uint64_t)h[10] << 16 | (uint64_t)h[11] << 24);
	if (memcmp(h, "\x93NUMPY", 6) || first > (uint64_t)end)
		exit((fprintf(stderr, "rows: %s: no .npy file\n", path), 1));
	*rows = ((uint64_t)end - first) / ROW;
	return first;
}

int main(int argc, char **argv)
{
	static struct annex_cache_opts opts; /* zeroes are defaults */
	static float out[MOST][COLUMNS];
	struct annex_cache *cache = NULL;
	struct annex_dev *dev = NULL;
	uint64_t idx[MOST], first, rows;
	unsigned int n = (unsigned int)argc - 2;
	struct annex_array a;
	char uri[4096];

	if (argc < 3 || n > MOST)
		return fputs("usage: rows FILE.npy INDEX...\n", stderr), 2;
	for (unsigned int k = 0; k < n; k++)
		idx[k] = strtoull(argv[k + 2], NULL, 0);
	first = first_row(argv[1], &rows);
	snprintf(uri, sizeof(uri), "file:%s?readonly=1", argv[1]);
	must(annex_dev_open(uri, NULL, &dev));
	opts.bytes = 64 << 20;
	opts.devs = &dev;
	opts.ndevs = 1;
	must(annex_cache_create(&opts, &cache));

	/* Rows of 400 bytes behind the header: some of them span two lines of the cache. */
	must(annex_array_init(&a, cache, first, ROW, rows));
	must(annex_array_gather(&a, idx, n, out));
	for (unsigned int k = 0; k < n; k++) {
		double sum = 0;

		for (unsigned int c = 0; c < COLUMNS; c++)
			sum += out[k][c];
		printf("row %llu: mean %g\n", (unsigned long long)idx[k], sum / COLUMNS);
	}
	must(annex_cache_destroy(cache));
	must(annex_dev_close(dev));
	return 0;
}
