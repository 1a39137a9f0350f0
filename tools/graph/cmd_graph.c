// SPDX-License-Identifier: GPL-2.0-or-later
#include <stddef.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"

static const struct cli_command commands[] = {
	{"import", graph_import, "read a graph from an edge list"},
	{"gen", graph_gen, "make a Kronecker or uniform random graph"},
	{"info", graph_info, "tell what a graph file holds"},
	{"bfs", graph_bfs, "breadth-first search from a vertex"},
	{"cc", graph_cc, "connected components"},
	{"pagerank", graph_pagerank, "rank vertices by the links to them"},
	{"sssp", graph_sssp, "shortest paths from a vertex"},
	{NULL, NULL, NULL}};

int cmd_graph(int argc, char **argv)
{
	return cli_dispatch(commands, "Graphs whose edges stay on storage.", argc, argv);
}
