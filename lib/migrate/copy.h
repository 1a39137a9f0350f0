/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_MIGRATE_COPY_H
#define ANNEX_MIGRATE_COPY_H

#include "link.h"

/* A link between tiers that are both memory: its thread copies, @rate bytes a second each way at
 * most (0: no limit). */
int annex_copy_start(struct link *link, double rate);

/*
 * Copy a job's pages between @p and the device tier, @in or out: by its file, which neither maps
 * them nor faults, or by its GPU. Return: 0; a negative errno.
 */
int annex_copy_device(const struct job *job, void *p, bool in);

#endif
