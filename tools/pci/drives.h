/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The NVMe drives of a machine, as docs/drives.md lists them: without serial numbers and addresses.
 */
#ifndef TOOLS_PCI_DRIVES_H
#define TOOLS_PCI_DRIVES_H

#include "look.h"

/*
 * drives_report() - Print rows of that table, or JSON.
 * @selftest: file with the report of annex selftest --json, whose results are added; NULL: none.
 *
 * 0 or a negative errno with the line set.
 */
int drives_report(const struct look *look, const char *selftest);

#endif
