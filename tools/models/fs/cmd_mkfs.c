// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex fs mkfs: make an empty file system.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "tools/common/cleanup.h"
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "tools/common/error.h"
#include "tools/common/out.h"
#include "image.h"
#include "totals.h"

#define BYTES_MAX (1ull << 43) /* 2^31 blocks of 4096 bytes */

struct mkfs {
	const char *image;
	uint64_t size, inodes;
	enum annex_fs_design design;
	bool force, json;
};

static int set_design(void *opts, const char *opt, char *arg)
{
	struct mkfs *m = opts;

	for (unsigned int i = 0; i < ANNEX_FS_DESIGNS; i++) {
		m->design = (enum annex_fs_design)i;
		if (!strcmp(arg, totals_design(m->design)))
			return 0;
	}
	return err_set(-EINVAL, "%s: \"%s\" is none of bytefs, ext4-like", opt, arg);
}

static const struct cli_option options[] = {
	{"size", 0, "SIZE", 1, OPT_SIZE(struct mkfs, size, 1, BYTES_MAX), "Bytes of a new device"},
	{"inodes", 0, "N", 1, OPT_SIZE(struct mkfs, inodes, 1, UINT32_MAX),
	 "Maximum number of files (one for each 16 KiB, at least 1024)"},
	{"design", 0, "DESIGN", 1, OPT_CALL(set_design),
	 "bytefs, or for comparison ext4-like, with a journal of blocks (bytefs)"},
	{"force", 0, NULL, 1, OPT_FLAG(struct mkfs, force), "Overwrite existing data"},
	CLI_JSON(struct mkfs, json),
	{0}};

/* Refuse to overwrite data without --force. */
static int check_empty(struct image *i)
{
	const struct annex_fs_opts opts = {.read_only = true};
	struct annex_cxlssd_stats stats;
	int err = annex_fs_mount(i->s, &opts, &i->fs);

	if (!err) {
		image_unmount(i, 0);
		return err_set(
			-EEXIST,
			"%s has a file system: --force replaces it, and all of its files are "
			"lost",
			i->path);
	}
	if (err == -EINVAL)
		return err_lib(err, "%s", i->path);
	annex_cxlssd_get_stats(i->s, &stats);
	if (stats.valid || stats.dirty)
		return err_set(-EEXIST,
			       "%s holds data that are no file system, or a damaged one: --force "
			       "overwrites them",
			       i->path);
	return 0;
}

static int report(struct image *i, bool json)
{
	const struct annex_fs_opts opts = {.read_only = true};
	struct out out;
	int err = image_mount(i, &opts);

	if (err)
		return err;
	out_init(&out, cli_name(), json);
	out_text(&out, "device", "device", i->uri);
	totals_report(&out, i);
	return out_end(&out);
}

/* Give the root directory to the caller: only root can use a directory of root. */
static int own_root(struct image *i)
{
	const unsigned int set = ANNEX_FS_SET_UID | ANNEX_FS_SET_GID;
	struct annex_fs_attr attr = {.uid = geteuid(), .gid = getegid()};
	int err = image_mount(i, NULL);

	if (err)
		return err;
	err = annex_fs_setattr(i->fs, ANNEX_FS_ROOT, &attr, set);
	if (err)
		err_lib(err, "%s", i->path);
	return image_unmount(i, err);
}

static int make(const struct mkfs *m, struct image *i)
{
	const struct annex_fs_mkfs_opts opts = {.inodes = m->inodes, .design = m->design};
	int err = m->force ? 0 : check_empty(i);

	if (err)
		return err;
	err = annex_fs_mkfs(i->s, &opts);
	if (err)
		return err_lib(err, "%s", i->path);
	err = own_root(i);
	return err ? err : report(i, m->json);
}

/* Remove a new file on failure. */
static int open_and_make(const struct mkfs *m, struct image *i)
{
	const bool created = access(i->path, F_OK) != 0;
	int err;

	cleanup_hold();
	err = image_connect(i);
	if (!err && created)
		err = cleanup_add(i->path);
	cleanup_release();
	if (!i->s)
		return err;
	if (!err)
		err = make(m, i);
	err = image_close(i, err);
	if (created && err)
		cleanup_remove(i->path);
	else if (created)
		cleanup_forget(i->path);
	return err;
}

static int check_size(const struct mkfs *m, const struct image *i)
{
	struct annex_uri u;
	int err = annex_uri_parse(i->uri, &u);

	if (err)
		return err_lib(err, "%s", m->image);
	if (access(i->path, F_OK) || annex_uri_get(&u, "size"))
		return annex_uri_get(&u, "size")
			       ? 0
			       : err_set(-ENOENT,
					 "there is no file %s: --size=1G makes one of 1 GiB",
					 i->path);
	return 0;
}

static const char doc[] =
	"Make an empty file system on a CXL-SSD. SSD is the path of its file, or a URI as "
	"cxlssd:PATH?KEY=VALUE, whose parameters are in annex_uri(7). The log is log=bytefs, of "
	"at least 512 KiB (dram=1M). The root directory belongs to the caller."
	"\vExamples:\n"
	"  annex fs mkfs --size 1G disk\n"
	"  annex fs mkfs 'cxlssd:/data/disk?size=16G&media=znand&dram=256M' --inodes 4M\n"
	"  annex fs mkfs --force disk";

int fs_mkfs(int argc, char **argv)
{
	static const struct cli_line line = {options,
					     "SSD",
					     doc,
					     CLI_ARG(struct mkfs, image),
					     .none = "name the file of the CXL-SSD, as disk",
					     .many = "\"%s\" is one device too many"};
	struct mkfs m = {0};
	struct image i;
	char size[40] = "";
	int err = cli_parse(&line, argc, argv, &m);

	if (err)
		return err;
	if (m.size)
		snprintf(size, sizeof(size), "size=%llu", (ull)m.size);
	err = image_name(&i, m.image, size);
	if (!err)
		err = check_size(&m, &i);
	return err ? err : open_and_make(&m, &i);
}
