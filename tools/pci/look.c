// SPDX-License-Identifier: GPL-2.0-or-later
#include <argp.h>
#include <errno.h>
#include "../cli.h"
#include "../error.h"
#include "look.h"
#include "sysfs.h"

static const struct argp_option options[] = {
	{"root", 'r', "DIR", 0,
	 "Look at DIR/sys, DIR/proc and DIR/dev, copies of another machine's", 0},
	{0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct look *look = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &look->json;
		return 0;
	case 'r':
		if (!sysfs_is(arg, "sys"))
			return -err_set(-ENOENT, "--root %s: there is no folder sys in it", arg);
		look->root = arg;
		return 0;
	case ARGP_KEY_ARG:
		return -err_set(-EINVAL, "\"%s\" is one argument too many", arg);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int look_parse(const char *doc, int argc, char **argv, struct look *look)
{
	static const struct argp_child children[] = {{&cli_json_argp, 0, NULL, 0}, {0}};
	const struct argp argp = {options, parse, NULL, doc, children, NULL, NULL};

	*look = (struct look){.root = ""};
	return cli_parse(&argp, argc, argv, look);
}
