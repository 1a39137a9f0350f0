/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_FS_DEV_H
#define ANNEX_FS_DEV_H

#include "fs.h"

/* fs_dev_read() - Read by the byte interface. fs_dev_read_blocks() - Read whole blocks. */
int fs_dev_read(struct fs_dev *d, enum annex_fs_class class, uint64_t at, void *buf, size_t n);
int fs_dev_read_blocks(struct fs_dev *d, enum annex_fs_class class, uint32_t block, void *buf,
		       uint32_t n);

/* fs_dev_write_blocks() - Write @n blocks, durable with the next commit or fence. fs_dev_fence() -
 * Make all earlier writes durable. */
int fs_dev_write_blocks(struct fs_dev *d, enum annex_fs_class class, uint32_t block,
			const void *buf, uint32_t n);
int fs_dev_fence(struct fs_dev *d);

/* fs_dev_trim() - Discard the contents of blocks, durable with the next commit. */
int fs_dev_trim(struct fs_dev *d, uint32_t block, uint32_t n);

/*
 * fs_dev_begin() - Begin a transaction.
 * fs_dev_store() - Store bytes in it.
 * fs_dev_commit() - Commit it. @last: it and all earlier writes of blocks are durable on return.
 */
int fs_dev_begin(struct fs_dev *d, struct annex_cxlssd_tx **tx);
int fs_dev_store(struct fs_dev *d, struct annex_cxlssd_tx *tx, enum annex_fs_class class,
		 uint64_t at, const void *buf, size_t n);
int fs_dev_commit(struct fs_dev *d, struct annex_cxlssd_tx *tx, bool last);

/* fs_now() - The time, nanoseconds since 1970. */
int64_t fs_now(void);

#endif
