// SPDX-License-Identifier: MIT
/*
 * Times of the processor, as printed by
 *
 *	build/bench/fs costs
 *
 * on 2026-11-26: the medians of five runs, rounded: real times of calls of the library,
 * without FUSE and with what emulates the endpoint. The copying of a page is taken off read and
 * write.
 */
#include <stdio.h>
#include <string.h>
#include "../../bench/figure.h"
#include "fs.h"

#define FILES 1000u
#define WARM BENCH_SIZE(40u, 0u) /* rounds before, in which all pages of flash get memory */
#define MOST 25u
#define ROUNDS BENCH_SIZE(MOST, 1u)
#define OVER 128u /* pages that are written at once */

const char *const fsb_names[FSB_CALLS] = {"lookup", "getattr", "create", "unlink", "mkdir",
					  "rmdir",  "rename",  "read",   "write",  "fsync"};

const uint64_t fsb_costs[FSB_CALLS] = {
	[FSB_LOOKUP] = 300, [FSB_GETATTR] = 90, [FSB_CREATE] = 2500, [FSB_UNLINK] = 3600,
	[FSB_MKDIR] = 4800, [FSB_RMDIR] = 3900, [FSB_RENAME] = 2500, [FSB_READ] = 320,
	[FSB_WRITE] = 440,  [FSB_FSYNC] = 2700,
};
const uint64_t fsb_copy = 270;

/* struct costs - @inos: of the files. @ns: of a call, of each round; @copy: of each 4 KiB. */
struct costs {
	uint32_t inos[FILES];
	double ns[FSB_CALLS][MOST], copy[MOST];
};

/* One call of a kind for file @i. */
static void call(struct fsb *b, struct costs *c, enum fsb_call kind, uint32_t i)
{
	struct fsb_file f = {.ino = c->inos[i]};
	char name[16], other[16];

	fsb_name(i, name);
	fsb_name(i + FILES, other);
	switch (kind) {
	case FSB_CREATE:
	case FSB_MKDIR:
		c->inos[i] = fsb_make(b, ANNEX_FS_ROOT, name, kind == FSB_MKDIR);
		break;
	case FSB_WRITE:
		fsb_write(b, &f, 0, 0, ANNEX_FS_BLOCK);
		break;
	case FSB_FSYNC:
		for (bool again = false; !fsb_sync(b, f.ino, again); again = true)
			;
		break;
	case FSB_READ:
		fsb_read(b, &f, 0, 0, ANNEX_FS_BLOCK);
		break;
	case FSB_LOOKUP:
		fsb_forget(b, fsb_lookup(b, ANNEX_FS_ROOT, name));
		break;
	case FSB_GETATTR:
		fsb_size(b, f.ino);
		break;
	case FSB_RENAME:
		fsb_rename(b, ANNEX_FS_ROOT, name, other);
		break;
	default:
		fsb_remove(b, ANNEX_FS_ROOT, kind == FSB_UNLINK ? other : name, kind == FSB_RMDIR);
		fsb_forget(b, f.ino);
	}
}

/* Of a call, with its forget. */
static double measure(struct fsb *b, struct costs *c, enum fsb_call kind)
{
	uint64_t ns = 0;

	memset(&b->calls, 0, sizeof(b->calls));
	for (uint32_t i = 0; i < FILES; i++)
		call(b, c, kind, i);
	for (unsigned int i = 0; i < FSB_CALLS; i++)
		ns += b->calls.ns[i];
	return (double)ns / FILES;
}

/* Of copying 4 KiB: a large write into pages that are dirty, over a small one. */
static double measure_copy(struct fsb *b)
{
	struct fsb_file f = {.ino = fsb_make(b, ANNEX_FS_ROOT, "large", false)};
	const uint32_t sizes[] = {OVER * ANNEX_FS_BLOCK, ANNEX_FS_BLOCK}, rounds = 20;
	double ns[2];

	fsb_write(b, &f, 0, 0, sizes[0]);
	for (unsigned int k = 0; k < 2; k++) {
		memset(&b->calls, 0, sizeof(b->calls));
		for (uint32_t i = 0; i < rounds; i++)
			fsb_write(b, &f, 0, 0, sizes[k]);
		ns[k] = (double)b->calls.ns[FSB_WRITE] / rounds;
	}
	fsb_remove(b, ANNEX_FS_ROOT, "large", false);
	fsb_forget(b, f.ino);
	return (ns[0] - ns[1]) / (OVER - 1);
}

void fsb_measure_costs(struct fsb *b)
{
	static const enum fsb_call kinds[] = {FSB_CREATE, FSB_WRITE,   FSB_FSYNC,  FSB_READ,
					      FSB_LOOKUP, FSB_GETATTR, FSB_RENAME, FSB_UNLINK,
					      FSB_MKDIR,  FSB_RMDIR};
	static struct costs c;

	for (unsigned int k = 0; k < WARM + ROUNDS; k++) {
		const unsigned int round = k < WARM ? 0 : k - WARM;

		for (unsigned int i = 0; i < FSB_CALLS; i++)
			c.ns[kinds[i]][round] = measure(b, &c, kinds[i]);
		c.copy[round] = measure_copy(b);
	}
	puts("{");
	for (unsigned int i = 0; i < FSB_CALLS; i++)
		printf("  \"%s\": %.0f,\n", fsb_names[i], bench_median(c.ns[i], ROUNDS));
	printf("  \"copy\": %.0f\n}\n", bench_median(c.copy, ROUNDS));
}
