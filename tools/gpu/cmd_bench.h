/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TOOLS_GPU_CMD_BENCH_H
#define TOOLS_GPU_CMD_BENCH_H

/* bench_cuda() - annex bench cuda, as struct cli_command's run. */
int bench_cuda(int argc, char **argv);

#endif
