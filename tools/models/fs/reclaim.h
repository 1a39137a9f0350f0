/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that the kernel reclaims for the process of a mount.
 *
 * A program that writes through a shared mapping has dirty pages of the mount, and the process of
 * the mount is to write them back. In a control group of version 1 that is short of memory, an
 * allocation of any process of the group may wait until such a page has been written back: the
 * process of the mount would wait for itself, for ever.
 */
#ifndef TOOLS_FS_RECLAIM_H
#define TOOLS_FS_RECLAIM_H

/* reclaim_arrange() - Have no allocation of this process, and of its children, wait for such pages.
 * Return: 0; -EPERM, with a line: it may not ask for that, and is where that is needed. */
int reclaim_arrange(void);

#endif
