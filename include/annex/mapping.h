/* SPDX-License-Identifier: MIT */
/*
 * Mapped files that others can cut short. A touch behind the new end of a file, of poisoned memory,
 * or of a device that was removed, is a SIGBUS, which kills a program that has no handler.
 *
 * The library knows all ranges that are open (annex_hdm_open()). It installs no handler unasked:
 * annex_mapping_catch() does, and mappings are lost then, instead of the process.
 */
#ifndef ANNEX_MAPPING_H
#define ANNEX_MAPPING_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct annex_mapping;

/**
 * annex_mapping_catch() - Survive a SIGBUS in a mapping that is watched.
 *
 * From the page that was touched on, or that page alone if it is poisoned, the mapping is replaced
 * by zeroed memory of the process, and it is lost: annex_mapping_check() says so, and so do the
 * calls of the library that use it. Any other SIGBUS goes to the handler that was there before.
 * Threads that touch mappings must not block SIGBUS.
 *
 * Return: 0, also when it was called before; -errno of sigaction().
 */
int annex_mapping_catch(void);

/**
 * annex_mapping_watch() - Have a mapping watched until annex_mapping_end().
 * @name: of the file, for messages.
 * @fd: the file, open as long as the mapping is watched; -1: there is none to look at.
 * @addr: where it is mapped, in whole pages.
 * @bytes: length of the mapping.
 * @out: the mapping, to be given back with annex_mapping_end().
 *
 * Return: 0; -ENOMEM.
 */
int annex_mapping_watch(const char *name, int fd, const void *addr, size_t bytes,
			struct annex_mapping **out);

/**
 * annex_mapping_check() - Whether all that was mapped has been there so far.
 * @m: the mapping; may be NULL.
 *
 * Data that was read from a mapping is good only if this is called afterwards, and returns 0. A
 * file that was cut short and has grown again is told from its blocks, on tmpfs, ext4 and XFS, if
 * it had all of them when it was mapped.
 *
 * Return: 0; -EIO: it is lost, with a line.
 */
int annex_mapping_check(struct annex_mapping *m);

/**
 * annex_mapping_check_all() - annex_mapping_check() of all mappings that this process has had
 * watched so far.
 *
 * Return: as annex_mapping_check().
 */
int annex_mapping_check_all(void);

/**
 * annex_mapping_end() - Watch a mapping no more: before it is unmapped.
 * @m: the mapping; may be NULL.
 */
void annex_mapping_end(struct annex_mapping *m);

#ifdef __cplusplus
}
#endif
#endif
