/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_CORE_HOLDER_H
#define ANNEX_CORE_HOLDER_H

#include <stdint.h>
#include <sys/types.h>

#define HOLDER_NAME 32

/*
 * annex_holder_name() - The holder of a lock of an open file description on byte @at of @fd's file:
 * "process 1234", or "another process" where this user cannot see the descriptors of that one. The
 * kernel tells no number with such a lock: it is looked for in /proc, which takes milliseconds.
 */
void annex_holder_name(int fd, uint64_t at, char name[HOLDER_NAME]);

#endif
