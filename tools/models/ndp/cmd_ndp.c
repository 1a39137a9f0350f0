// SPDX-License-Identifier: GPL-2.0-or-later
#include <stddef.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"

static const struct cli_command commands[] = {
	{"run", ndp_run, "run a RISC-V program on the processor's harts"},
	{"time", ndp_time, "how long a kernel would take on M2NDP's device"},
	{"serve", ndp_serve, "be a near-data processor for other processes"},
	{"list", ndp_list, "show who uses one, and for what"},
	{NULL, NULL, NULL}};

int cmd_ndp(int argc, char **argv)
{
	return cli_dispatch(commands, "A near-data processor in software.", argc, argv);
}
