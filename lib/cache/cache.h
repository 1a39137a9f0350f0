/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of the cache. annex/detail/line.h has the word that describes a line.
 */
#ifndef ANNEX_CACHE_CACHE_H
#define ANNEX_CACHE_CACHE_H

#include <annex/cache.h>
#include <annex/detail/clock.h>
#include <annex/device.h>
#include "core/fork.h"
#include "stats.h"

#define XFER_NONE UINT32_MAX

#define ANNEX_GROUP 64u /* members of a group, and lines claimed and sent together */

struct annex_xfer;

/* A device, and how the lines are reached through it. */
struct annex_leaf {
	struct annex_dev *dev;
	uint64_t addr; /* device address of slot 0 */
	uint32_t block;
	bool mapped;
};

struct annex_cache {
	/* Set at creation, read by every access. */
	uint64_t *dir;   /* state words, by entry (entry.h) */
	uint32_t *heads; /* of a directory that is a table: the chains' first entries, or NULL */
	char *mem;       /* the slots */
	struct annex_shard *shards;
	uint64_t nlines;
	uint32_t line;
	uint32_t line_shift;
	uint32_t nslots;
	uint32_t head_shift; /* of a line's hash, to the number of its head */
	uint64_t size;
	uint64_t *lines; /* of each entry of a table: its line, */
	uint32_t *next;  /* and the next in its chain */

	/* Set at creation, read by misses. */
	uint64_t *owner;      /* of each slot: a line's entry or SLOT_* */
	uint32_t *slot_xfer;  /* of each slot: the transfer that moves its line, or XFER_NONE */
	uint64_t *slot_retry; /* of each slot: when to repeat a failed write of its line */
	struct annex_xfer *xfers;
	uint32_t nxfers;
	uint32_t nentries; /* that a table has room for */
	struct annex_leaf *leaves;
	uint32_t nleaves;
	uint32_t nsid;
	enum annex_layout layout;
	uint32_t run_max;    /* lines that one command may carry */
	uint32_t seg_max;    /* pieces of memory that one command may name */
	uint32_t pieces;     /* commands for one line on one device */
	uint32_t piece;      /* bytes of such a command */
	uint32_t timeout_ms; /* the slowest device's */
	const struct annex_provider *provider;
	size_t mem_len;
	struct fork_watch fork; /* a child must not use its copy */
	void *dir_raw;          /* the mapping of the directory */
	size_t dir_len;

	__attribute__((aligned(64))) uint64_t hand; /* next slot of the clock */
	uint64_t clean_hand;                        /* slots before it were looked at for writing */
	uint64_t xfer_free;                         /* stack of free transfers */
	uint64_t entry_free;                        /* stack of entries that have been used */
	uint32_t entries;                           /* that have ever been used */
	uint32_t xfer_hand;
	uint32_t groups;   /* vectors of elements that are waiting for lines */
	uint32_t rotor;    /* spreads reads over replicas */
	uint64_t inflight; /* commands submitted and not reaped */
	uint64_t depth_max;
	uint64_t prefetching; /* lines that are being read ahead */
	uint64_t wb_errors;   /* failed write-backs, and the errno of the last */
	int32_t wb_err;
};

static inline char *annex_slot_mem(const struct annex_cache *c, uint32_t slot)
{
	return c->mem + ((uint64_t)slot << c->line_shift);
}

/* Bytes of a line that exist on the devices: the last line may be a part. */
static inline uint32_t annex_line_bytes(const struct annex_cache *c, uint64_t line)
{
	uint64_t left = c->size - (line << c->line_shift);

	return left < c->line ? (uint32_t)left : c->line;
}

/**
 * annex_prefetch_lines() - annex_cache_prefetch() of lines that exist, by number.
 */
void annex_prefetch_lines(struct annex_cache *c, const uint64_t *lines, unsigned int n);

/**
 * annex_writeback_ahead() - After slots were taken: begin to write dirty lines in the window that
 * the hand will come to next, unless they have been used since it last passed. Does not wait. So
 * reads find clean victims and overlap with writes (BaM section 3.4 leaves this open).
 */
void annex_writeback_ahead(struct annex_cache *c);

/**
 * annex_writeback_start() - Begin to write dirty lines wherever they are, as no slot was to be had.
 * @failed: set to how many lines were seen and let be, because a write of them has just failed.
 *
 * Return: how many lines.
 */
unsigned int annex_writeback_start(struct annex_cache *c, uint32_t *failed);

#endif
