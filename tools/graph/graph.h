/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The subcommands of annex graph; each as struct cli_command's run.
 */
#ifndef TOOLS_GRAPH_GRAPH_H
#define TOOLS_GRAPH_GRAPH_H

int graph_import(int argc, char **argv);
int graph_gen(int argc, char **argv);
int graph_info(int argc, char **argv);
int graph_bfs(int argc, char **argv);
int graph_cc(int argc, char **argv);
int graph_pagerank(int argc, char **argv);
int graph_sssp(int argc, char **argv);

#endif
