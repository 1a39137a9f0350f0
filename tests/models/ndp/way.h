/* SPDX-License-Identifier: MIT */
/*
 * Kernels run by qemu-riscv64, one after the other, on the same data in the same range: what the
 * device is compared with.
 */
#ifndef ANNEX_TESTS_NDP_WAY_H
#define ANNEX_TESTS_NDP_WAY_H

#include "ndp/kernels/kernels.h"

/* struct ndp_job - The input of harness.S. */
struct ndp_job {
	uint64_t base, bound, piece, slots;
	uint64_t at, bytes; /* the range */
	uint64_t nargs;
	unsigned char args[256];
};
_Static_assert(sizeof(struct ndp_job) == 312, "as harness.S has it");

/**
 * struct ndp_qemu - @dir: where the kernels are, linked with the harness. @fd: the range's file.
 * @seconds: how long the last kernel took, without its start.
 */
struct ndp_qemu {
	const char *dir;
	int fd;
	void *at;
	uint64_t bytes;
	uint32_t piece, vlen;
	double seconds;
};

/* ndp_qemu_run() - For struct k_way; the context is a struct ndp_qemu. -EIO: it failed. */
int ndp_qemu_run(void *ctx, enum k_kernel kernel, const void *pool, uint64_t bytes,
		 const void *args, size_t nargs);

#endif
