/* SPDX-License-Identifier: MIT */
/*
 * Locks on bytes of a file, far behind its end: one for the table, and one for each owner. They
 * belong to an open file description, and the kernel drops them with it: a process that dies leaves
 * none behind.
 */
#ifndef ANNEX_HDM_LOCK_H
#define ANNEX_HDM_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#define LOCK_TABLE 0u
#define LOCK_OWNER(n) (1u + (n))

/* lock_take() - Wait for a lock until @deadline: -ETIMEDOUT, without a line.
 * lock_try() - Take it at once or not at all: -EAGAIN. */
int lock_take(int fd, uint32_t byte, uint64_t deadline);
int lock_try(int fd, uint32_t byte);
void lock_drop(int fd, uint32_t byte);

/* lock_late() - Tell which process has had the table's lock for @ms. Return: -ETIMEDOUT. */
int lock_late(int fd, const char *uri, uint32_t ms);

/* lock_taken() - Whether another file description has one of @n from @byte on; true for bytes
 * that cannot be asked for. */
bool lock_taken(int fd, uint32_t byte, uint32_t n);

#endif
