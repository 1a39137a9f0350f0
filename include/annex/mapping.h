/* SPDX-License-Identifier: MIT */
/*
 * Mapped files that other processes can truncate. An access behind the new end of such a file, to
 * poisoned memory, or to a removed device raises SIGBUS, which kills a program without a handler.
 *
 * After annex_mapping_catch() such an access costs the mapping and not the process. The library
 * watches all open ranges (annex_hdm_open()) by itself, but installs no handler without this call.
 */
#ifndef ANNEX_MAPPING_H
#define ANNEX_MAPPING_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct annex_mapping;

/**
 * annex_mapping_catch() - Install a SIGBUS handler for watched mappings.
 *
 * The handler replaces the mapping by zeroed memory of the process, from the accessed page on, or
 * only that page if it is poisoned. The mapping is then lost: annex_mapping_check() and calls of
 * the library that use it fail. Any other SIGBUS goes to the previous handler. Threads that access
 * mappings must not block SIGBUS.
 *
 * Return: 0, also if it was called before; the negative errno of sigaction().
 */
int annex_mapping_catch(void);

/**
 * annex_mapping_watch() - Watch a mapping until annex_mapping_end().
 * @name: name of the file, for messages.
 * @fd: the file, which must stay open meanwhile; -1: none.
 * @addr: address of the mapping, page aligned.
 * @bytes: length of the mapping.
 * @out: the mapping; release it with annex_mapping_end().
 *
 * Return: 0; -ENOMEM.
 */
int annex_mapping_watch(const char *name, int fd, const void *addr, size_t bytes,
			struct annex_mapping **out);

/**
 * annex_mapping_check() - Check that a mapping has been intact so far.
 * @m: the mapping; may be NULL.
 *
 * Data that was read from a mapping is valid only if this returns 0 afterwards. A file that was
 * truncated and has grown again is detected by its blocks, on tmpfs, ext4 and XFS, if all of them
 * were allocated when it was mapped.
 *
 * Return: 0; -EIO: the mapping is lost; annex_last_error() says why.
 */
int annex_mapping_check(struct annex_mapping *m);

/**
 * annex_mapping_check_all() - annex_mapping_check() for all mappings that this process has ever
 * watched.
 *
 * Return: as annex_mapping_check().
 */
int annex_mapping_check_all(void);

/**
 * annex_mapping_end() - Stop watching a mapping. Call it before munmap().
 * @m: the mapping; may be NULL.
 */
void annex_mapping_end(struct annex_mapping *m);

#ifdef __cplusplus
}
#endif
#endif
