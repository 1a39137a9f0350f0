/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The subcommands that make tables; each as struct cli_command's run.
 */
#ifndef TOOLS_SCAN_SCAN_H
#define TOOLS_SCAN_SCAN_H

int scan_import(int argc, char **argv);
int scan_gen(int argc, char **argv);

#endif
