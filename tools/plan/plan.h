/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The subcommand of annex plan, as struct cli_command's run.
 */
#ifndef TOOLS_PLAN_PLAN_H
#define TOOLS_PLAN_PLAN_H

int plan_show(int argc, char **argv);

#endif
