/* SPDX-License-Identifier: MIT */
/*
 * Claimed lines become transfers, neighbours one, and are sent.
 */
#ifndef ANNEX_CACHE_ISSUE_H
#define ANNEX_CACHE_ISSUE_H

#include "xfer.h"

/* A line that this thread has claimed for reading or writing, and its slot. */
struct annex_claim {
	uint64_t line;
	uint32_t slot;
};

struct annex_batch {
	struct annex_claim claims[ANNEX_GROUP];
	unsigned int n;
};

enum annex_issue {
	ISSUE_READ,
	ISSUE_PREFETCH, /* a read that waits for nothing: what finds no room is not sent */
	ISSUE_AHEAD,    /* a write that waits for nothing */
	ISSUE_WRITE,    /* a write that is needed, for @flush unless NULL */
};

/**
 * annex_issue() - Send all claims of a batch, and empty it.
 *
 * Return: how many were sent; of a prefetch or a write ahead, the others are as before their claim.
 */
unsigned int annex_issue(struct annex_cache *c, struct annex_batch *batch, enum annex_issue kind,
			 struct annex_flush *flush);

#endif
