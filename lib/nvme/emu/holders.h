/* SPDX-License-Identifier: MIT */
/*
 * Users that the kernel has for a disk: file systems, swap, and devices on top of it.
 */
#ifndef ANNEX_EMU_HOLDERS_H
#define ANNEX_EMU_HOLDERS_H

#include <stdbool.h>

#define EMU_HOLDER_WHY 352

/*
 * annex_emu_held() - Whether the disk @disk (as in /sys/class/block), or a partition of it, is
 * mounted, swap, or held by another device; @why is then a clause that says by what. @root is the
 * folder that has /proc, /sys and /dev: "" is this machine's. A /proc that cannot be read counts as
 * a holder, since nothing is known then.
 */
bool annex_emu_held(const char *root, const char *disk, char why[EMU_HOLDER_WHY]);

#endif
