/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The commands and their subcommands.
 */
#ifndef TOOLS_COMMANDS_H
#define TOOLS_COMMANDS_H

#include "cli.h"

/* The commands of the program, for main(); ends with an empty entry. */
extern const struct cli_command tool_commands[];

cli_run cmd_graph, cmd_scan, cmd_query, cmd_trace, cmd_plan, cmd_simulate, cmd_vadd;
cli_run cmd_copy, cmd_verify, cmd_ndp, cmd_bench, cmd_list, cmd_bind, cmd_unbind;
cli_run cmd_doctor, cmd_health, cmd_poison;
cli_run cmd_selftest, cmd_cxl, cmd_fs, cmd_serve, cmd_part;

cli_run graph_import, graph_gen, graph_info, graph_bfs, graph_cc, graph_pagerank, graph_sssp;
cli_run scan_import, scan_gen;
cli_run query_load, query_ask;
cli_run trace_show, trace_gen;
cli_run plan_show;
cli_run vadd_gen;
cli_run ndp_run, ndp_time, ndp_serve, ndp_list;
cli_run bench_cuda, bench_hdm;
cli_run part_add, part_set, part_remove;
cli_run fs_mkfs, fs_mount, fs_fsck, fs_stat;

/*
 * package_range() - Become annex-models if a word of the command line is a range that only that
 * program has. Return: 0: none is; -errno, with the line.
 */
int package_range(char **argv);

#endif
