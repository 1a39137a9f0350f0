/* SPDX-License-Identifier: MIT */
/*
 * The cost of a fault on this machine, found by trying.
 */
#ifndef ANNEX_MIGRATE_PROBE_H
#define ANNEX_MIGRATE_PROBE_H

#include <stdint.h>
#include <annex/mem.h>

#define PROBES 32u

/* struct probes - Nanoseconds that faults, or reads, took. */
struct probes {
	uint64_t ns[PROBES];
	uint32_t n;
};

/*
 * annex_probe() - One fault's worth of a tensor of its own comes to the calling thread, as for a
 * fault. @tier: ANNEX_TIER_GPU: it is there, but not shown, and is touched, so that what it takes
 * is the handling alone. A tier below: it has left for that one, and what it takes is all that a
 * fault waits for beside its handling. It is asked for and not touched: what cannot be read then
 * harms nobody. A space whose memory is a GPU's has no faults. With PROBES of them, or when one
 * cannot be had, nothing happens.
 */
void annex_probe(struct annex_space *s, unsigned int tier, struct probes *p, uint32_t timeout_ms);

/* annex_probe_median() - Nanoseconds; whatever the machine does beside is part of it. 0: none. */
uint64_t annex_probe_median(const struct probes *p);

#endif
