/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TOOLS_SELFTEST_PLACE_H
#define TOOLS_SELFTEST_PLACE_H

#include "selftest.h"

/*
 * place_open() - Make the folder in @dir, if there is room for the files, and say whether files can
 * be used. place_close() - Remove it; in any case. Both return 0, or -errno with the line set.
 */
int place_open(struct selftest *s, const char *dir);
int place_close(struct selftest *s);

#endif
