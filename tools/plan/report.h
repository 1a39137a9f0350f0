/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Outcomes as rows and as JSON.
 */
#ifndef TOOLS_PLAN_REPORT_H
#define TOOLS_PLAN_REPORT_H

#include "tools/common/out.h"
#include "work.h"
#include "tools/common/newfile.h"

/* 30 drive writes a day for five years, of the 3.2 TB of G10's SSD (section 7.7). */
#define REPORT_ENDURANCE (30.0 * 5 * 365 * 3.2e12)

/* report_outcome() - All of one outcome; @endurance: bytes that can be written to an SSD. */
void report_outcome(struct out *out, const struct outcome *o, const struct work *w,
		    const struct annex_system *sys, double endurance);

/* report_bound() - A bound: infinite where no plan can run, NAN where there is none. */
void report_bound(struct out *out, double bound);

/* report_json() - The same as an object by itself, for lists. */
json_t *report_json(const struct outcome *o, const struct work *w, const struct annex_system *sys,
		    double endurance);

/* report_heads() - Print the heads of a table of outcomes, at the end of the present line.
 * report_line() - One line of it. */
void report_heads(void);
void report_line(const struct outcome *o);

/* report_printed() - 0, or the errno of printing. */
int report_printed(void);

/*
 * timeline_plot() - Plot one iteration of the first trace into @svg: memory before and after
 * planning, and the use of the link, from @samples.
 */
int timeline_plot(struct newfile *svg, const struct work *w, const struct annex_system *sys,
		  const struct outcome *o, const struct annex_sim_sample *samples);

#endif
