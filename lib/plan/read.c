// SPDX-License-Identifier: MIT
/*
 * Files of plans.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/log.h"
#include "file.h"
#include "plan/trace/walk.h"

#define FILE_MAX (1ull << 30)

int annex_plan_parse(const void *data, size_t len, struct annex_plan **plan)
{
	struct annex_plan *p = annex_plan_new();
	int err;

	*plan = NULL;
	if (!p)
		return annex_fail(-ENOMEM, "no memory for a plan");
	err = annex_plan_parse_json(data, len, p);
	if (!err)
		err = annex_plan_sound(p);
	if (err) {
		annex_plan_free(p);
		return err;
	}
	*plan = p;
	return 0;
}

int annex_plan_read(const char *path, struct annex_plan **plan)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "re") : stdin;
	char *data = NULL;
	size_t len;
	int err;

	*plan = NULL;
	if (!f)
		return annex_fail(-errno, "%m");
	err = annex_walk_load(f, FILE_MAX, &data, &len);
	if (f != stdin)
		fclose(f);
	if (!err)
		err = annex_plan_parse(data, len, plan);
	free(data);
	return err;
}
