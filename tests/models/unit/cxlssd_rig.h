/* SPDX-License-Identifier: MIT */
/*
 * A CXL-SSD beside a plain array that knows what each line may hold after a power cut, and a disk
 * under its backing file that may lose, in sectors, all that was written since it was synced.
 */
#ifndef ANNEX_TESTS_CXLSSD_RIG_H
#define ANNEX_TESTS_CXLSSD_RIG_H

#include <annex/models/cxlssd.h>
#include "../../unit/unit.h"

#define RIG_PAGE 512u
#define RIG_LINES (RIG_PAGE / ANNEX_CXLSSD_LINE)

/* struct version - Bytes of a line, and the number of the store after which it had them. */
struct version {
	uint64_t store;
	unsigned char data[ANNEX_CXLSSD_LINE];
};

/*
 * struct line - @v: the @n versions of a line since the last fence; the first one is durable.
 * struct whole - An atomic store since the last fence. @ordered: if it is durable, all earlier
 * stores are.
 */
struct line {
	struct version *v;
	uint32_t n, room;
};

struct whole {
	uint64_t store;
	uint32_t first, last; /* lines */
	bool ordered;
};

/*
 * struct cxlssd_rig - @path: of a file in memory that goes with the process; @uri: of the endpoint.
 * @wrong: bytes or errors that no promise allows.
 * @tears: a cut loses most pages of flash that are not synced, and none of their records.
 * @again: so many of 64 times that it is opened after a cut, the power is cut once more.
 */
struct cxlssd_rig {
	int fd;
	char path[UNIT_PATH], uri[256];
	struct annex_cxlssd *s;
	uint32_t n_lines;
	struct line *lines;
	struct whole *wholes;
	uint32_t n_wholes, room;
	uint64_t stores, wrong;
	unsigned int again;
	bool tears;
};

/* An endpoint in a new file, of @pages pages; @more: "&KEY=VALUE" or "". */
void cxlssd_rig_make(struct cxlssd_rig *r, uint32_t pages, const char *more);
/* Open it, once more with other parameters of the DRAM. */
void cxlssd_rig_open(struct cxlssd_rig *r, const char *more);
void cxlssd_rig_free(struct cxlssd_rig *r);

/* The disk takes @writes more writes and syncs, then it is dead. Calls fail from then on, which is
 * not wrong, until the power is cut. */
void cxlssd_rig_doom(unsigned int writes);
int cxlssd_rig_dead(void);

/* The same disk under the file of an endpoint that the caller opened: it takes @writes more, is
 * dead, and loses what @rng says of the sectors that are not synced. */
void cxlssd_disk_on(unsigned int writes);
void cxlssd_disk_lose(int fd, uint64_t *rng);

/* Each does it with the endpoint and the array. Reads are compared. */
void cxlssd_rig_write(struct cxlssd_rig *r, uint64_t at, const void *buf, size_t bytes);
void cxlssd_rig_blocks(struct cxlssd_rig *r, uint32_t page, const void *buf);
void cxlssd_rig_trim(struct cxlssd_rig *r, uint32_t page, uint32_t n);
void cxlssd_rig_read(struct cxlssd_rig *r, uint64_t at, size_t bytes);
void cxlssd_rig_read_block(struct cxlssd_rig *r, uint32_t page);
void cxlssd_rig_fence(struct cxlssd_rig *r);
void cxlssd_rig_flush(struct cxlssd_rig *r);

/* A store that is seen, and lasts, as part of a transaction, which is waited for or not. */
void cxlssd_rig_commit(struct cxlssd_rig *r, uint64_t at, const void *buf, size_t bytes, bool wait);

/* A random one of these. */
void cxlssd_rig_step(struct cxlssd_rig *r, uint64_t *rng);

/*
 * Cut the power: keep the unfenced lines whose number in @lines has a bit in @keep, and random
 * unsynced sectors by @rng; NULL: all of them. Open the SSD again with @more, and compare: the
 * array takes over the contents.
 */
void cxlssd_rig_cut(struct cxlssd_rig *r, const uint64_t *lines, size_t n, uint64_t *rng,
		    const char *more);

/* Close and open it: all of it is there. */
void cxlssd_rig_restart(struct cxlssd_rig *r, const char *more);

#endif
