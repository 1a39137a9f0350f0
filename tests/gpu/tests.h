/* SPDX-License-Identifier: MIT */
/*
 * Tests of device code and of the programs made of it, on a GPU or on the host that plays one.
 */
#ifndef ANNEX_TESTS_GPU_TESTS_H
#define ANNEX_TESTS_GPU_TESTS_H

#include "tools/gpu/runner.h"

/* tests_runner() - The runner for the kernels of this program, by real.c or twin.c. */
int tests_runner(int device, struct runner **out);

/* tests_seed() - The seed of the program's random inputs: ANNEX_SEED, or 1. */
uint64_t tests_seed(void);

/* tests_small() - Whether inputs shall be small: on the host, or under a tool that is slow. */
bool tests_small(void);

/* struct gpu_test - A claim; @run returns 0, or -errno with the line set (tools/common/error.h). */
struct gpu_test {
	const char *name;
	int (*run)(struct runner *r);
};

/* A test that is a call with other arguments, of the runner r. */
#define GPU_TEST(ident, call)                                                                      \
	static int ident(struct runner *r)                                                         \
	{                                                                                          \
		return call;                                                                       \
	}

/* Lists end with a NULL name. */
extern const struct gpu_test array_tests[];   /* elements, spans, tickets */
extern const struct gpu_test drive_tests[];   /* the same on $ANNEX_TEST_DEVICE */
extern const struct gpu_test fault_tests[];   /* devices with faults */
extern const struct gpu_test program_tests[]; /* algorithms on graphs, and addition */
extern const struct gpu_test tier_tests[];    /* spaces in GPU memory */

#endif
