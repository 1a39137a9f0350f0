/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Figures of a file system: its sizes, and its traffic by kind and interface.
 */
#ifndef TOOLS_FS_TOTALS_H
#define TOOLS_FS_TOTALS_H

#include "tools/common/out.h"
#include "image.h"

/* totals_design() - The name of a design. */
const char *totals_design(enum annex_fs_design design);

/* totals_report() - The sizes of a mounted file system, and its free space. */
void totals_report(struct out *out, struct image *i);

/*
 * struct traffic - Traffic of a mount.
 * @fs: counters of the file system when it was unmounted.
 * @pages: pages of flash programmed before it was mounted.
 */
struct traffic {
	struct annex_fs_stats fs;
	uint64_t pages;
};

/* traffic_begin() - Call it after the mount. traffic_end() - Call it before the unmount. */
void traffic_begin(struct traffic *t, const struct image *i);
void traffic_end(struct traffic *t, const struct image *i);

/* traffic_report() - After the unmount: flush the device and print. */
int traffic_report(const struct traffic *t, const struct image *i, bool json);

#endif
