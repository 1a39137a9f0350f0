/* SPDX-License-Identifier: MIT */
/*
 * The machine as an executor has measured it, for its plans: rates of links, times of faults and
 * pages.
 */
#ifndef ANNEX_MIGRATE_MACHINE_H
#define ANNEX_MIGRATE_MACHINE_H

#include "uses.h"

/* annex_machine() - The system that plans are made for, with the counts and capacities of the
 * space, also if the options have a system. annex_machine_room() - Bytes of the device tier that a
 * plan may fill. */
struct annex_system annex_machine(const struct annex_exec *e);
uint64_t annex_machine_room(const struct annex_exec *e);

/* Begin an iteration; end it, and take the time of its pages. */
void annex_machine_begin(struct annex_exec *e);
void annex_machine_end(struct annex_exec *e);

#endif
