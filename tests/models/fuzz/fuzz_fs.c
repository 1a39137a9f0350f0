// SPDX-License-Identifier: MIT
/*
 * A file system whose metadata are anything: it is refused, or everything in it can be read with
 * an answer; a check ends, and where it finds nothing wrong, the file system can be written to.
 *
 * Each 8 bytes change the device: a block of metadata, a line of it, a byte in that, with the
 * checksum put right or not. A byte more: the design is ext4-like, and the journal has something.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <annex/models/fs.h>
#include "models/fs/buf.h"

#define STEPS 64u
#define FILES 300u /* that a walk looks at */
#define FAR 1024u  /* blocks of a journal, as it is on a small device */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* struct step - @block: a block of metadata, or of a file. */
struct step {
	uint8_t block, line, at, how;
	uint32_t value;
};

static void require(bool holds)
{
	if (!holds)
		abort();
}

static uint32_t make(struct annex_fs *fs, uint32_t dir, const char *name, uint32_t mode)
{
	const struct annex_fs_new what = {mode, 1, 2, 0};
	struct annex_fs_attr a = {0};

	require(!annex_fs_make(fs, dir, name, &what, &a));
	annex_fs_forget(fs, a.ino, 1);
	return a.ino;
}

/* Directories, a file with holes and a map of two levels, links, attributes. @in: the device before
 * it is unmounted: there are transactions in the journal. */
static void fill(struct annex_cxlssd *s, enum annex_fs_design design, uint8_t *in)
{
	const struct annex_fs_mkfs_opts how = {.design = design};
	const struct annex_fs_new what = {0};
	struct annex_fs_attr a;
	struct annex_fs *fs = NULL;
	char buf[300] = "data";
	uint32_t d, f;

	require(!annex_fs_mkfs(s, &how) && !annex_fs_mount(s, NULL, &fs));
	d = make(fs, ANNEX_FS_ROOT, "d", S_IFDIR | 0755);
	f = make(fs, d, "f", S_IFREG | 0644);
	make(fs, d, "another", S_IFIFO | 0600);
	make(fs, d, "e", S_IFDIR | 0700);
	require(annex_fs_write(fs, f, 0, buf, sizeof(buf)) == sizeof(buf));
	require(annex_fs_write(fs, f, 200000, buf, sizeof(buf)) == sizeof(buf));
	memset(buf, 't', sizeof(buf) - 1);
	buf[sizeof(buf) - 1] = 0;
	require(!annex_fs_symlink(fs, ANNEX_FS_ROOT, "s", buf, &what, &a));
	require(!annex_fs_link(fs, f, ANNEX_FS_ROOT, "g", &a));
	require(!annex_fs_fsync(fs, 0));
	require(!annex_fs_setxattr(fs, f, "user.a", "value", 5, 0));
	require(!annex_fs_rename(fs, d, "another", ANNEX_FS_ROOT, "other", 0));
	require(!annex_fs_rmdir(fs, d, "e"));
	require(!annex_fs_fsync(fs, 0));
	require(!annex_cxlssd_read_blocks(s, 0, in, annex_cxlssd_bytes(s), NULL));
	require(!annex_fs_unmount(fs));
}

/* A device with such a file system; each design is made once. */
static struct annex_cxlssd *start(enum annex_fs_design design)
{
	static const char *const uris[] = {"cxlssd:?size=1M&dram=1M&log=bytefs&durable=model",
					   "cxlssd:?size=6M&dram=1M&log=bytefs&durable=model"};
	static uint8_t *images[ANNEX_FS_DESIGNS];
	static const uint8_t none[FS_BLOCK];
	struct annex_cxlssd *s;
	uint64_t bytes;

	require(!annex_cxlssd_open(uris[design], &s));
	bytes = annex_cxlssd_bytes(s);
	if (!images[design]) {
		struct annex_cxlssd *first = NULL;

		images[design] = malloc(bytes);
		require(images[design] && !annex_cxlssd_open(uris[design], &first));
		fill(first, design, images[design]);
		annex_cxlssd_close(first);
	}
	for (uint64_t at = 0; at < bytes; at += FS_BLOCK)
		if (memcmp(images[design] + at, none, FS_BLOCK) != 0)
			require(!annex_cxlssd_write_blocks(s, at, images[design] + at, FS_BLOCK,
							   NULL));
	return s;
}

