/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The subcommands; each as struct cli_command's run.
 */
#ifndef TOOLS_COMMANDS_H
#define TOOLS_COMMANDS_H

int cmd_graph(int argc, char **argv);
int cmd_scan(int argc, char **argv);
int cmd_query(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_simulate(int argc, char **argv);
int cmd_train(int argc, char **argv);
int cmd_vadd(int argc, char **argv);
int cmd_copy(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_ndp(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_bind(int argc, char **argv);
int cmd_unbind(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_selftest(int argc, char **argv);

#endif
