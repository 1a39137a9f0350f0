/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernels that touch bytes which cannot be brought: with the policy uvm they fault on their own,
 * and the library answers a page that storage cannot give back with SIGSEGV.
 */
#ifndef TOOLS_TRAIN_LOST_H
#define TOOLS_TRAIN_LOST_H

#include "memory.h"

/*
 * lost_watch() - From now on such a touch of a tensor of @m ends the command with the line that
 * names the tensor. NULL: no longer.
 */
void lost_watch(const struct memory *m);

#endif
