// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex fs fsck: a check of a file system, with the exit statuses of fsck(8).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "tools/common/error.h"
#include "tools/common/out.h"
#include "tools/common/progress.h"
#include "image.h"

enum { CLEAN = 0, LEFT = 4, FAILED = 8, USAGE = 16 };

struct fsck {
	const char *image;
	bool json;
	json_t *problems;
};

static const struct cli_option options[] = {CLI_JSON(struct fsck, json), {0}};

static void add_problem(void *ctx, const char *problem)
{
	struct fsck *f = ctx;
	char text[512];

	snprintf(text, sizeof(text), "%s", problem);
	err_plain(text, sizeof(text));
	if (f->json)
		json_array_append_new(f->problems, json_string(text));
	else
		puts(text);
}

static const char *plural(uint64_t n, const char *one, const char *many)
{
	return n == 1 ? one : many;
}

static int print_text(const struct annex_fs_report *r)
{
	const uint64_t files = r->files - r->directories;

	printf("%llu %s, %llu %s, %llu %s: ", (ull)files, plural(files, "file", "files"),
	       (ull)r->directories, plural(r->directories, "directory", "directories"),
	       (ull)r->blocks, plural(r->blocks, "block", "blocks"));
	if (r->problems)
		printf("%llu %s\n", (ull)r->problems, plural(r->problems, "problem", "problems"));
	else
		puts("clean");
	puts("data of files were not read: reading damaged data gives EIO");
	return fflush(stdout) || ferror(stdout) ? err_sys("cannot write") : 0;
}

static int report(struct fsck *f, const char *device, const struct annex_fs_report *r)
{
	struct out out;

	if (!f->json)
		return print_text(r);
	out_init(&out, cli_name(), true);
	out_text(&out, "device", "device", device);
	out_bool(&out, "clean", "clean", !r->problems);
	out_count(&out, "files", "files", r->files - r->directories);
	out_count(&out, "directories", "directories", r->directories);
	out_count(&out, "blocks", "blocks", r->blocks);
	out_count(&out, "unfinished", "unfinished", r->unfinished);
	out_count(&out, "problems", "problems", r->problems);
	out_json(&out, "list", json_incref(f->problems));
	return out_end(&out);
}

static int check(struct fsck *f, struct image *i, struct annex_fs_report *r)
{
	int err;

	progress_begin("checking");
	err = annex_fs_check(i->s, add_problem, f, r);
	progress_end();
	if (err == -EILSEQ)
		err_lib(err, "%s: no file system: annex fs mkfs makes one", i->path);
	else if (err)
		err_lib(err, "%s", i->path);
	err = image_close(i, err);
	return err ? err : report(f, i->uri, r);
}

static int run(struct fsck *f)
{
	struct annex_fs_report r = {0};
	struct image i;

	f->problems = json_array();
	if (image_open(&i, f->image, true) || check(f, &i, &r))
		return FAILED;
	if (!r.problems)
		return CLEAN;
	err_set(-EBADMSG, "%s: %llu %s: copy all readable files, then annex fs mkfs --force",
		i.path, (ull)r.problems, plural(r.problems, "problem", "problems"));
	return LEFT;
}

static const char doc[] =
	"Check a file system that is not mounted, and print a line for each problem. Nothing is "
	"written, and data of files are not read. SSD is the path of its file, or a URI. The exit "
	"status is that of fsck(8): 0 clean, 4 problems found, 8 check failed, 16 wrong options."
	"\vExamples:\n"
	"  annex fs fsck disk\n"
	"  annex fs fsck cxlssd:/data/disk --json";

int fs_fsck(int argc, char **argv)
{
	static const struct cli_line line = {options,
					     "SSD",
					     doc,
					     CLI_ARG(struct fsck, image),
					     .none = "name the file of the CXL-SSD, as disk",
					     .many = "\"%s\" is one device too many"};
	struct fsck f = {0};
	int status = cli_parse(&line, argc, argv, &f);

	if (status == CLI_HELP)
		return status;
	status = status ? USAGE : run(&f);
	json_decref(f.problems);
	if (status == CLEAN)
		return 0;
	/* main() has no such exit statuses. */
	if (*err_text())
		fprintf(stderr, "%s: %s\n", cli_name(), err_text());
	fflush(stdout);
	exit(status);
}
