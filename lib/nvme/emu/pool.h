/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_EMU_POOL_H
#define ANNEX_EMU_POOL_H

#include "engine.h"

/* annex_emu_pool_open() - Threads that do what an io_uring would, where the kernel refuses one, and
 * room for @entries that have not begun. -ENOMEM, -EAGAIN (no more threads), -EMFILE, each with a
 * line. */
int annex_emu_pool_open(unsigned int entries, struct emu_engine **out);

#endif
