/* SPDX-License-Identifier: MIT */
/*
 * The backing file of a CXL-SSD: a header, two halves of a journal, and flash pages with a record
 * beside each. This is the file as bytes: journal.h and flash.h say what they mean.
 *
 *	0		struct ssd_header, in a block of 4096 bytes
 *	SSD_FILE_BLOCK	the halves of the journal
 *	then		records of the flash pages
 *	then		flash pages
 *
 * One process has it. Numbers are little-endian. One thread at a time.
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
 * struct ssd_shape - Facts that a file keeps as long as it lives.
 * @g: flash.
 * @bytes: shown to the host, in whole pages.
 * @half: bytes of half the journal, in blocks of SSD_FILE_BLOCK.
 */
struct ssd_shape {
	struct ssd_geometry g;
	uint64_t bytes;
	uint64_t half;
};

/**
 * enum ssd_file_use - How a file is opened.
 * @SSD_FILE_DURABLE: to write; ssd_file_sync() waits for the medium.
 * @SSD_FILE_MODEL: to write; nothing is lost but with the host.
 * @SSD_FILE_READONLY: to read. Written bytes stay in memory, and go with the struct ssd_file.
 */
enum ssd_file_use { SSD_FILE_DURABLE, SSD_FILE_MODEL, SSD_FILE_READONLY };

/*
 * struct ssd_file - An open one. @mem: instead of a file, memory of the process. @len: bytes of the
 * memory, or of the file.
 * @copies: of each block of a @readonly file, its bytes where they were written; else NULL.
 * @salt: a random number of this file alone.
 * @journal, @records, @pages: offsets of the parts.
 * @fresh: it has no header yet. @made: it was not there before.
 * @alive: a byte that is 0 in a child of fork(), which must not write the file.
 * @durable: ssd_file_sync() waits for the medium; otherwise nothing is lost but with the host.
 * @dirty: bytes were written since. @syncs: how many there were.
 * @failed: the error of the first write that failed; nothing is written after it.
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
 * ssd_file_open() - Open a file, or make it where there is none, or an empty one.
 * @path: NULL: memory of the process.
 * @shape: what a new one gets; with @shape->bytes 0 it must be there.
 * @use: a file that is read is locked against writers only, a file that is written against all.
 *
 * A fresh file is all zeroes. Its owner writes what it needs from the start, then seals it; if it
 * is closed before, it is empty again, or not there.
 *
 * Return: 0; -EINVAL, -ERANGE, -ENOSPC (no such shape can be), -EINVAL (no regular file), -EILSEQ
 * (no header, or a damaged one), -EPROTONOSUPPORT (of another version), -EBUSY (another process has
 * it),
 * -ENOSPC, -EFBIG, -ENOENT and others of open(), -ENOMEM; with a line.
 */
int ssd_file_open(const char *path, const struct ssd_shape *shape, enum ssd_file_use use,
		  struct ssd_file **out);
void ssd_file_close(struct ssd_file *f);

/* ssd_file_forked() - Whether this is a child of the process that opened it: it writes nothing. */
bool ssd_file_forked(const struct ssd_file *f);

/* ssd_file_seal() - Give a fresh file its header. Return: as ssd_file_write(). */
int ssd_file_seal(struct ssd_file *f);

/* ssd_file_read() - Return: 0; -EIO: it was cut short; an error of pread(); with a line. */
int ssd_file_read(struct ssd_file *f, uint64_t at, void *buf, size_t len);

/* ssd_file_write(), ssd_file_sync() - Return: 0, or the error of the first that failed, which was
 * told by a line. A sync finds that another process has cut the file or written over it: -EIO. */
int ssd_file_write(struct ssd_file *f, uint64_t at, const void *buf, size_t len);
int ssd_file_sync(struct ssd_file *f);

#endif
