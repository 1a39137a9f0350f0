// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex query load: import CSV files into a range.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <annex/detail/clock.h>
#include <annex/uri.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "tools/common/error.h"
#include "tools/common/out.h"
#include "tools/common/progress.h"
#include "tools/common/uri.h"
#include "import.h"

#define FILES 3 /* one a table */

struct load {
	const char *range;
	const char *file[FILES];
	unsigned int files;
	bool overwrite, json;
};

/* Formatting the range (format=1) would overwrite an input file. */
static int check_apart(const struct load *l)
{
	char uri[ANNEX_URI_MAX];
	int err = 0;

	for (unsigned int i = 0; i < l->files && !err; i++) {
		err = path_uri(uri, "file", l->file[i], "");
		if (!err && same_storage(l->range, uri))
			err = err_set(-EINVAL, "--range %s is the file %s itself", l->range,
				      l->file[i]);
	}
	return err;
}

/* Sort files by their tables, in the order of tpch_tables. */
static int sort_files(const struct load *l, const char *path[FILES])
{
	progress_begin("examining files");
	for (unsigned int i = 0; i < l->files; i++) {
		const struct tpch_table *t;
		int err = import_table(l->file[i], &t);

		for (unsigned int k = 0; k < FILES && !err; k++) {
			if (tpch_tables[k] != t)
				continue;
			if (path[k])
				return err_set(-EINVAL, "%s and %s are both of the table %s",
					       path[k], l->file[i], t->name);
			path[k] = l->file[i];
		}
		if (err)
			return err;
	}
	return 0;
}

static void report_table(struct out *out, const char *name, uint64_t rows, uint64_t bytes)
{
	json_t *one = json_object();
	char size[OUT_SIZE];

	json_object_set_new(one, "rows", json_integer((json_int_t)rows));
	json_object_set_new(one, "column_bytes", json_integer((json_int_t)bytes));
	out_json(out, name, one);
	if (bytes)
		out_row(out, name, "%llu rows, %s of columns", (ull)rows,
			out_size((double)bytes, size));
	else
		out_row(out, name, "%llu rows, for the columns of SSB", (ull)rows);
}

static int load_all(const struct load *l, const char *const path[FILES], struct store *s,
		    struct out *out)
{
	struct store_table loaded[STORE_TABLES];
	struct dates d = {.one = NULL};
	unsigned int n = 0;
	int err = 0;

	for (unsigned int i = 0; i < FILES && !err; i++) {
		const struct tpch_table *t = tpch_tables[i];
		uint64_t rows, bytes = 0;

		if (!path[i])
			continue;
		if (t == &tpch_orders) {
			err = import_orders(path[i], &d);
			rows = d.n;
		} else {
			err = import_columns(path[i], t, t == &tpch_lineitem && d.n ? &d : NULL, s,
					     l->overwrite, &loaded[n], &rows, &bytes);
			n += !err;
		}
		if (!err)
			report_table(out, t->name, rows, bytes);
	}
	dates_free(&d);
	return err ? err : store_publish(s, loaded, n, l->overwrite);
}

static int load_into(const struct load *l, const char *const path[FILES], struct out *out)
{
	uint64_t start = annex_now();
	struct store s;
	int err = store_open(&s, l->range);

	if (err)
		return err;
	out_text(out, "range", "range", l->range);
	err = load_all(l, path, &s, out);
	out_seconds(out, "time_s", "time", (double)(annex_now() - start) / 1e9);
	store_close(&s);
	return err;
}

static const struct cli_option options[] = {
	{"range", 0, "RANGE", 0, OPT_TEXT_OF(struct load, range, uri_ranges),
	 "Memory range for the columns"},
	{"overwrite", 0, NULL, 0, OPT_FLAG(struct load, overwrite), "Replace existing tables"},
	CLI_JSON(struct load, json),
	{0}};

static const char doc[] =
	"Import tables of TPC-H from CSV files into a memory range, for annex query run.\n\n"
	"The first line of a file names its columns and so identifies the table: lineitem, part "
	"(for "
	"q14) or orders (with lineitem, for the queries of SSB, whose lineorder and date are "
	"computed from both). Only columns that queries read are stored. A file is checked before "
	"anything is stored. tpchgen-cli from PyPI makes such files."
	"\vFiles follow RFC 4180. A table is a piece of the range, query/TABLE. l_partkey, "
	"p_partkey\n"
	"and the columns of SSB are 32-bit integers; l_shipdate is in days since 1970-01-01;\n"
	"l_quantity, l_extendedprice and l_discount are hundredths in 64 bits; p_type has 25\n"
	"characters.\n\n"
	"The tables of one command appear atomically. --overwrite needs room for new tables\n"
	"beside the old ones. Of several loads at once the last one remains; without --overwrite\n"
	"the first one remains and the others fail. A load that is killed leaves nothing.\n\n"
	"Examples:\n"
	"  tpchgen-cli csv -s 0.1 --tables=lineitem,part,orders --output-dir=tpch\n"
	"  annex query load --range 'shm:/dev/shm/tpch?size=512M' tpch/*.csv";

int query_load(int argc, char **argv)
{
	static const struct cli_line line = {options,
					     "FILE.csv...",
					     doc,
					     CLI_ARGS(struct load, file, files, FILES),
					     .none = "name CSV files: lineitem.csv, and perhaps "
						     "part.csv and orders.csv",
					     .many = "\"%s\" is one file too many"};
	const char *path[FILES] = {NULL};
	struct load l = {.range = NULL};
	struct out out;
	int err = cli_parse(&line, argc, argv, &l);

	if (!err && !l.range)
		err = err_set(-EINVAL, "name the range, as --range shm:/dev/shm/tpch?size=512M");
	if (!err)
		err = check_apart(&l);
	if (!err)
		err = sort_files(&l, path);
	if (!err && path[0] && !path[2])
		err = err_set(-EINVAL, "%s has the orders of lineitem: name lineitem's file too",
			      path[0]);
	if (err)
		return err;
	out_init(&out, cli_name(), l.json);
	err = load_into(&l, path, &out);
	progress_end();
	return out_close(&out, err);
}
