/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The subcommands of annex trace; each as struct cli_command's run.
 */
#ifndef TOOLS_TRACE_TRACE_H
#define TOOLS_TRACE_TRACE_H

int trace_show(int argc, char **argv);
int trace_gen(int argc, char **argv);

#endif
