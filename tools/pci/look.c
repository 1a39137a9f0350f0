// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include "tools/common/error.h"
#include "look.h"
#include "tools/common/sysfs.h"

static int set_root(void *look, const char *opt, char *arg)
{
	if (!sysfs_is(arg, "sys"))
		return err_set(-ENOENT, "%s %s: there is no folder sys in it", opt, arg);
	((struct look *)look)->root = arg;
	return 0;
}

const struct cli_option look_options[] = {
	{"root", 'r', "DIR", 0, OPT_CALL(set_root),
	 "Look at DIR/sys, DIR/proc and DIR/dev, copies of another machine's"},
	CLI_JSON(struct look, json),
	{0}};

int look_parse(const char *doc, int argc, char **argv, struct look *look)
{
	const struct cli_line line = {look_options, NULL, doc,
				      .many = "\"%s\" is one argument too many"};

	*look = (struct look){.root = ""};
	return cli_parse(&line, argc, argv, look);
}
