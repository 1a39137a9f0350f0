// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include "../error.h"
#include "root.h"
#include "sysfs.h"

static const struct argp_option options[] = {
	{"root", 'r', "DIR", 0,
	 "Look at DIR/sys, DIR/proc and DIR/dev, copies of another machine's", 0},
	{0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct root *r = state->input;

	if (key != 'r')
		return ARGP_ERR_UNKNOWN;
	if (!sysfs_is(arg, "sys"))
		return -err_set(-ENOENT, "--root %s: there is no folder sys in it", arg);
	r->dir = arg;
	return 0;
}

const struct argp root_argp = {options, parse, NULL, NULL, NULL, NULL, NULL};
