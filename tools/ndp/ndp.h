/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The subcommands of annex ndp; each as struct cli_command's run.
 */
#ifndef TOOLS_NDP_NDP_H
#define TOOLS_NDP_NDP_H

int ndp_run(int argc, char **argv);
int ndp_time(int argc, char **argv);
int ndp_serve(int argc, char **argv);
int ndp_list(int argc, char **argv);

#endif
