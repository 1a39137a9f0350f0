// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex fs stat: the sizes of a file system.
 */
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "image.h"
#include "totals.h"

struct stat_opts {
	const char *image;
	bool json;
};

static const struct cli_option options[] = {CLI_JSON(struct stat_opts, json), {0}};

static int report(struct image *i, bool json)
{
	struct out out;

	out_init(&out, cli_name(), json);
	out_text(&out, "device", "device", i->uri);
	totals_report(&out, i);
	return out_end(&out);
}

static const char doc[] =
	"Print the sizes and the free space of a file system that is not mounted. "
	"SSD is the path of its file, or a URI."
	"\vExamples:\n"
	"  annex fs stat disk\n"
	"  annex fs stat cxlssd:/data/disk --json";

int fs_stat(int argc, char **argv)
{
	static const struct cli_line line = {options,
					     "SSD",
					     doc,
					     CLI_ARG(struct stat_opts, image),
					     .none = "name the file of the CXL-SSD, as disk",
					     .many = "\"%s\" is one device too many"};
	const struct annex_fs_opts opts = {.read_only = true};
	struct stat_opts o = {0};
	struct image i;
	int err = cli_parse(&line, argc, argv, &o);

	if (err)
		return err;
	err = image_open(&i, o.image, true);
	if (err)
		return err;
	err = image_mount(&i, &opts);
	if (!err)
		err = report(&i, o.json);
	return image_close(&i, err);
}
