/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gnuplot as a child process that turns a script into an SVG file.
 */
#ifndef TOOLS_PLAN_GNUPLOT_H
#define TOOLS_PLAN_GNUPLOT_H

#include <stdbool.h>
#include <stdio.h>
#include "tools/common/newfile.h"

/* gnuplot_check() - Before the work: whether there is a gnuplot, and @path may be made. */
int gnuplot_check(const char *path, bool overwrite);

/*
 * gnuplot_begin() - A file for the script, with the settings of all plots; NULL with the line set.
 * gnuplot_end() - Run it, and write its output to @svg. Closes @script.
 */
FILE *gnuplot_begin(unsigned int width, unsigned int height);
int gnuplot_end(FILE *script, struct newfile *svg);

#endif
