/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --root: look at a copy of another machine's /sys, /proc and /dev.
 */
#ifndef TOOLS_PCI_ROOT_H
#define TOOLS_PCI_ROOT_H

#include <argp.h>

/* struct root - @dir is "" for this machine; what sysfs.h calls a root. */
struct root {
	const char *dir;
};

/* A child parser; its input is a struct root. */
extern const struct argp root_argp;

#endif
