/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_FS_DEV_H
#define ANNEX_FS_DEV_H

#include "fs.h"

/* fs_dev_read() - Bytes, by the byte interface. fs_dev_read_blocks() - Whole blocks. */
int fs_dev_read(struct fs_dev *d, enum annex_fs_class class, uint64_t at, void *buf, size_t n);
int fs_dev_read_blocks(struct fs_dev *d, enum annex_fs_class class, uint32_t block, void *buf,
		       uint32_t n);

/* fs_dev_write_blocks() - Write @n blocks; they last with the next commit or fence.
 * fs_dev_fence() - Have all that was written before last. */
int fs_dev_write_blocks(struct fs_dev *d, enum annex_fs_class class, uint32_t block,
			const void *buf, uint32_t n);
int fs_dev_fence(struct fs_dev *d);

/* fs_dev_trim() - Forget what blocks hold; lasts with the next commit. */
int fs_dev_trim(struct fs_dev *d, uint32_t block, uint32_t n);

/* fs_dev_begin() - Begin a transaction. fs_dev_store() - Bytes of it. fs_dev_commit() - End it;
 * blocks that were written before last if it does. @last: it does. */
int fs_dev_begin(struct fs_dev *d, struct annex_cxlssd_tx **tx);
int fs_dev_store(struct fs_dev *d, struct annex_cxlssd_tx *tx, enum annex_fs_class class,
		 uint64_t at, const void *buf, size_t n);
int fs_dev_commit(struct fs_dev *d, struct annex_cxlssd_tx *tx, bool last);

/* fs_now() - Nanoseconds since 1970. */
int64_t fs_now(void);

#endif
