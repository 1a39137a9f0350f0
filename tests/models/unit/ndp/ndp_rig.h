/* SPDX-License-Identifier: MIT */
/*
 * A near-data processor, a process that has some memory mapped in it, and calls that wait for their
 * answer.
 */
#ifndef ANNEX_TESTS_NDP_RIG_H
#define ANNEX_TESTS_NDP_RIG_H

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <annex/detail/atomic.h>
#include <annex/detail/clock.h>
#include <annex/models/ndp.h>
#include "models/ndp/device/engine.h"
#include "models/ndp/harts/rv.h"
#include "tests/models/unit/ndp_asm.h"
#include "tests/unit/unit.h"

#define NEAR_BYTES (4u << 20)
#define NEAR_VA 0x40000000ull
#define NEAR_DATA 0x100000u /* of the memory: images are below */

/**
 * struct near - A device and one process; @mem is at NEAR_VA of its kernels.
 */
struct near {
	struct annex_ndp *ndp;
	struct ndp_client *client;
	char *mem;
	uint32_t used; /* by images */
};

/* near_open() - @opts: NULL for two threads and otherwise defaults. */
void near_open(struct near *r, const struct annex_ndp_opts *opts);
void near_close(struct near *r);

/* near_join() - Another process of the same device, with memory of its own. */
void near_join(struct near *r, const struct near *other);

/* struct answer - Of a call; @answered: how many times. */
struct answer {
	struct annex_m2_answer m2;
	uint32_t answered;
};

/* near_call() - Without waiting. near_wait(): until it is answered; false after a long time. */
void near_call(struct near *r, unsigned int function, const void *payload, size_t bytes,
	       struct answer *a);
bool near_wait(struct answer *a);

/**
 * struct kernel - An image under construction.
 */
struct kernel {
	struct annex_m2_image image;
	uint32_t text[64];
	unsigned int n;
};

/* KERNEL_PART(k, k.image.body[0], words...) - Code that begins there. */
void near_part(struct kernel *k, uint32_t *entry, const uint32_t *words, size_t n);
#define KERNEL_PART(k, entry, ...)                                                                 \
	near_part((k), &(k)->image.entry, (const uint32_t[]){__VA_ARGS__},                         \
		  sizeof((const uint32_t[]){__VA_ARGS__}) / 4)

/* near_put() - Its bytes into the process's memory; the address. */
uint64_t near_put(struct near *r, struct kernel *k);

/* near_register() - With all registers; the id, or a negative errno. */
int64_t near_register(struct near *r, struct kernel *k, uint32_t scratchpad, uint8_t args);

/* near_one() - The same of a kernel that is one body, without arguments. */
#define NEAR_ONE(r, ...)                                                                           \
	near_one((r), (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / 4)
int64_t near_one(struct near *r, const uint32_t *words, size_t n);
int64_t near_unregister(struct near *r, int64_t id);

/* near_start() - A launch on [NEAR_VA + NEAR_DATA + @at, + @bytes), with @n arguments. */
void near_start(struct near *r, int64_t id, bool sync, uint32_t at, uint64_t bytes,
		const uint64_t *args, unsigned int n, struct answer *a);

/* near_run() - The same, synchronous, and the answer. */
struct annex_m2_answer near_run(struct near *r, int64_t id, uint32_t at, uint64_t bytes,
				const uint64_t *args, unsigned int n);
struct annex_m2_answer near_poll(struct near *r, int64_t instance);

static inline uint64_t *near_data(struct near *r)
{
	return (uint64_t *)(void *)(r->mem + NEAR_DATA);
}

#define NEAR_POOL (NEAR_VA + NEAR_DATA)

/*
 * near_make_wait() - A kernel that ends when the word at its piece is not zero, as near_let_go()
 * makes it. near_make_count(): one that counts it up, endlessly.
 */
int64_t near_make_wait(struct near *r);
int64_t near_make_count(struct near *r);
void near_let_go(uint64_t *word);

/* near_grows() - Whether a word that kernels count up goes up by @much in time. */
bool near_grows(uint64_t *word, uint64_t much);

#endif
