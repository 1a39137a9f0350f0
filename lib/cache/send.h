/* SPDX-License-Identifier: MIT */
/*
 * From transfers to commands on the devices' queues.
 */
#ifndef ANNEX_CACHE_SEND_H
#define ANNEX_CACHE_SEND_H

#include "xfer.h"

/**
 * annex_send() - Submit the commands of held transfers, each device's as one batch, and let the
 * transfers fly. Transfers of at most ANNEX_GROUP lines together.
 * @wait: wait for room in the queues; otherwise what finds none is left unsent.
 *
 * Whatever happens, every transfer ends: a failure to submit becomes its outcome.
 */
void annex_send(struct annex_cache *c, struct annex_xfer **xfers, unsigned int n, bool wait);

/**
 * annex_send_line() - Move one line of a transfer again, by itself, and wait for it.
 * @i: which line of the transfer.
 * @leaf: through which device.
 *
 * Return: 0 or a negative errno.
 */
int annex_send_line(struct annex_cache *c, struct annex_xfer *x, uint32_t i, uint32_t leaf);

#endif
