/* SPDX-License-Identifier: MIT */
/*
 * A speculative reader: it says which bytes an endpoint had better fetch when a load comes.
 */
#ifndef ANNEX_HDM_HOST_SPEC_H
#define ANNEX_HDM_HOST_SPEC_H

#include <annex/models/cxlport.h>

#define SPEC_UNIT 256u /* that MemSpecRd has offset and length in */
#define SPEC_MOST 4u   /* units of one */
#define SPEC_RING 32u  /* requests that are remembered */

/* struct spec_request - A load: where, when it was taken into the memory queue, when it left. */
struct spec_request {
	uint64_t at, taken, done;
};

/*
 * struct spec - @units: of a speculative read, 1 to SPEC_MOST. @halted: there are none.
 * @issued: units whose loads made the last ones (naive: lines), @n of them so far.
 * @requests: the last loads, twice as many as a queue has entries, @n_requests of them so far.
 */
struct spec {
	enum annex_cxlport_reads reads;
	uint32_t units;
	bool halted;
	uint64_t halts;
	uint64_t issued[SPEC_RING];
	uint64_t n;
	struct spec_request *requests;
	uint32_t room;
	uint64_t n_requests;
};

/* spec_init() - @queue: entries of each queue; false: out of memory. */
bool spec_init(struct spec *s, enum annex_cxlport_reads reads, uint32_t queue);
void spec_free(struct spec *s);

/* spec_plan() - Bytes [*@at, *@end) of @bytes to be fetched, as a load of a line comes at @now;
 * false: none. They count as issued. */
bool spec_plan(struct spec *s, uint64_t line, uint64_t bytes, uint64_t now, uint64_t *at,
	       uint64_t *end);

/* spec_note() - A load was taken into the memory queue. spec_hear() - A response says how busy the
 * endpoint is. */
void spec_note(struct spec *s, uint64_t at, uint64_t taken, uint64_t done);
void spec_hear(struct spec *s, enum annex_cxlssd_load load);

#endif
