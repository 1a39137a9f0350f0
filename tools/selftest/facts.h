/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Facts of this machine that a failure may depend on.
 */
#ifndef TOOLS_SELFTEST_FACTS_H
#define TOOLS_SELFTEST_FACTS_H

#include "../out.h"

/* facts_report() - Write members of the JSON object; the file system is that of @dir. */
void facts_report(struct out *o, const char *dir);

#endif
