/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long tensors rest between their uses, and how large those are that rest long (G10 section 3).
 */
#ifndef TOOLS_TRACE_SHOW_PERIODS_H
#define TOOLS_TRACE_SHOW_PERIODS_H

#include <annex/vitality.h>
#include "tools/common/out.h"

/* show_periods() - Report the inactive periods; 0, or -ENOMEM with the line set. */
int show_periods(struct out *o, const struct annex_vitality *v);

#endif
