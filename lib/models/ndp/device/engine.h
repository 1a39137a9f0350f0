/* SPDX-License-Identifier: MIT */
/*
 * The near-data processor behind its front ends: clients with address spaces, kernels, launches,
 * and the units that run them on the host's threads. M2NDP sections III-C to III-J.
 *
 * Front ends watch a client's region and make calls of the cells that they find.
 */
#ifndef ANNEX_NDP_DEVICE_ENGINE_H
#define ANNEX_NDP_DEVICE_ENGINE_H

#include <annex/m2wire.h>
#include <annex/models/ndp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct annex_ndp;
struct ndp_client;

/*
 * ndp_client_open() - A process that may call, with nothing mapped. -ENOSPC: too many.
 * @privileged: may shoot down translations of others.
 */
int ndp_client_open(struct annex_ndp *ndp, bool privileged, struct ndp_client **out);

/*
 * ndp_client_close() - End its instances, wait until no unit touches its memory, release
 * everything. Every call it has under way is answered before (-ENODEV). Not from within @done, nor
 * while another thread makes a call for it. annex_ndp_destroy() closes the remaining clients.
 */
void ndp_client_close(struct ndp_client *c);

uint32_t ndp_client_asid(const struct ndp_client *c);

/*
 * ndp_client_map() - Its kernels see @host at @va, in whole pages. -EEXIST: something is there;
 * -EINVAL: not aligned (@host: to 8), the scratchpad's addresses, or beyond 47 bits.
 * ndp_client_unmap() - and no more; when it returns, no unit touches that memory (-ENOENT: it was
 * not mapped like that).
 */
int ndp_client_map(struct ndp_client *c, uint64_t va, void *host, uint64_t bytes,
		   unsigned int prot);
int ndp_client_unmap(struct ndp_client *c, uint64_t va, uint64_t bytes);

/*
 * ndp_call() - One function of Table II. @payload has been copied out of the client's reach.
 *
 * @done is called exactly once with the answer: before the call returns, or later by a
 * unit's thread (a synchronous launch). It must not block, and may call ndp_call().
 */
typedef void ndp_done(void *ctx, const struct annex_m2_answer *answer);
void ndp_call(struct ndp_client *c, unsigned int function, const void *payload, size_t bytes,
	      ndp_done *done, void *ctx);

/* ndp_records() - The client's kernels, for its region: as many as ANNEX_M2_KERNELS. */
#define ANNEX_M2_KERNELS 64u
void ndp_records(struct ndp_client *c, struct annex_m2_record out[ANNEX_M2_KERNELS]);

/* ndp_options() - The options of the device, defaults filled in. */
const struct annex_ndp_opts *ndp_options(const struct annex_ndp *ndp);

/*
 * ndp_lend() - The calling thread, which polls for calls, calls ndp_assist() again and again from
 * now on, so no sleeping thread of the device needs to be woken for small kernels. ndp_unlend(): no
 * more.
 * ndp_assist() - Run a small part of the ready work. Return: whether there was any.
 *
 * A thread that polls must be able to answer, so a kernel that takes longer goes on elsewhere.
 */
void ndp_lend(struct annex_ndp *ndp);
void ndp_unlend(struct annex_ndp *ndp);
bool ndp_assist(struct annex_ndp *ndp);

/**
 * struct ndp_counters - Counters since the device was made.
 * @tlb_hits: hits of the DRAM-TLB, which units ask when a span is new to them.
 * @tlb_misses: its misses.
 */
struct ndp_counters {
	uint64_t tlb_hits;
	uint64_t tlb_misses;
	uint64_t launches;
	uint64_t instructions;
};
void ndp_count(struct annex_ndp *ndp, struct ndp_counters *out);

/**
 * struct ndp_watch - A user that must end before the device: annex_ndp_destroy() calls @gone for
 * each, in its own thread, before anything of the device ends, and forgets it.
 */
struct ndp_watch {
	void (*gone)(struct ndp_watch *w);
	struct ndp_watch *next;
};
void ndp_watch(struct annex_ndp *ndp, struct ndp_watch *w);
void ndp_unwatch(struct annex_ndp *ndp, struct ndp_watch *w);

#endif
