/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How fast pieces are taken and given back.
 */
#ifndef TOOLS_HDM_PAIRS_H
#define TOOLS_HDM_PAIRS_H

#include <annex/hdm.h>
#include "tools/common/pool.h"

/*
 * pairs_run() - Pieces of 64 to 1087 bytes, some of which each thread holds, taken from @h, or by
 * malloc() if it is NULL, and given back: *@rate pairs a second of all threads. -EBADMSG, with the
 * line, when two threads have the same piece.
 */
int pairs_run(struct annex_hdm *h, struct pool *pool, double seconds, double *rate);

#endif
