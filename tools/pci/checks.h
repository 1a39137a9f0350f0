/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts that a machine has and lacks for each kind of device.
 */
#ifndef TOOLS_PCI_CHECKS_H
#define TOOLS_PCI_CHECKS_H

#include <stdbool.h>

/* CHECK_LIMITED: it is there, and a limit of this user's makes it less. */
enum check_state { CHECK_OK, CHECK_LIMITED, CHECK_MISSING, CHECK_UNKNOWN };

#define CHECK_TEXT 400

struct check {
	const char *device; /* "file:" */
	const char *name;
	enum check_state state;
	char means[CHECK_TEXT];
	char mend[CHECK_TEXT]; /* a command; "" if none would */
};

#define CHECKS 32

/* struct checks - @root as in sysfs.h. */
struct checks {
	const char *root;
	unsigned int n;
	struct check check[CHECKS];
};

/* checks_add() - A finding, its meaning as a format. checks_mend() - How to mend the last one. */
void checks_add(struct checks *c, const char *device, const char *name, enum check_state state,
		const char *fmt, ...) __attribute__((format(printf, 5, 6)));
void checks_mend(struct checks *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Everything but pci: and CXL; then these two. 0 or a negative errno with the line set. */
void checks_host(struct checks *c);
int checks_pci(struct checks *c);
int checks_cxl(struct checks *c);

#endif
