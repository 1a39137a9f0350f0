// SPDX-License-Identifier: MIT
/*
 * y = a * x + y of 100000 floats by kernels/saxpy.c, on a device in this process or on one that
 * `annex ndp serve` offers, against the same loop on the host:
 * saxpy KERNEL.elf 'shm:FILE?size=16M' [ndp:SOCKET]
 */
#include <stdio.h>
#include <stdlib.h>
#include <annex/m2func.h>
#include <annex/models/ndp.h>

#define N 100000u

/* As the kernel has it. */
struct args {
	const float *x;
	uint64_t n;
	uint32_t piece;
	float a;
};

static int load(struct annex_m2 *m2, struct annex_hdm *hdm, const char *path,
		struct annex_m2_kernel **kernel)
{
	static unsigned char elf[1 << 20];
	FILE *f = fopen(path, "rb");
	size_t bytes = f ? fread(elf, 1, sizeof(elf), f) : 0;

	if (!f)
		return perror(path), -1;
	fclose(f);
	return annex_m2_load(m2, hdm, elf, bytes, kernel);
}

static int run(struct annex_m2 *m2, struct annex_hdm *hdm, const char *path)
{
	struct annex_m2_kernel *kernel = NULL;
	struct annex_m2_info info;
	void *x_at = NULL, *y_at = NULL;
	struct args args;
	size_t wrong = 0;
	float *x, *y;
	int err = annex_m2_map(m2, hdm, NULL, 0, ANNEX_M2_READ | ANNEX_M2_WRITE) ||
		  annex_hdm_alloc(hdm, N * sizeof(*x), 64, NULL, &x_at) ||
		  annex_hdm_alloc(hdm, N * sizeof(*y), 64, NULL, &y_at) ||
		  load(m2, hdm, path, &kernel);

	if (err)
		return err;
	x = (float *)x_at; /* C++ wants the casts */
	y = (float *)y_at;
	for (unsigned int i = 0; i < N; i++) {
		x[i] = (float)i;
		y[i] = 1;
	}
	annex_m2_get_info(m2, &info);
	args.x = x;
	args.n = N;
	args.piece = info.piece / (uint32_t)sizeof(float);
	args.a = 0.5f;
	err = annex_m2_run(m2, kernel->id, y, N * sizeof(*y), &args, sizeof(args), NULL);
	for (unsigned int i = 0; i < N && !err; i++)
		wrong += y[i] != 0.5f * (float)i + 1;
	if (!err)
		printf("%u numbers, %zu wrong\n", N, wrong);
	annex_m2_unload(m2, kernel);
	annex_hdm_free(hdm, x);
	annex_hdm_free(hdm, y);
	return err ? err : wrong != 0;
}

int main(int argc, char **argv)
{
	struct annex_ndp *ndp = NULL;
	struct annex_hdm *hdm = NULL;
	struct annex_m2 *m2 = NULL;
	int err;

	if (argc < 3)
		return fputs("usage: saxpy KERNEL.elf RANGE [DEVICE]\n", stderr), 2;
	err = annex_hdm_open(argv[2], NULL, &hdm);
	if (!err && argc > 3)
		err = annex_m2_open(argv[3], NULL, &m2);
	else if (!err)
		err = annex_ndp_create(NULL, &ndp) || annex_m2_open_local(ndp, NULL, &m2);
	if (!err)
		err = run(m2, hdm, argv[1]);
	if (err && *annex_last_error())
		fprintf(stderr, "saxpy: %s\n", annex_last_error());
	annex_m2_close(m2);
	if (ndp)
		annex_ndp_destroy(ndp);
	annex_hdm_close(hdm);
	return err ? 1 : 0;
}
