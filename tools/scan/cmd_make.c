// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex scan import and gen.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <annex/detail/random.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "tools/common/error.h"
#include "tools/common/input.h"
#include "tools/common/out.h"
#include "tools/common/newfile.h"
#include "tools/common/progress.h"
#include "table.h"

struct make_opts {
	const char *input, *output;
	uint64_t rows, seed;
	double selectivity;
	bool json;
};

static int check_output(const struct make_opts *o)
{
	return o->output ? 0 : err_set(-EINVAL, "no output: name the directory with -o DIR");
}

static const struct cli_option import_options[] = {{"output", 'o', "DIR", 0,
						    OPT_TEXT(struct make_opts, output),
						    "Directory of columns to create"},
						   CLI_JSON(struct make_opts, json),
						   {0}};

static const char import_doc[] =
	"Convert a CSV file into a directory of columns, one file each.\n\n"
	"The first line names the columns. Integers become NAME.i64, other numbers NAME.f64 with "
	"NaN where a field is empty; columns of text are left out. The file rows holds the number "
	"of rows."
	"\vExample:\n"
	"  annex scan import trips.csv -o trips";

int scan_import(int argc, char **argv)
{
	static const struct cli_line line = {import_options, "FILE.csv", import_doc,
					     CLI_ARG(struct make_opts, input),
					     .none = "no input: name a CSV file"};
	struct make_opts o = {0};
	struct csv_summary sum;
	struct out out;
	int err = cli_parse(&line, argc, argv, &o);

	if (!err)
		err = check_output(&o);
	if (err)
		return err;
	err = csv_import(o.input, o.output, false, &sum);
	progress_end();
	if (err)
		return err;
	out_init(&out, cli_name(), o.json);
	out_text(&out, "directory", "directory", o.output);
	out_count(&out, "rows", "rows", sum.rows);
	out_count(&out, "columns", "columns", sum.columns);
	out_count(&out, "texts", "columns of text left out", sum.texts);
	return out_end(&out);
}

#define FAR 30.0 /* miles; the filter of the taxi queries in BaM section 5.3 */

static int fill(struct table_writer *t, const struct make_opts *o)
{
	static const char *const columns[] = {"distance", "total", "surcharge",
					      "fee",      "tolls", "tax"};
	static const double most[] = {0, 100, 5, 3, 20, 10};
	unsigned int n = sizeof(columns) / sizeof(columns[0]);
	uint64_t state = o->seed;
	int err = newfile_room(o->output, n * ((o->rows * 8 + 4095) / 4096 * 4096));

	if (!err)
		err = table_create(t, o->output, false);
	for (unsigned int i = 0; i < n && !err; i++)
		err = table_add(t, columns[i], COLUMN_F64);
	for (t->rows = 0; t->rows < o->rows && !err; t->rows++) {
		bool far = annex_random_unit(&state) < o->selectivity;
		double v = annex_random_unit(&state) * FAR + (far ? FAR : 0);

		err = column_put(&t->file[0], &v, sizeof(v));
		for (unsigned int i = 1; i < n && !err; i++) {
			v = annex_random_unit(&state) * most[i];
			err = column_put(&t->file[i], &v, sizeof(v));
		}
		if (t->rows % 16384 == 0)
			progress_update(t->rows, o->rows, "rows");
	}
	return err;
}

static const struct cli_option gen_options[] = {
	{"output", 'o', "DIR", 0, OPT_TEXT(struct make_opts, output),
	 "Directory of columns to create"},
	{"rows", 0, "N", 0, OPT_SIZE(struct make_opts, rows, 1, 1ull << 40), "Rows (1M)"},
	{"selectivity", 0, "P", 0, OPT_DOUBLE(struct make_opts, selectivity, 0, 1),
	 "Share of rows with distance >= 30, 0 to 1 (0.001)"},
	{"seed", 0, "N", 0, OPT_SIZE(struct make_opts, seed, 0, UINT64_MAX), "Other rows (1)"},
	CLI_JSON(struct make_opts, json),
	{0}};

static const char gen_doc[] = "Make a table shaped like taxi trips: distance, total, surcharge, "
			      "fee, tolls, tax (f64)."
			      "\vExample:\n"
			      "  annex scan gen --rows 10M --selectivity 0.0003 -o trips";

int scan_gen(int argc, char **argv)
{
	static const struct cli_line line = {gen_options, NULL, gen_doc,
					     .many = "\"%s\" is one argument too many"};
	struct make_opts o = {.rows = 1u << 20, .seed = 1, .selectivity = 0.001};
	struct table_writer *t;
	struct out out;
	int err = cli_parse(&line, argc, argv, &o);

	if (!err)
		err = check_output(&o);
	if (err)
		return err;
	t = calloc(1, sizeof(*t));
	if (!t)
		return err_set(-ENOMEM, "out of memory");
	progress_begin("generating");
	err = table_close(t, fill(t, &o));
	free(t);
	progress_end();
	if (err)
		return err;
	out_init(&out, cli_name(), o.json);
	out_text(&out, "directory", "directory", o.output);
	out_count(&out, "rows", "rows", o.rows);
	return out_end(&out);
}
