// SPDX-License-Identifier: GPL-2.0-or-later
#include <stddef.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"

static const struct cli_command commands[] = {
	{"run", ndp_run, "run a RISC-V program on the processor's harts"},
	{"time", ndp_time, "time a kernel on a model of M2NDP's device"},
	{"serve", ndp_serve, "serve other processes as a near-data processor"},
	{"list", ndp_list, "list the processes that a near-data processor serves"},
	{NULL, NULL, NULL}};

int cmd_ndp(int argc, char **argv)
{
	return cli_dispatch(commands, "A near-data processor in software.", argc, argv);
}
