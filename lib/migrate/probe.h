/* SPDX-License-Identifier: MIT */
/*
 * The cost of a fault on this machine, and the time of a read for one, found by trying.
 */
#ifndef ANNEX_MIGRATE_PROBE_H
#define ANNEX_MIGRATE_PROBE_H

#include <stdint.h>
#include <annex/mem.h>
#include "store.h"

#define PROBES 16u

/* struct probes - Nanoseconds that faults, or reads, took. */
struct probes {
	uint64_t ns[PROBES];
	uint32_t n;
};

/*
 * annex_probe_fault() - One fault of the calling thread, on a tensor of its own whose pages are in
 * the device tier but not shown: so nothing is read that may fail, and what it takes is the
 * handling alone. A space whose memory is a GPU's has no faults. With PROBES of them, or when one
 * cannot be had, nothing happens.
 */
void annex_probe_fault(struct annex_space *s, struct probes *p, uint32_t timeout_ms);

/* annex_probe_read() - Likewise one read of @bytes, from the beginning of a store, for nobody. */
void annex_probe_read(const struct annex_store *store, uint32_t bytes, struct probes *p);

/*
 * annex_probe_median() - Of faults: what else the processors do is part of it. annex_probe_least()
 * - Of reads: others only add to a latency. 0: there was none.
 */
uint64_t annex_probe_median(const struct probes *p);
uint64_t annex_probe_least(const struct probes *p);

#endif
