/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes of a mount, by kind and interface.
 */
#ifndef TOOLS_FS_TRAFFIC_H
#define TOOLS_FS_TRAFFIC_H

#include "image.h"

/* struct traffic - @fs: while it is mounted; @pages: of flash, programmed before it was. */
struct traffic {
	struct annex_fs_stats fs;
	uint64_t pages;
};

/* traffic_begin() - A file system has been mounted. traffic_end() - It is going to be unmounted. */
void traffic_begin(struct traffic *t, const struct image *i);
void traffic_end(struct traffic *t, const struct image *i);

/* traffic_report() - It has been: have flash hold all, and print. */
int traffic_report(const struct traffic *t, const struct image *i, bool json);

#endif
