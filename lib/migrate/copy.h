/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_MIGRATE_COPY_H
#define ANNEX_MIGRATE_COPY_H

#include "link.h"

/* A link between tiers that are both memory: its thread copies. @rate: each way; 0: no limit. */
int annex_copy_start(struct link *link, double rate);

/*
 * Copy a job's pages between @p and the device tier's file, @in or out, which neither maps them nor
 * faults. Return: 0; a negative errno.
 */
int annex_copy_file(const struct job *job, void *p, bool in);

#endif
