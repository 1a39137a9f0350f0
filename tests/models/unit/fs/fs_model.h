/* SPDX-License-Identifier: MIT */
/*
 * A file system in memory as POSIX describes it, and one on an endpoint beside it: random
 * operations do the same to both, and must have the same outcome.
 */
#ifndef ANNEX_TESTS_FS_MODEL_H
#define ANNEX_TESTS_FS_MODEL_H

#include <annex/models/fs.h>

#define MODEL_FILES 96u
#define MODEL_NAMES 14u
#define MODEL_BYTES (300u << 10) /* of a file */
#define MODEL_XATTRS 3u

/* struct fs_model_file - @data: MODEL_BYTES of a regular file, or the target of a link.
 * @entry: file of each name; 0: none. @held: references that the test keeps. */
struct fs_model_file {
	uint32_t ino;
	uint32_t mode, nlink;
	uint32_t uid, gid;
	uint32_t parent;
	uint64_t size;
	uint8_t *data;
	uint32_t entry[MODEL_NAMES];
	uint64_t held;
	uint32_t xattr[MODEL_XATTRS]; /* length of the value + 1 */
	uint8_t xattr_byte[MODEL_XATTRS];
};

/* struct fs_model - @file: 1 is the root, 0 is none. @wrong: outcomes that differ. */
struct fs_model {
	struct annex_cxlssd *s;
	struct annex_fs *fs;
	struct annex_fs_opts opts;
	struct fs_model_file file[MODEL_FILES];
	uint64_t wrong;
	uint64_t full; /* operations for which there was no room */
};

/* fs_model_name() - One of the names. */
const char *fs_model_name(uint32_t i);

/* fs_model_open() - Make both. fs_model_step() - One operation. fs_model_compare() - All that is in
 * both. fs_model_remount() - Unmount and mount. fs_model_close() - Unmount, and free.
 * fs_model_lose() - Unmount from a device that fails. fs_model_find() - Mount on another one. */
void fs_model_open(struct fs_model *m, struct annex_cxlssd *s, enum annex_fs_design design,
		   const struct annex_fs_opts *opts);
void fs_model_step(struct fs_model *m, uint64_t *rng);
void fs_model_compare(struct fs_model *m);
void fs_model_remount(struct fs_model *m);
void fs_model_lose(struct fs_model *m);
void fs_model_find(struct fs_model *m, struct annex_cxlssd *s);
void fs_model_close(struct fs_model *m);

#endif
