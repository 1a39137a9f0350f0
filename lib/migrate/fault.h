/* SPDX-License-Identifier: MIT */
/*
 * Page faults: accesses of programs to pages that are not in the device tier.
 */
#ifndef ANNEX_MIGRATE_FAULT_H
#define ANNEX_MIGRATE_FAULT_H

#include "space.h"

/* Start and stop the threads that handle faults. */
int annex_fault_start(struct annex_space *s);
void annex_fault_stop(struct annex_space *s);

/* watch.c: register a space's memory for faults, and unregister it. 0 or a negative errno. */
int annex_watch_start(struct annex_space *s);
void annex_watch_stop(struct annex_space *s);

/* A userfaultfd with these features; its reports of accesses to a mapping of the space. A negative
 * errno. */
int annex_watch_open(struct annex_space *s, uint64_t features);
int annex_watch_range(const struct annex_space *s, int fd, const void *mapping, uint64_t mode);

/* probe.c: measurement of the cost of a page fault on this machine. */

#define PROBES 32u

/* struct probes - Times of @n faults, or reads, in nanoseconds. */
struct probes {
	uint64_t ns[PROBES];
	uint32_t n;
};

/*
 * annex_probe() - Measure one page fault, on a temporary tensor.
 * @tier: ANNEX_TIER_GPU: the pages are in the device tier but not mapped, and are accessed:
 *	measures the handling of the fault. A lower tier: the pages were evicted to it, and are
 *	prefetched: measures the transfer of a fault. A failed read then causes no SIGSEGV.
 *
 * Does nothing after PROBES measurements, on errors, or in a GPU's memory, which has no page
 * faults.
 */
void annex_probe(struct annex_space *s, unsigned int tier, struct probes *p, uint32_t timeout_ms);

/* annex_probe_median() - Median in nanoseconds, which includes other load; 0: no measurements. */
uint64_t annex_probe_median(const struct probes *p);

#endif
