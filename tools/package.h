/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands and ranges of package annex-models, which may be missing: annex starts its programs, as
 * git starts git-NAME.
 */
#ifndef TOOLS_PACKAGE_H
#define TOOLS_PACKAGE_H

/*
 * package_range() - Become annex-models if a word of the command line is a range that only that
 * program has. Return: 0: none is; -errno, with the line.
 */
int package_range(char **argv);

#endif
