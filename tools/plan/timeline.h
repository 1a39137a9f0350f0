/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plot of one iteration: memory before and after planning, and the use of the link.
 */
#ifndef TOOLS_PLAN_TIMELINE_H
#define TOOLS_PLAN_TIMELINE_H

#include "../newfile.h"
#include "work.h"

/* timeline_plot() - Plot @samples of the first trace into @svg. */
int timeline_plot(struct newfile *svg, const struct work *w, const struct annex_system *sys,
		  const struct outcome *o, const struct annex_sim_sample *samples);

#endif
