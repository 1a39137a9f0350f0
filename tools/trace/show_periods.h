/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long tensors rest between their uses, and how large those are that rest long (G10 section 3).
 */
#ifndef TOOLS_TRACE_SHOW_PERIODS_H
#define TOOLS_TRACE_SHOW_PERIODS_H

#include <annex/vitality.h>
#include "../out.h"

/* Room for show_size(). */
#define SHOW_SIZE 24

/* show_periods() - Report the inactive periods; 0, or -ENOMEM with the line set. */
int show_periods(struct out *o, const struct annex_vitality *v);

/* show_size() - "47.8 GiB", in @buf. */
const char *show_size(double bytes, char buf[SHOW_SIZE]);

#endif
