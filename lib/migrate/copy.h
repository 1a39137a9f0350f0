/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_MIGRATE_COPY_H
#define ANNEX_MIGRATE_COPY_H

#include "link.h"

/* A link between tiers that are both memory: its thread copies. @rate: each way; 0: no limit. */
int annex_copy_start(struct link *link, double rate);

#endif
