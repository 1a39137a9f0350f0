/* SPDX-License-Identifier: MIT */
/*
 * Speculative reads: which bytes an endpoint should prefetch on a load.
 */
#ifndef ANNEX_HDM_HOST_SPEC_H
#define ANNEX_HDM_HOST_SPEC_H

#include <annex/models/cxlport.h>

#define SPEC_UNIT 256u /* unit of offsets and lengths of MemSpecRd */
#define SPEC_MOST 4u   /* units of a speculative read at most */
#define SPEC_RING 32u  /* remembered reads */

/*
 * struct spec_request - A load.
 * @at: its address.
 * @taken: time at which it entered the memory queue.
 * @done: time at which it left.
 */
struct spec_request {
	uint64_t at, taken, done;
};

/*
 * struct spec - A speculative reader.
 * @reads: its policy.
 * @units: units of a speculative read, 1 to SPEC_MOST.
 * @halted: it issues no reads.
 * @halts: number of halts.
 * @issued: units (naive: lines) whose loads caused the last reads.
 * @n: number of reads so far.
 * @requests: the last loads, twice as many as a queue has entries.
 * @room: size of @requests.
 * @n_requests: number of loads so far.
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

/* spec_init() - @queue: entries of each queue. Return: false: out of memory. */
bool spec_init(struct spec *s, enum annex_cxlport_reads reads, uint32_t queue);
void spec_free(struct spec *s);

/* spec_plan() - On a load of a line at @now, choose bytes [*@at, *@end) of @bytes to prefetch, and
 * count them as issued. Return: false: none. */
bool spec_plan(struct spec *s, uint64_t line, uint64_t bytes, uint64_t now, uint64_t *at,
	       uint64_t *end);

/* spec_note() - Note a load that entered the memory queue. spec_note_load() - Note the load of the
 * endpoint in a response. */
void spec_note(struct spec *s, uint64_t at, uint64_t taken, uint64_t done);
void spec_note_load(struct spec *s, enum annex_cxlssd_load load);

#endif
