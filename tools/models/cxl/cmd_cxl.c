// SPDX-License-Identifier: GPL-2.0-or-later
#include <stddef.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"

static const struct cli_command commands[] = {
	{"simulate", cxl_simulate, "run programs on simulated CXL memory"}, {NULL, NULL, NULL}};

int cmd_cxl(int argc, char **argv)
{
	return cli_dispatch(commands, "CXL memory made of flash, and the hosts that use it.", argc,
			    argv);
}
