/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TOOLS_SELFTEST_TALLY_H
#define TOOLS_SELFTEST_TALLY_H

#include <stddef.h>
#include <stdint.h>

/*
 * struct tally - The results of a part.
 * @first: the first thing that was wrong, or scarce; "": nothing.
 * @scarce: errno of a resource that this machine or user has no more of; 0: it had enough. It says
 *	nothing of the library.
 * @skipped: why it cannot run here; "": it can.
 * @mend: what to do about that.
 * @seed: of the round that was wrong.
 */
struct tally {
	uint64_t rounds, operations, bytes, faults, mismatches;
	double seconds;
	uint64_t seed;
	char first[256];
	int scarce;
	const char *skipped, *mend;
};

/* tally_add() - Add what one thread has counted. */
void tally_add(struct tally *to, const struct tally *from);

/* tally_wrong() - Something is not as it should be. Returns -EILSEQ. */
int tally_wrong(struct tally *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* tally_scarce() - No memory, threads, descriptors or room, for the reason @why. Returns @err. */
int tally_scarce(struct tally *t, int err, const char *why);

/* tally_call() - @err is what @call returned, which should be 0, or say what is scarce. Returns
 * @err. */
int tally_call(struct tally *t, int err, const char *call);

/* tally_same() - Compare @n bytes with @want; the line counts from byte @at. 0, -EILSEQ. */
int tally_same(struct tally *t, const char *what, uint64_t at, const void *got, const void *want,
	       size_t n);

/* tally_value() - Likewise of one number. */
int tally_value(struct tally *t, const char *what, uint64_t at, int64_t got, int64_t want);

/* tally_memory() - There is none. Returns -ENOMEM. */
int tally_memory(struct tally *t);

/* tally_skip() - The part cannot run here. Returns 0. */
int tally_skip(struct tally *t, const char *why, const char *mend);

#endif
