// SPDX-License-Identifier: MIT
/*
 * An M2func call: a near-data processor adds up numbers in its memory, where they stay. The first
 * line serves a processor on a range, for trying this without one:
 *
 *	annex ndp serve --socket /run/ndp.sock 'shm:/dev/shm/range?size=64M' &
 *	m2func ndp:/run/ndp.sock shm:/dev/shm/range
 */
#include <stdio.h>
#include <stdlib.h>
#include <annex/hdm.h>
#include <annex/kernels.h>
#include <annex/m2func.h>

#define N 1000000u

static void must(int err)
{
	if (err)
		exit((fprintf(stderr, "m2func: %s\n", annex_last_error()), 1));
}

int main(int argc, char **argv)
{
	struct annex_kernels *kernels = NULL;
	struct annex_hdm *hdm = NULL;
	struct annex_m2 *m2 = NULL;
	struct annex_m2_info info;
	void *piece = NULL;
	int64_t sum = 0;
	int32_t *data;

	if (argc != 3)
		return fputs("usage: m2func DEVICE RANGE\n", stderr), 2;
	/* The memory: the processor reads it at the addresses of this process. */
	must(annex_hdm_open(argv[2], NULL, &hdm));
	must(annex_m2_open(argv[1], NULL, &m2));
	must(annex_m2_map(m2, hdm, NULL, 0, ANNEX_M2_READ | ANNEX_M2_WRITE));
	annex_m2_get_info(m2, &info);
	fprintf(stderr, "%u units, vectors of %u bits\n", info.units, info.vlen);

	must(annex_hdm_alloc(hdm, N * sizeof(*data), ANNEX_NDP_ALIGN, NULL, &piece));
	data = (int32_t *)piece;
	for (int32_t i = 0; i < (int32_t)N; i++)
		data[i] = i % 1000 - 499;

	/*
	 * The library's kernels, loaded on first use. For your own see annex_m2_load(), and
	 * annex_m2_run(), which this call consists of: one vector store launches the kernel, and
	 * one vector load brings its result.
	 */
	must(annex_kernels_open(m2, hdm, &kernels));
	must(annex_ndp_sum_i32(kernels, data, N, &sum));
	printf("sum %lld\n", (long long)sum);

	must(annex_kernels_close(kernels));
	must(annex_hdm_free(hdm, piece));
	annex_m2_close(m2);
	annex_hdm_close(hdm);
	return 0;
}
