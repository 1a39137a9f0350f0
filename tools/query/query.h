/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The subcommands of annex query; each as struct cli_command's run.
 */
#ifndef TOOLS_QUERY_QUERY_H
#define TOOLS_QUERY_QUERY_H

int query_load(int argc, char **argv);
int query_ask(int argc, char **argv);

#endif
