/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * annex selftest: each part compares what the library does with plain arrays and plain loops.
 */
#ifndef TOOLS_SELFTEST_H
#define TOOLS_SELFTEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <annex/detail/random.h>
#include <annex/device.h>
#include <annex/uri.h>
#include "tally.h"
#include "../out.h"

/* Bytes of each file that is made, and of a device that are used. */
#define SELFTEST_FILE (32ull << 20)
#define SELFTEST_AREA (8ull << 20)

/*
 * struct selftest - The options of annex selftest.
 * @overwrite: URI of a device that may be overwritten, or NULL.
 * @range: URI of a range, or NULL.
 * @folder: private folder for files, in the directory that was asked for.
 * @storage: file in it that serves as a device.
 * @hdm: file in it that serves as a range.
 * @direct: files are opened with O_DIRECT.
 */
struct selftest {
	const char *overwrite, *range;
	char *folder, *storage, *hdm;
	unsigned int threads;
	bool direct;
};

/*
 * struct selftest_part - A part of the self-test.
 * @round: one round, on inputs that follow from @seed. 0, or a negative errno, with the reason in
 *	@t.
 */
struct selftest_part {
	const char *name;
	int (*round)(const struct selftest *s, struct tally *t, uint64_t seed);
};

int selftest_queues(const struct selftest *s, struct tally *t, uint64_t seed);
int selftest_cache(const struct selftest *s, struct tally *t, uint64_t seed);
int selftest_spaces(const struct selftest *s, struct tally *t, uint64_t seed);
int selftest_ranges(const struct selftest *s, struct tally *t, uint64_t seed);
int selftest_plans(const struct selftest *s, struct tally *t, uint64_t seed);

/* pick() - A number below @n. fill() - Random bytes. */
static inline uint64_t pick(uint64_t *seed, uint64_t n)
{
	return annex_random(seed) % n;
}
void fill(uint64_t *seed, void *to, size_t bytes);

/*
 * storage_uri() - The device that data goes to: that of --overwrite, else memory or the file by
 * turns, with @query behind a "?" if it is not "".
 */
int storage_uri(const struct selftest *s, struct tally *t, uint64_t *seed, const char *query,
		char uri[ANNEX_URI_MAX]);

/*
 * struct area - Some blocks of a device.
 * @first: first byte on the device.
 * @addr: the device's address of @buf.
 * @shadow: the bytes that should be there.
 * @buf: buffer that the device can reach.
 */
struct area {
	struct tally *t;
	struct annex_dev *dev;
	struct annex_ns ns;
	uint64_t first, bytes, addr;
	uint32_t timeout_ms;
	unsigned char *shadow, *buf;
};

#define AREA_BUF (512u << 10)

/*
 * area_open() - Open the device, and write random bytes to SELFTEST_AREA of it, or to all of it
 * where that is less; with @anywhere at a random place, else at its beginning. @a has @t and
 * perhaps @timeout_ms (0: the default), and the rest zero.
 * area_reopen() - Close the device if its data outlives that, and open it anew.
 * area_check() - Check that all of @shadow is on the device.
 */
int area_open(struct area *a, const char *uri, uint64_t *seed, bool anywhere);
int area_reopen(struct area *a);
int area_check(struct area *a);
void area_close(struct area *a);

/* area_inject() - Inject a fault and count it, or return AREA_NO_FAULTS, which is no failure. */
#define AREA_NO_FAULTS 1 /* the device takes none */
int area_inject(struct area *a, const struct annex_fault *fault);

/* facts_report() - Write facts of this machine that a failure may depend on, as members of the JSON
 * object; the file system is that of @dir. */
void facts_report(struct out *o, const char *dir);

#endif
