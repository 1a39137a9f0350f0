/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much of the processors this process takes.
 */
#ifndef TOOLS_TRAIN_USAGE_H
#define TOOLS_TRAIN_USAGE_H

#include <stdint.h>

/* usage_busy() - Nanoseconds that all its threads have computed, and in the kernel. */
void usage_busy(uint64_t *user, uint64_t *kernel);

#endif
