// SPDX-License-Identifier: MIT
/*
 * Batches of rows gathered in C, for comparison with Python:
 *
 *	gather URI OFFSET ROW ROWS CACHE LINE BATCH WARM INDICES GROUP
 *
 * INDICES is a file of 64-bit numbers, @BATCH of them for each batch. The first WARM batches are
 * not timed. GROUP is a cgroup to join, or "". Word J of row I must be (I * ROW / 4 + J) * FACTOR.
 * Prints the seconds of each other batch.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <annex/array.h>
#include <annex/device.h>

#define FACTOR 2654435761u

static void die(const char *words)
{
	fprintf(stderr, "gather: %s\n", words);
	exit(1);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t number(const char *text)
{
	return strtoull(text, NULL, 10);
}

static void join(const char *group)
{
	char path[4096];
	FILE *f;

	if (!*group)
		return;
	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	f = fopen(path, "w");
	if (!f || fputs("0", f) < 0 || fclose(f))
		die("cannot join the group");
}

static void verify(const uint32_t *rows, const uint64_t *index, uint64_t n, uint64_t words)
{
	for (uint64_t i = 0; i < n; i++)
		for (uint64_t j = 0; j < words; j++)
			if (rows[i * words + j] != (uint32_t)(index[i] * words + j) * FACTOR)
				die("a row is wrong");
}

static void run(const struct annex_array *a, uint64_t batch, uint64_t warm, FILE *indices)
{
	uint64_t *index = calloc(batch, sizeof(*index));
	uint32_t *rows = calloc(batch, a->elem);

	if (!index || !rows)
		die("no memory");
	for (uint64_t i = 0; fread(index, sizeof(*index), batch, indices) == batch; i++) {
		double start = seconds();

		if (annex_array_gather(a, index, (unsigned int)batch, rows))
			die(annex_last_error());
		if (i >= warm)
			printf("%.9f\n", seconds() - start);
		verify(rows, index, batch, a->elem / 4);
	}
	free(index);
	free(rows);
}

int main(int argc, char **argv)
{
	struct annex_cache_opts opts = {0};
	struct annex_cache *cache;
	struct annex_array array;
	struct annex_dev *dev;
	FILE *indices;

	if (argc != 11)
		die("URI OFFSET ROW ROWS CACHE LINE BATCH WARM INDICES GROUP");
	indices = fopen(argv[9], "rb");
	if (!indices)
		die("no indices");
	join(argv[10]);
	if (annex_dev_open(argv[1], NULL, &dev))
		die(annex_last_error());
	opts.bytes = number(argv[5]);
	opts.line = (uint32_t)number(argv[6]);
	opts.devs = &dev;
	opts.ndevs = 1;
	if (annex_cache_create(&opts, &cache) ||
	    annex_array_init(&array, cache, number(argv[2]), (uint32_t)number(argv[3]),
			     number(argv[4])))
		die(annex_last_error());
	run(&array, number(argv[7]), number(argv[8]), indices);
	fclose(indices);
	annex_cache_destroy(cache);
	annex_dev_close(dev);
	return 0;
}
