/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of the options of boards, as a user writes them.
 */
#ifndef TOOLS_CXL_OPTION_H
#define TOOLS_CXL_OPTION_H

#include "board.h"

/*
 * option_check() - Whether a board can have this value: before any run. @front: comes before the
 * option's name in the line, "--" or "--sweep ". Return: 0; -ENOENT (no such option, no line set);
 * another negative errno with the line set.
 */
int option_check(const char *front, const char *name, const char *value);

/* option_board() - The same for a whole board, whose values may exclude each other. @config: a
 * configuration's name, for the line. */
int option_board(const char *config, const struct board *m);

#endif
