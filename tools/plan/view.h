/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A plan with its trace: how fast it runs, its movements over time, and its biggest tensors.
 */
#ifndef TOOLS_PLAN_VIEW_H
#define TOOLS_PLAN_VIEW_H

#include "tools/common/out.h"
#include "machine.h"
#include "work.h"

/*
 * struct view - One iteration, simulated. A zeroed one is empty.
 * @outcome: of the simulation.
 * @samples: of each kernel.
 */
struct view {
	const struct annex_plan *plan;
	struct work work;
	struct outcome outcome;
	struct annex_sim_sample *samples;
};

/*
 * view_open() - Check that @plan, which is the file @name, is one for the trace of the file @trace,
 * and simulate it on a machine with the plan's memories, unless options name others. view_close() -
 * Free it.
 */
int view_open(struct view *v, const struct annex_plan *plan, const char *name, const char *trace,
	      struct machine *m);
void view_close(struct view *v);

/* view_report() - The report's part, with all of it as JSON. view_print() - The tables. */
void view_report(const struct view *v, struct out *out);
void view_print(const struct view *v);

#endif
