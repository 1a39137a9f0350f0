// SPDX-License-Identifier: MIT
/*
 * For annex.offload on a machine without libnuma and jansson: calls that the package looks for, and
 * makes for CXL memory and for files of plans and traces only.
 */
#include <errno.h>
#include <annex/hdm.h>
#include <annex/plan.h>
#include <annex/trace.h>
#include "core/log.h"

static int without(void)
{
	return annex_fail(-EOPNOTSUPP, "this library was built without CXL memory, and files");
}

int annex_hdm_open(const char *uri, const struct annex_hdm_opts *opts, struct annex_hdm **out)
{
	(void)uri;
	(void)opts;
	(void)out;
	return without();
}

void annex_hdm_close(struct annex_hdm *h)
{
	(void)h;
}

int annex_hdm_get_usage(struct annex_hdm *h, struct annex_hdm_usage *out)
{
	(void)h;
	(void)out;
	return without();
}

int annex_plan_write(const struct annex_plan *plan, FILE *f)
{
	(void)plan;
	(void)f;
	return without();
}

int annex_trace_write(const struct annex_trace *trace, FILE *f)
{
	(void)trace;
	(void)f;
	return without();
}
