/* SPDX-License-Identifier: MIT */
/*
 * A space of unified memory whose tiers are a device budget, CXL memory and an NVMe controller, for
 * tests in guests; an error ends the program.
 */
#ifndef QEMU_GUEST_HDMSPACE_H
#define QEMU_GUEST_HDMSPACE_H

#include <stdlib.h>
#include <annex/log.h>
#include <annex/mem.h>
#include "die.h"

#define MIB (1ull << 20)

static struct annex_hdm *range;
static struct annex_store *store;

static void *alloc(struct annex_space *s, uint64_t bytes)
{
	void *p;

	if (!s)
		return calloc(1, bytes);
	if (annex_alloc(s, "tensor", bytes, &p))
		die("%s", annex_last_error());
	return p;
}

static struct annex_space *open_space(const char *cxl, const char *nvme, uint64_t device,
				      uint64_t cxl_bytes)
{
	struct annex_space_opts opts = {
		.device = device, .cxl_bytes = cxl_bytes, .n_stores = 1, .checksum = true};
	struct annex_space *s;

	if (annex_hdm_open(cxl, NULL, &range) || annex_store_open(nvme, NULL, &store))
		die("%s", annex_last_error());
	opts.cxl = range;
	opts.stores = &store;
	if (annex_space_create(&opts, &s))
		die("%s", annex_last_error());
	return s;
}

static void close_space(struct annex_space *s)
{
	annex_space_destroy(s);
	if (annex_store_close(store))
		die("%s", annex_last_error());
	annex_hdm_close(range);
}

static struct annex_space_stats stats_of(struct annex_space *s)
{
	struct annex_space_stats st;

	annex_space_get_stats(s, &st);
	return st;
}

#endif
