/* SPDX-License-Identifier: MIT */
/*
 * A range, a device in this process, and a client of it that has the range mapped.
 */
#ifndef ANNEX_TESTS_M2_RIG_H
#define ANNEX_TESTS_M2_RIG_H

#include <errno.h>
#include <stdbool.h>
#include <annex/detail/clock.h>
#include <annex/m2func.h>
#include "ndp/client/m2.h"
#include "tests/models/unit/ndp_asm.h"
#include "tests/unit/unit.h"

#define M2_RIG_BYTES (4ull << 20)
#define M2_RIG_LONG_MS 20000u

/**
 * struct m2_rig - @pool: 64 KiB of the range, zeroes at first.
 */
struct m2_rig {
	int fd;
	char uri[64];
	struct annex_hdm *hdm;
	struct annex_ndp *ndp;
	struct annex_m2 *m2;
	uint64_t *pool;
};

/* An error gives up the test. @opts: NULL: M2func with defaults. */
void m2_rig_range(struct m2_rig *r);
void m2_rig_open(struct m2_rig *r, const struct annex_m2_opts *opts);
void m2_rig_close(struct m2_rig *r);

/* m2_rig_client() - Another client of the same device, with the range mapped. */
struct annex_m2 *m2_rig_client(struct m2_rig *r, const struct annex_m2_opts *opts);

/* M2_IMAGE(r, words...) - A kernel of one body, in the range. */
#define M2_IMAGE(r, ...)                                                                           \
	m2_rig_image((r), (const uint32_t[]){__VA_ARGS__},                                         \
		     sizeof((const uint32_t[]){__VA_ARGS__}) / 4)
void *m2_rig_image(struct m2_rig *r, const uint32_t *words, unsigned int n);

/* m2_rig_register() - With all integer registers and @args bytes of arguments; its id. */
uint32_t m2_rig_register(struct annex_m2 *m2, const void *image, uint8_t args);

/* Kernels. The gate says that it runs in the second word of its piece, and ends when the first one
 * is no longer 0. The counter adds its argument to the word at its piece. */
void *m2_rig_gate(struct m2_rig *r);
void *m2_rig_counter(struct m2_rig *r);

/* m2_rig_becomes() - Whether a word is no longer 0, in time. */
bool m2_rig_becomes(const uint64_t *word);

static inline void m2_rig_let_go(uint64_t *gate)
{
	/* Release: for a kernel, which is another thread. */
	annex_atomic_store(gate, 1u, ANNEX_RELEASE);
}

/* struct m2_run - annex_m2_run() in a thread of its own, on a pool of one piece. */
struct m2_run {
	struct annex_m2 *m2;
	uint32_t id;
	uint64_t *pool;
	pthread_t thread;
	int err;
};
void m2_run_start(struct m2_run *run);
int m2_run_end(struct m2_run *run);

#endif
