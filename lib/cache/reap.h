/* SPDX-License-Identifier: MIT */
/*
 * Ending transfers: by a thread that waits for one, or happens to look. Calls go one way: xfer.c
 * (pool, commands that have ended) < send.c < outcome.c < here.
 */
#ifndef ANNEX_CACHE_REAP_H
#define ANNEX_CACHE_REAP_H

#include "xfer.h"

/**
 * annex_xfer_get() - Take a free transfer (held), ending one that has completed if need be.
 *
 * Return: NULL when all are under way.
 */
struct annex_xfer *annex_xfer_get(struct annex_cache *c);

/**
 * annex_xfer_wait() - Wait, joined, until the transfer is done. Bounded by the device's timeout
 * and its recovery.
 *
 * Return: 0, its error, XFER_UNSENT, or -ETIMEDOUT when even its reaper did not come back.
 */
int annex_xfer_wait(struct annex_cache *c, struct annex_xfer *x);

/**
 * annex_xfer_reap() - End transfers that have completed, the oldest first.
 * @polls: stop when so many had not.
 *
 * Return: how many were ended.
 */
unsigned int annex_xfer_reap(struct annex_cache *c, unsigned int polls);

/**
 * annex_xfer_wait_any() - Wait for some transfer. Return: false when none is under way.
 */
bool annex_xfer_wait_any(struct annex_cache *c);

#endif
