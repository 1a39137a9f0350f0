/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the commands that only look at a machine: --root and --json.
 */
#ifndef TOOLS_PCI_LOOK_H
#define TOOLS_PCI_LOOK_H

#include <stdbool.h>
#include "tools/common/cli.h"

/*
 * struct look - Options of the commands that look at a machine.
 * @root: the folder with copies of another machine's /sys, /proc and /dev; "" is this machine. As a
 *	root in sysfs.h.
 * @json: report as JSON.
 */
struct look {
	const char *root;
	bool json;
};

/* Its options. look_parse() - The command line of a command without others. As cli_parse(). */
extern const struct cli_option look_options[];
int look_parse(const char *doc, int argc, char **argv, struct look *look);

#endif
