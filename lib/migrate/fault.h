/* SPDX-License-Identifier: MIT */
/*
 * Touches of what is not there.
 */
#ifndef ANNEX_MIGRATE_FAULT_H
#define ANNEX_MIGRATE_FAULT_H

#include "space.h"

/* The threads that hear of them. */
int annex_fault_start(struct annex_space *s);
void annex_fault_stop(struct annex_space *s);

#endif
