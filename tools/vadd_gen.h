/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TOOLS_VADD_GEN_H
#define TOOLS_VADD_GEN_H

/* vadd_gen() - annex vadd gen, as struct cli_command's run. */
int vadd_gen(int argc, char **argv);

#endif
