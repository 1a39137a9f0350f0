/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which driver has a device: the changes, each of which ends, and is taken back if one of them
 * fails.
 */
#ifndef TOOLS_PCI_BINDING_H
#define TOOLS_PCI_BINDING_H

#include "tools/common/pcidev.h"
#include "users.h"

/*
 * binding_take() - Give @d to annex.ko: off its driver, and bound. No other program can begin
 * to use its namespaces meanwhile. On success @d says how it is now; on failure the device is where
 * it was, or the line names the setting that was not restored.
 */
int binding_take(struct pcidev *d, const struct users *users);

/* binding_return() - The way back: to the kernel's own driver. */
int binding_return(struct pcidev *d);

#endif
