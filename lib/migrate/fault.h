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

#endif
