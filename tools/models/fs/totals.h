/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TOOLS_FS_TOTALS_H
#define TOOLS_FS_TOTALS_H

#include "tools/common/out.h"
#include "image.h"

/* totals_design() - The name of a design. */
const char *totals_design(enum annex_fs_design design);

/* totals_report() - Sizes of a file system that is mounted, and how much of it is free. */
void totals_report(struct out *out, struct image *i);

#endif
