/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Devices that are bound to annex, asked beside their owner.
 */
#ifndef TOOLS_PCI_ASK_H
#define TOOLS_PCI_ASK_H

#include <uapi/annex.h>

/* ask_file() - A file of device @addr, by @flags of open(). Or a negative errno with the line. */
int ask_file(const char *addr, int flags);

/* ask_open() - A file of controller @addr for reading, which disturbs no owner. Or a negative errno
 * with the line set. */
int ask_open(const char *addr, struct annex_ioc_info *info);

#endif
