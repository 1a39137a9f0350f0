/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * annex selftest: each part writes random bytes to the storage in its own way, reads them, and
 * compares them with a plain array.
 */
#ifndef TOOLS_SELFTEST_H
#define TOOLS_SELFTEST_H

#include <stdbool.h>
#include <stdint.h>

#define SELFTEST_THREADS 4u
#define SELFTEST_AREA (4ull << 20) /* bytes of a part on the storage */
#define SELFTEST_MOST (64u << 10)  /* bytes that a thread moves at once, at most */
#define SELFTEST_BUF (SELFTEST_THREADS * SELFTEST_MOST)

/*
 * struct tally - The results of a part.
 * @operations: moves and checks.
 * @bytes: bytes compared.
 * @rounds: rounds begun.
 * @seed: seed of the last round.
 * @seconds: duration of the part.
 * @err: -EILSEQ: a result was wrong; another errno: the part could not go on; 0: neither.
 * @line: the wrong result, or the reason for @err.
 */
struct tally {
	uint64_t operations, bytes, rounds, seed;
	double seconds;
	int err;
	char line[256];
};

/*
 * struct medium - A part's own way to its storage. Functions return 0 or -errno.
 * @unit: places and sizes are multiples of it.
 * @most: bytes of a move, at most.
 * @open: open the storage at @uri; @buf has a buffer for each thread.
 * @move: @n bytes between place @at and one of the buffers.
 * @range: the storage is a range, not a device.
 * @alone: for one thread, as others would evict its bytes, which end with open().
 */
struct medium {
	const char *name;
	uint64_t unit, most;
	int (*open)(const char *uri, unsigned char *buf);
	int (*move)(unsigned char *buf, uint64_t at, uint64_t n, bool write);
	bool range, alone;
};

extern const struct medium selftest_media[]; /* up to a NULL name */

/*
 * medium_settle() - Flush all written data to the storage. medium_close() - Undo open(), or the
 * completed part of it. An error means that the device may still write the buffers.
 */
int medium_settle(void);
int medium_close(void);

/* selftest_round() - One round on inputs that follow from @t->seed. The result is @t->err. */
void selftest_round(const struct medium *m, const char *uri, struct tally *t);

#endif
