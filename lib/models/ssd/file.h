/* SPDX-License-Identifier: MIT */
/*
 * The backing file of a CXL-SSD: a header, two halves of a journal, and flash pages with a record
 * beside each. This file handles bytes; journal.h and flash.h define their meaning.
 *
 *	0		struct ssd_header, in a block of 4096 bytes
 *	SSD_FILE_BLOCK	the halves of the journal
 *	then		records of the flash pages
 *	then		flash pages
 *
 * One process has it open. Numbers are little-endian. One thread at a time.
 */
#ifndef ANNEX_HDM_SSD_FILE_H
#define ANNEX_HDM_SSD_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "geometry.h"

#define SSD_FILE_BLOCK 4096u
#define SSD_RECORD 32u /* bytes beside a flash page */
#define SSD_TURN_MAX (UINT64_MAX / 2)

/**
 * struct ssd_shape - Constant properties of a file.
 * @g: geometry of the flash.
 * @bytes: bytes that the host sees, a multiple of the page size.
 * @half: bytes of half the journal, a multiple of SSD_FILE_BLOCK.
 */
struct ssd_shape {
	struct ssd_geometry g;
	uint64_t bytes;
	uint64_t half;
};

/**
 * enum ssd_file_use - Mode of a file.
 * @SSD_FILE_DURABLE: writable; ssd_file_sync() waits for the medium.
 * @SSD_FILE_MODEL: writable; data survive the process, and not a crash of the host.
 * @SSD_FILE_READONLY: writes stay in memory until the file is closed.
 */
enum ssd_file_use { SSD_FILE_DURABLE, SSD_FILE_MODEL, SSD_FILE_READONLY };

/*
 * struct ssd_file - An open file.
 * @fd: its descriptor.
 * @mem: memory of the process in place of a file, or NULL.
 * @alive: a byte that is 0 in a child of fork(), which must not write to the file.
 * @len: bytes of the memory or the file.
 * @copies: written blocks of a @readonly file; NULL: not written.
 * @path: its path, for messages.
 * @shape: its constant properties.
 * @salt: a random number of this file.
 * @journal: offset of the journal.
 * @records: offset of the records.
 * @pages: offset of the flash pages.
 * @fresh: it has no header yet.
 * @made: this process created it.
 * @durable: ssd_file_sync() waits for the medium.
 * @readonly: writes stay in memory.
 * @dirty: it was written since the last sync.
 * @syncs: number of syncs.
 * @failed: error of the first failed write; nothing is written after it.
 */
struct ssd_file {
	int fd;
	char *mem, *alive;
	uint64_t len;
	char **copies;
	char *path;
	struct ssd_shape shape;
	uint64_t salt;
	uint64_t journal, records, pages;
	bool fresh, made;
	bool durable, readonly, dirty;
	uint64_t syncs;
	int failed;
};

/*
 * ssd_file_open() - Open a file; create it if it does not exist or is empty.
 * @path: its path; NULL: memory of the process.
 * @shape: properties of a new file; with @shape->bytes 0 the file must exist.
 * @use: its mode. The lock of a readonly file excludes writers, that of a writable file everybody.
 *
 * A fresh file is all zeroes. The owner initializes it and then seals it; if it is closed before,
 * it is truncated or removed.
 *
 * Return: 0; -EINVAL, -ERANGE, -ENOSPC (impossible shape), -EINVAL (not a regular file), -EILSEQ
 * (missing or damaged header), -EPROTONOSUPPORT (another version), -EBUSY (in use by another
 * process), -ENOSPC, -EFBIG, -ENOENT and others of open(), -ENOMEM; with a line.
 */
int ssd_file_open(const char *path, const struct ssd_shape *shape, enum ssd_file_use use,
		  struct ssd_file **out);
void ssd_file_close(struct ssd_file *f);

/* ssd_file_forked() - Whether this process is a forked child of the opener, which cannot write. */
bool ssd_file_forked(const struct ssd_file *f);

/* ssd_file_seal() - Write the header of a fresh file. Return: as ssd_file_write(). */
int ssd_file_seal(struct ssd_file *f);

/* ssd_file_read() - Return: 0; -EIO: the file was truncated; an error of pread(); with a line. */
int ssd_file_read(struct ssd_file *f, uint64_t at, void *buf, size_t len);

/* ssd_file_write(), ssd_file_sync() - Return: 0, or the error of the first failure, whose line was
 * logged. -EIO from a sync: another process has truncated or overwritten the file. */
int ssd_file_write(struct ssd_file *f, uint64_t at, const void *buf, size_t len);
int ssd_file_sync(struct ssd_file *f);

#endif
