/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * annex bench hdm: a memory range against ordinary memory.
 */
#ifndef TOOLS_HDM_BENCH_H
#define TOOLS_HDM_BENCH_H

/* bench_hdm() - As struct cli_command's run. */
int bench_hdm(int argc, char **argv);

#endif
