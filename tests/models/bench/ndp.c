// SPDX-License-Identifier: MIT
/*
 * The benchmarks of near-data processing: ndp OUTPUT.json TOOL DIR
 * [calls|launches|filter|kernels|timing]...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <annex/models/ndp.h>
#include "ndp.h"

static const struct bench_group groups[] = {
	{"calls", ndp_calls},     {"launches", ndp_launches}, {"filter", ndp_filter},
	{"kernels", ndp_kernels}, {"timing", ndp_timing},     {NULL, NULL},
};

static void check(int err)
{
	if (err)
		bench_fail("%s", annex_last_error());
}

void *ndp_bench_alloc(struct ndp_bench *b, size_t bytes)
{
	void *at;

	check(annex_hdm_alloc(b->hdm, bytes, 4096, NULL, &at));
	memset(at, 0, bytes);
	return at;
}

static void register_null(struct ndp_bench *b)
{
	const uint32_t ecall = 0x73;
	const struct annex_m2_needs needs = {.nx = 3};

	b->image = ndp_bench_alloc(b, 4096);
	*b->image = (struct annex_m2_image){
		.magic = ANNEX_M2_IMAGE_MAGIC,
		.version = ANNEX_M2_VERSION,
		.bytes = sizeof(*b->image) + sizeof(ecall),
		.bodies = 1,
		.body = {sizeof(*b->image)},
	};
	memcpy(b->image + 1, &ecall, sizeof(ecall));
	check(annex_m2_register(b->m2, b->image, &needs, &b->null));
}

void ndp_bench_open(uint64_t bytes, const struct annex_ndp_opts *ndp,
		    const struct annex_m2_opts *m2, struct ndp_bench *out)
{
	char uri[4200], path[4096];

	/* In memory: the figures are of the device, not of a disk. */
	snprintf(path, sizeof(path), "/dev/shm/annex-bench-%d", (int)getpid());
	snprintf(uri, sizeof(uri), "shm:%s?size=%llu", path, (unsigned long long)bytes);
	check(annex_hdm_open(uri, NULL, &out->hdm));
	unlink(path);
	check(annex_ndp_create(ndp, &out->ndp));
	check(annex_m2_open_local(out->ndp, m2, &out->m2));
	check(annex_m2_map(out->m2, out->hdm, NULL, 0, ANNEX_M2_READ | ANNEX_M2_WRITE));
	register_null(out);
	out->piece = ndp_bench_alloc(out, 4096);
}

void ndp_bench_close(struct ndp_bench *b)
{
	annex_m2_close(b->m2);
	annex_ndp_destroy(b->ndp);
	annex_hdm_close(b->hdm);
}

int main(int argc, char **argv)
{
	bench_command("make bench-ndp");
	bench_groups(groups, argc, argv);
	return 0;
}
