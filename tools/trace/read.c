// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "tools/common/error.h"
#include "tools/common/input.h"
#include "tools/common/progress.h"
#include "read.h"

/* Whether a file begins like a plan. */
static bool is_plan(const char *path)
{
	static const char name[] = "\"annex-plan/";
	struct stat st;
	char head[512];
	size_t n;
	FILE *f;

	/* A pipe cannot be read again. */
	if (stat(path, &st) || !S_ISREG(st.st_mode) || !(f = fopen(path, "re")))
		return false;
	n = fread(head, 1, sizeof(head), f);
	fclose(f);
	return memmem(head, n, name, sizeof(name) - 1);
}

int trace_read(const char *path, struct annex_trace **trace)
{
	int err;

	input_await(path);
	err = annex_trace_read(path, trace);
	progress_end();

	if (err == -EINVAL && is_plan(path))
		return err_set(err, "%s is a plan, not a trace", path);
	return err ? err_lib(err, "%s", path) : 0;
}

int plan_read(const char *path, struct annex_plan **plan)
{
	int err;

	input_await(path);
	err = annex_plan_read(path, plan);
	progress_end();
	return err ? err_lib(err, "%s", path) : 0;
}
