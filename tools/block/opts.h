/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options of both annex verify and annex bench block.
 */
#ifndef TOOLS_BLOCK_OPTS_H
#define TOOLS_BLOCK_OPTS_H

#include <stdbool.h>
#include "tools/common/cli.h"
#include "tools/common/pool.h"
#include "lane.h"

/*
 * struct block_opts - Values of block_options.
 * @bytes: of the device, from its beginning; 0: all of it.
 */
struct block_opts {
	struct lanes_opts lanes;
	uint64_t bytes, seed;
	int order;
	bool overwrite, json;
};

enum { BLOCK_RANDOM, BLOCK_SEQUENTIAL };

/* A table of its options, and its value before they are parsed. */
extern const struct cli_option block_options[];
#define BLOCK_OPTS                                                                                 \
	{                                                                                          \
		.lanes = {.threads = pool_default_threads(), .depth = 64, .size = 4096}, .seed = 1 \
	}

/*
 * block_open() - Open @uri; with @write only if its data may be overwritten, with @checks only if
 * no other process writes to it. The command uses *@bytes of it. After success and failure, call
 * block_close() with the error of the whole command.
 */
struct target;
int block_open(struct lanes *ls, struct target *t, const struct block_opts *o, const char *uri,
	       bool write, bool checks, uint64_t *bytes);
void block_close(struct lanes *ls, struct target *t, int err);

/* block_flush() - Have all written data reach the medium. */
int block_flush(struct lanes *ls);

/* block_report() - The options, as rows of a report. */
struct out;
void block_report(struct out *out, const struct block_opts *o, const struct lanes *ls);

#endif