static void change(struct annex_cxlssd *s, const struct step *p)
{
	const uint32_t blocks = (uint32_t)(annex_cxlssd_bytes(s) / FS_BLOCK);
	const uint32_t far = blocks > 1024 && p->block % 64 >= 48 ? FAR : 0;
	const uint32_t block = p->block == 255 ? blocks - 1 : (p->block % 64 + far) % blocks;
	const uint64_t at = ((uint64_t)block * FS_LINES + p->line % FS_LINES) * FS_LINE;
	struct fs_line l;

	require(!annex_cxlssd_read(s, at, &l, sizeof(l), NULL));
	memcpy(l.payload + p->at % (FS_PAYLOAD - 3), &p->value, 1 + p->how % 4);
	if (p->how & 4)
		l.crc = fs_line_sum(&l, block, p->line % FS_LINES);
	require(!annex_cxlssd_write(s, at, &l, sizeof(l), NULL));
}

/* Everything that can be asked of a file has an answer. Return: whether it is a directory. */
static bool read_file(struct annex_fs *fs, uint32_t ino)
{
	static char buf[70000];
	struct annex_fs_attr a = {0};
	uint64_t at = 0;

	if (annex_fs_getattr(fs, ino, &a))
		return false;
	annex_fs_read(fs, ino, 0, buf, sizeof(buf));
	annex_fs_read(fs, ino, 190000, buf, sizeof(buf));
	annex_fs_readlink(fs, ino, buf, 4096);
	annex_fs_seek(fs, ino, &at, false);
	if (annex_fs_listxattr(fs, ino, NULL, 0) > 0)
		annex_fs_listxattr(fs, ino, buf, sizeof(buf));
	annex_fs_getxattr(fs, ino, "user.a", buf, sizeof(buf));
	return S_ISDIR(a.mode);
}

static void walk(struct annex_fs *fs)
{
	uint32_t queue[FILES] = {ANNEX_FS_ROOT}, n = 1;

	for (uint32_t i = 0; i < n; i++) {
		struct annex_fs_entry e = {0};
		uint64_t at = 0;

		if (!read_file(fs, queue[i]))
			continue;
		for (; n < FILES && annex_fs_readdir(fs, queue[i], at, &e) > 0; at = e.next) {
			struct annex_fs_attr a;

			require(e.next > at);
			if (!annex_fs_lookup(fs, queue[i], e.name, &a))
				annex_fs_forget(fs, a.ino, 1);
			if (strcmp(e.name, ".") && strcmp(e.name, ".."))
				queue[n++] = e.ino;
		}
	}
}

static void tell(void *ctx, const char *what)
{
	(void)ctx;
	require(!!*what && !strchr(what, '\n'));
}

/* One with nothing wrong is as good as new. */
static void check(struct annex_cxlssd *s)
{
	const struct annex_fs_new what = {S_IFREG | 0600, 0, 0, 0};
	struct annex_fs_report r;
	struct annex_fs_attr a;
	struct annex_fs *fs = NULL;
	int err = annex_fs_check(s, tell, NULL, &r);

	require(!err || err == -EILSEQ || err == -EPROTONOSUPPORT);
	if (err || r.problems)
		return;
	require(!annex_fs_mount(s, NULL, &fs));
	walk(fs);
	err = annex_fs_make(fs, ANNEX_FS_ROOT, "new", &what, &a);
	require(!err || err == -EEXIST);
	require(!annex_fs_unmount(fs));
	require(!annex_fs_check(s, tell, NULL, &r) && !r.problems);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct annex_fs_opts ro = {.read_only = true};
	struct annex_cxlssd *s;
	struct annex_fs *fs;

	s = start(size % sizeof(struct step) == 1 ? ANNEX_FS_EXT4_LIKE : ANNEX_FS_BYTEFS);
	for (uint32_t i = 0; i < STEPS && size >= sizeof(struct step); i++) {
		struct step p;

		memcpy(&p, data, sizeof(p));
		data += sizeof(p);
		size -= sizeof(p);
		change(s, &p);
	}
	if (!annex_fs_mount(s, &ro, &fs)) {
		walk(fs);
		annex_fs_unmount(fs);
	}
	check(s);
	annex_cxlssd_close(s);
	return 0;
}
