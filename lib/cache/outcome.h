/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_CACHE_OUTCOME_H
#define ANNEX_CACHE_OUTCOME_H

#include "xfer.h"

/**
 * annex_xfer_outcome() - By the reaper: carry the results of all commands to the lines, after
 * moving again, one by one, those lines that failed together; and to the flush that waits for them.
 */
void annex_xfer_outcome(struct annex_cache *c, struct annex_xfer *x);

#endif
