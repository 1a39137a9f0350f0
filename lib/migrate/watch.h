/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_MIGRATE_WATCH_H
#define ANNEX_MIGRATE_WATCH_H

#include "space.h"

/* annex_watch_start() - Hear of touches of a space's memory from now on. 0 or a negative errno. */
int annex_watch_start(struct annex_space *s);

#endif
