// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex fs dump: what lies on the device, in lines of text.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "tools/cli.h"
#include "tools/commands.h"
#include "tools/error.h"
#include "tools/out.h"
#include "image.h"

struct dump {
	const char *image, *path;
	uint32_t inode;
	bool json;
	json_t *lines;
};

static const struct cli_option options[] = {
	{"inode", 0, "N", 1, OPT_U32(struct dump, inode, 1, UINT32_MAX),
	 "This file, by its number"},
	{"path", 0, "/A/B", 1, OPT_TEXT(struct dump, path), "This file, by its name"},
	CLI_JSON(struct dump, json),
	{0}};

/* From one directory to the next. A link on the way is a file like others. */
static int walk(struct image *i, const struct dump *d, uint32_t *ino)
{
	const char *at = d->path;
	struct annex_fs_attr attr = {.ino = ANNEX_FS_ROOT};
	int err = 0;

	while (!err && *(at += strspn(at, "/"))) {
		const size_t n = strcspn(at, "/");
		const uint32_t dir = attr.ino;
		char name[ANNEX_FS_NAME + 2];

		snprintf(name, sizeof(name), "%.*s", (int)(n < sizeof(name) ? n : sizeof(name)),
			 at);
		err = annex_fs_lookup(i->fs, dir, name, &attr);
		if (!err)
			annex_fs_forget(i->fs, attr.ino, 1);
		at += n;
	}
	*ino = attr.ino;
	return err ? err_set(err, "%s: %s: %s", i->path, d->path, strerror(-err)) : 0;
}

static int find(struct image *i, const struct dump *d, uint32_t *ino)
{
	const struct annex_fs_opts opts = {.read_only = true};
	int err = image_mount(i, &opts);

	if (!err)
		err = walk(i, d, ino);
	return image_unmount(i, err);
}

static void tell(void *ctx, const char *text)
{
	struct dump *d = ctx;
	char line[1024];

	snprintf(line, sizeof(line), "%s", text);
	err_plain(line, sizeof(line));
	if (d->json)
		json_array_append_new(d->lines, json_string(line));
	else
		puts(line);
}

static int report(struct dump *d, const char *device, uint32_t ino)
{
	struct out out;

	if (!d->json)
		return fflush(stdout) || ferror(stdout) ? err_sys("cannot write") : 0;
	out_init(&out, cli_name(), true);
	out_text(&out, "device", "device", device);
	out_json(&out, "inode", ino ? json_integer(ino) : json_null());
	out_json(&out, "lines", json_incref(d->lines));
	return out_end(&out);
}

static int run(struct dump *d, struct image *i)
{
	uint32_t ino = d->inode;
	int err = d->path ? find(i, d, &ino) : 0;

	if (err)
		return err;
	err = annex_fs_dump(i->s, ino, tell, d);
	if (err == -ESTALE)
		return err_set(err, "%s: no file has the number %u", i->path, ino);
	return err ? err_lib(err, "%s", i->path) : report(d, i->uri, ino);
}

static const char doc[] =
	"Explain what lies on a device with a file system that is not mounted: its superblock, or "
	"one file. SSD is the path of its file, or a URI. Nothing is changed, and what is damaged "
	"is shown as it is."
	"\vExamples:\n"
	"  annex fs dump disk\n"
	"  annex fs dump disk --path /etc/fstab\n"
	"  annex fs dump cxlssd:/data/disk --inode 1 --json";

int fs_dump(int argc, char **argv)
{
	static const struct cli_line line = {options,
					     "SSD",
					     doc,
					     CLI_ARG(struct dump, image),
					     .none = "name the file of the CXL-SSD, as disk",
					     .many = "\"%s\" is one device too many"};
	struct dump d = {0};
	struct image i;
	int err = cli_parse(&line, argc, argv, &d);

	if (err)
		return err;
	if (d.inode && d.path)
		return err_set(-EINVAL, "--inode and --path: one of them names the file");
	err = image_open(&i, d.image, true);
	if (err)
		return err;
	d.lines = json_array();
	err = image_close(&i, run(&d, &i));
	json_decref(d.lines);
	return err;
}
