/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces and plans that commands read.
 */
#ifndef TOOLS_TRACE_READ_H
#define TOOLS_TRACE_READ_H

#include <annex/plan.h>
#include <annex/trace.h>

/* trace_read() - annex_trace_read(), with the line set when it fails, also for a plan. */
int trace_read(const char *path, struct annex_trace **trace);

/* plan_read() - annex_plan_read(), with the line set when it fails. */
int plan_read(const char *path, struct annex_plan **plan);

#endif
