/* SPDX-License-Identifier: MIT */
/*
 * Touches of what is not there.
 */
#ifndef ANNEX_MIGRATE_FAULT_H
#define ANNEX_MIGRATE_FAULT_H

#include "space.h"

/* A program waits for a page that is not in the device tier, and not busy. Lock held. */
void annex_fault_absent(struct annex_space *s, uint32_t page);

/* The threads that hear of them. */
int annex_fault_start(struct annex_space *s);
void annex_fault_stop(struct annex_space *s);

#endif
