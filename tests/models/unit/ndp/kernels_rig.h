/* SPDX-License-Identifier: MIT */
/*
 * Near-data kernels for tests: a range, a device that has it, and arrays with guards at their ends.
 * The device is in this process (kernels_device.c), or served by another one, of which nothing is
 * linked (tests/models/client). With ANNEX_TEST_QEMU=DIR, qemu-riscv64 runs the kernels, from the
 * programs that `make ndp-build` puts into DIR.
 */
#ifndef ANNEX_TESTS_KERNELS_RIG_H
#define ANNEX_TESTS_KERNELS_RIG_H

#include <annex/models/ndp.h>
#include "tests/unit/hdm_rig.h"
#include "tests/models/ndp/host.h"
#include "tests/models/ndp/way.h"

#define RIG_ARRAYS 16u

struct kernels_rig {
	struct hdm_rig range;
	struct annex_ndp *ndp;
	struct annex_m2 *m2;
	struct annex_kernels *k;
	struct annex_kernels emulated;
	struct ndp_qemu qemu;
	uint64_t random;
	struct rig_array {
		unsigned char *at;
		size_t bytes;
	} array[RIG_ARRAYS];
	unsigned int narrays;
};

/* @opts: of the device; NULL: the defaults. */
void kernels_rig_open(struct kernels_rig *r, const struct annex_ndp_opts *opts, const char *test);
void kernels_rig_close(struct kernels_rig *r);

/* A device with the rig's range, and its client. */
void kernels_device_open(struct kernels_rig *r, const struct annex_ndp_opts *opts);
void kernels_device_close(struct kernels_rig *r);

/* rig_array() - Random bytes until rig_drop(), which checks the guard behind them. */
void *rig_array(struct kernels_rig *r, size_t bytes);
void rig_drop(struct kernels_rig *r);

/* Floats from -1 to 1. */
float *rig_floats(struct kernels_rig *r, size_t n);

/* A number below @n. */
uint64_t rig_below(struct kernels_rig *r, uint64_t n);

/* rig_sizes() - Call @test with all kinds of lengths up to @most. */
void rig_sizes(struct kernels_rig *r, size_t most, void (*test)(struct kernels_rig *r, size_t n));

/* rig_close_to() - Whether each result is within its bound. */
bool rig_close_to(const float *got, const double *want, const double *bound, size_t n);

/* rig_devices() - The same on devices that differ: pieces of 32 and 64 bytes, vectors of all
 * lengths. */
void rig_devices(const char *test, void (*run)(struct kernels_rig *r));

#endif
