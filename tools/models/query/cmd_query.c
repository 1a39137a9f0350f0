// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex query: TPC-H's and SSB's queries that filter, evaluated near the data.
 */
#include <stddef.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"

static const struct cli_command commands[] = {
	{"load", query_load, "read TPC-H tables from CSV files into a memory range"},
	{"run", query_ask, "answer a query, its filters evaluated by a near-data processor"},
	{NULL, NULL, NULL}};

int cmd_query(int argc, char **argv)
{
	return cli_dispatch(commands,
			    "Answer queries of TPC-H and the Star Schema Benchmark on columns in a "
			    "memory range.",
			    argc, argv);
}
