/* SPDX-License-Identifier: MIT */
/*
 * The near-data processor behind its front ends: clients with address spaces, kernels, launches,
 * and the units that run them on the host's threads. M2NDP sections III-C to III-J.
 *
 * Front ends (cells, ring, registers) watch a client's region and make calls of what they find.
 */
#ifndef ANNEX_EMU_NDP_ENGINE_H
#define ANNEX_EMU_NDP_ENGINE_H

#include <annex/m2wire.h>
#include <annex/ndp.h>
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
 * everything. Every call it has under way is answered before (-ENODEV).
 */
void ndp_client_close(struct ndp_client *c);

uint32_t ndp_client_asid(const struct ndp_client *c);

/*
 * ndp_client_map() - Its kernels see @host at @va, in whole pages. -EEXIST: something is there;
 * -EINVAL: not aligned, the scratchpad's addresses, or beyond 47 bits.
 * ndp_client_unmap() - and no more; when it returns, no unit touches that memory (-ENOENT: it was not
 * mapped like that).
 */
int ndp_client_map(struct ndp_client *c, uint64_t va, void *host, uint64_t bytes, unsigned int prot);
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

#endif
