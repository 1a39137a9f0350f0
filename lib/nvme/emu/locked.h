/* SPDX-License-Identifier: MIT */
/*
 * Memory that the kernel locks for this process: rings and registered buffers of io_uring. The
 * limit (RLIMIT_MEMLOCK) is of all of a user's processes together, and only the kernel knows what
 * the others have.
 */
#ifndef ANNEX_EMU_LOCKED_H
#define ANNEX_EMU_LOCKED_H

#include <stdbool.h>
#include <stdint.h>

/* In bytes; UINT64_MAX: there is none for this process. */
uint64_t annex_locked_limit(void);

/*
 * Memory that does without being locked gets a part of the limit, so that the rings of further
 * devices and other processes find room. Return: whether @bytes are in that part, from which
 * annex_locked_give() takes them again. Any thread.
 */
bool annex_locked_take(uint64_t bytes);
void annex_locked_give(uint64_t bytes);

#endif
