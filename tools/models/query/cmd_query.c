// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex query: filter queries of TPC-H and SSB, evaluated near the data.
 */
#include <stddef.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"

static const struct cli_command commands[] = {
	{"load", query_load, "import TPC-H tables from CSV files into a memory range"},
	{"run", query_ask, "answer a query with filters in a near-data processor"},
	{NULL, NULL, NULL}};

int cmd_query(int argc, char **argv)
{
	return cli_dispatch(commands,
			    "Answer queries of TPC-H and the Star Schema Benchmark on columns in a "
			    "memory range.",
			    argc, argv);
}
