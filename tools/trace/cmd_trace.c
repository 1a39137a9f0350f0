// SPDX-License-Identifier: GPL-2.0-or-later
#include <stddef.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"

static const struct cli_command commands[] = {
	{"show", trace_show, "what an iteration does to memory: lifetimes, pressure, idle times"},
	{"gen", trace_gen, "make the trace of a model from the arithmetic of its layers"},
	{NULL, NULL, NULL}};

int cmd_trace(int argc, char **argv)
{
	return cli_dispatch(commands, "Traces of training iterations.", argc, argv);
}
