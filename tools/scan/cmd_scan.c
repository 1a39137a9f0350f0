// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex scan: a query over columns on storage.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <annex/detail/clock.h>
#include "tools/common/cleanup.h"
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "tools/common/error.h"
#include "tools/common/input.h"
#include "tools/common/out.h"
#include "tools/common/progress.h"
#include "table.h"
#include "query.h"

struct scan_opts {
	struct storage_opts store;
	const char *columns, *csv, *where;
	char *sums;
	bool verify, json, on_gpu;
	uint32_t gpu; /* which, with @on_gpu */
};

static char *trim(char *s)
{
	char *end;

	s += strspn(s, " \t");
	for (end = s + strlen(s); end > s && (end[-1] == ' ' || end[-1] == '\t'); end--)
		end[-1] = '\0';
	return s;
}

static int name_columns(struct query *q, struct scan_opts *o)
{
	char *rest = o->sums, *name;
	int err = filter_parse(o->where, &q->filter);

	if (err)
		return err;
	q->col[q->n++].name = q->filter.column;
	while ((name = strsep(&rest, ","))) {
		name = trim(name);
		if (!*name)
			return err_set(-EINVAL, "--sum: a name is missing; write COLUMN,COLUMN");
		if (q->n == QUERY_COLUMNS)
			return err_set(-E2BIG, "--sum: more than %d columns", QUERY_COLUMNS - 1);
		q->col[q->n++].name = name;
	}
	return 0;
}

/* In the fewest digits that distinguish it from other numbers; NaN has no sign. */
static void real_text(double d, char *buf, size_t size)
{
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(buf, size, "%.*g", digits, isnan(d) ? NAN : d);
		if (strtod(buf, NULL) == d)
			break;
	}
}

static void integer_text(__int128 n, char *buf, size_t size)
{
	unsigned __int128 left = n < 0 ? -(unsigned __int128)n : (unsigned __int128)n;
	char digits[40];
	size_t at = sizeof(digits);

	digits[--at] = '\0';
	do {
		digits[--at] = (char)('0' + (int)(left % 10));
		left /= 10;
	} while (left);
	snprintf(buf, size, "%s%s", n < 0 ? "-" : "", digits + at);
}

/* JSON knows neither NaN nor infinity. */
static json_t *real_json(double d)
{
	return isfinite(d) ? json_real(d) : json_null();
}

/* An integer beyond the 64 bits of JSON libraries is a string, which loses no digit. */
static json_t *sum_json(const struct query_column *c, const char *text)
{
	if (!query_exact(c))
		return real_json(c->sum_f);
	if (c->sum_i < INT64_MIN || c->sum_i > INT64_MAX)
		return json_string(text);
	return json_integer((json_int_t)c->sum_i);
}

static void report_sums(const struct query *q, struct out *out)
{
	json_t *sums = json_object();

	for (unsigned int i = 1; i < q->n; i++) {
		const struct query_column *c = &q->col[i];
		double mean = (query_exact(c) ? (double)c->sum_i : c->sum_f) / (double)q->passed;
		char text[48], mean_text[32];
		json_t *one = json_object();

		if (query_exact(c))
			integer_text(c->sum_i, text, sizeof(text));
		else
			real_text(c->sum_f, text, sizeof(text));
		real_text(mean, mean_text, sizeof(mean_text));
		json_object_set_new(one, "sum", sum_json(c, text));
		json_object_set_new(one, "mean", real_json(mean));
		json_object_set_new(sums, c->name, one);
		if (q->passed)
			out_row(out, c->name, "sum %s, mean %s", text, mean_text);
		else
			out_row(out, q->col[i].name, "sum 0, no mean");
	}
	out_json(out, "sums", sums);
}

static void report(const struct query *q, const struct scan_opts *o, struct out *out)
{
	uint64_t whole = 0, needed = 0;

	for (unsigned int i = 0; i < q->n; i++) {
		whole += q->rows * column_size(q->col[i].type);
		needed += (i ? q->passed : q->rows) * column_size(q->col[i].type);
	}
	out_text(out, "where", "where", o->where);
	out_count(out, "rows", "rows", q->rows);
	out_count(out, "passed", "rows that pass", q->passed);
	out_percent(out, "selectivity", "share", (double)q->passed / (double)q->rows);
	report_sums(q, out);
	if (o->on_gpu)
		out_text(out, "gpu", "GPU", q->gpu);
	else
		out_count(out, "threads", "threads", o->store.threads);
	out_bytes(out, "cache_bytes", "cache", q->cache);
	out_bytes(out, "line_bytes", "line", o->store.line);
	out_seconds(out, "time_s", o->on_gpu ? "time of the kernel" : "time", q->seconds);
	out_rate(out, "rows_per_s", "speed", (double)q->rows / q->seconds, " rows");
	out_bytes(out, "bytes_needed", "bytes needed", needed);
	out_bytes(out, "bytes_read", "bytes read", q->read);
	out_bytes(out, "bytes_columns", "bytes of whole columns", whole);
	out_ratio(out, "read_amplification", "read amplification", (double)q->read / (double)needed,
		  "x");
	out_ratio(out, "column_amplification", "that of whole columns",
		  (double)whole / (double)needed, "x");
	if (!o->on_gpu)
		out_count(out, "queue_depth", "queue depth reached", q->depth);
}

static int run_host(struct query *q, const struct scan_opts *o)
{
	struct pool *pool = NULL;
	uint64_t start;
	int err = pool_create(o->store.threads, &pool);

	if (!err)
		err = query_open(q, &o->store);
	start = annex_now();
	if (!err)
		err = query_run(q, &o->store, pool);
	q->seconds = (double)(annex_now() - start) / 1e9;
	for (unsigned int i = 0; i < q->n && !err; i++) {
		struct annex_cache_stats st;

		storage_used(&q->col[i].store, &st);
		q->cache += q->col[i].store.bytes;
		q->read += st.bytes_read;
		q->depth = st.depth_max > q->depth ? st.depth_max : q->depth;
	}
	pool_destroy(pool);
	return err;
}

static int scan_columns(struct query *q, const struct scan_opts *o, const char *dir,
			struct out *out)
{
	int err = query_find(q, dir);

	if (!err)
		err = o->on_gpu ? query_run_gpu(q, &o->store, o->gpu) : run_host(q, o);
	progress_end();
	if (!err)
		report(q, o, out);
	if (!err && o->verify) {
		err = query_verify(q);
		progress_end();
		out_bool(out, "verified", "verified", !err);
	}
	query_close(q);
	return err;
}

static int remove_table(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char *path;

		if (e->d_name[0] == '.' || asprintf(&path, "%s/%s", dir, e->d_name) < 0)
			continue;
		cleanup_remove(path);
		free(path);
	}
	if (d)
		closedir(d);
	return cleanup_remove(dir);
}

/* Here, so that the line names the user's file and not the directory. */
static int check_columns(const struct query *q, const char *csv, const char *dir,
			 const struct csv_summary *sum)
{
	for (unsigned int i = 0; i < q->n; i++) {
		struct table_found found;
		int err = table_find(dir, q->col[i].name, &found);

		free(found.path);
		if (err != -ENOENT && err)
			return err;
		if (!err)
			continue;
		err_clear();
		return err_set(-ENOENT, "%s has no column of numbers \"%s\", but %s%s", csv,
			       q->col[i].name, sum->names,
			       sum->texts ? " (columns of text are left out)" : "");
	}
	return 0;
}

/* The columns go into a directory under TMPDIR, which is removed however the command ends. */
static int scan_csv(struct query *q, const struct scan_opts *o, struct out *out)
{
	const char *tmp = getenv("TMPDIR");
	struct csv_summary sum;
	char *dir, *made;
	int err, left;

	if (asprintf(&dir, "%s/annex-scan.XXXXXX", tmp && *tmp ? tmp : P_tmpdir) < 0)
		return err_set(-ENOMEM, "out of memory");
	cleanup_hold();
	made = mkdtemp(dir);
	err = made ? cleanup_add(dir) : err_sys("cannot make a directory %s: set TMPDIR", dir);
	cleanup_release();
	if (made) {
		if (!err)
			err = csv_import(o->csv, dir, true, &sum);
		progress_end();
		if (!err)
			err = check_columns(q, o->csv, dir, &sum);
		if (!err)
			err = scan_columns(q, o, dir, out);
		left = remove_table(dir);
		err = err ? err : left;
	}
	free(dir);
	return err;
}

static int set_where(void *opts, const char *opt, char *arg)
{
	struct scan_opts *o = opts;

	if (o->where)
		return err_set(-EINVAL, "%s: one condition at a time", opt);
	o->where = arg;
	return 0;
}

static int set_sums(void *opts, const char *opt, char *arg)
{
	struct scan_opts *o = opts;

	if (o->sums)
		return err_set(-EINVAL, "%s: write the columns in one list, with commas", opt);
	o->sums = arg;
	return 0;
}

static int set_gpu(void *opts, const char *opt, char *arg)
{
	struct scan_opts *o = opts;

	o->on_gpu = true;
	return arg ? cli_u32(opt, arg, 0, 1023, &o->gpu) : 0;
}

static bool is_utf8(const char *text)
{
	json_t *value = json_string(text);
	const bool is = value;

	json_decref(value);
	return is;
}

static int check_opts(struct scan_opts *o)
{
	int err = storage_settle(&o->store);

	if (err)
		return err;
	if (o->on_gpu && (o->store.threads_named || o->store.cache_in))
		return err_set(-EINVAL, "--gpu has its threads and its cache on the GPU: leave out "
					"--threads and --cache-in");
	/* Names are keys of the report. */
	if (o->json && o->sums && !is_utf8(o->sums))
		return err_set(-EINVAL, "--sum %s: --json needs names in UTF-8", o->sums);
	if (!o->columns == !o->csv)
		return err_set(-EINVAL, "name the data, by either --columns DIR or --csv FILE");
	if (!o->where)
		return err_set(-EINVAL,
			       "no condition: name the rows, as in --where 'distance>=30'");
	return 0;
}

static const struct cli_option options[] = {
	{"columns", 0, "DIR", 0, OPT_TEXT(struct scan_opts, columns),
	 "A directory of columns: NAME.f64, .f32, .i64, .i32, .u64, .u32, .npy"},
	{"csv", 0, "FILE", 0, OPT_TEXT(struct scan_opts, csv),
	 "A CSV file, converted to columns for this run"},
	{"where", 0, "COND", 0, OPT_CALL(set_where),
	 "Rows to select: COLUMN OP VALUE; OP is >= <= > < == !="},
	{"sum", 0, "COL,...", 0, OPT_CALL(set_sums),
	 "Columns to sum over these rows (none: the rows are counted)"},
	{"gpu", 0, "N", 0, OPT_CALL_OR_NULL(set_gpu),
	 "Compute on GPU N (0), with the cache in its memory; excludes --threads and --cache-in"},
	{"verify", 0, NULL, 0, OPT_FLAG(struct scan_opts, verify),
	 "Compare with the answer of plain reads"},
	CLI_TABLE(struct scan_opts, store, storage_cache_options),
	CLI_JSON(struct scan_opts, json),
	{0}};

static const char doc[] =
	"Sum columns over the rows where another column passes a condition. Of the summed columns "
	"only the lines that hold such rows are read."
	"\vExamples:\n"
	"  annex scan gen --rows 10M -o trips\n"
	"  annex scan --columns trips --where 'distance>=30'\n"
	"  annex scan --columns trips --where 'distance>=30' --sum total,tolls,tax --cache 64M\n"
	"  annex scan --columns trips --where 'distance>=30' --sum total --gpu --cache 8G\n"
	"  annex scan --csv trips.csv --where 'passengers==4' --sum fare --verify";

static const struct cli_command makers[] = {
	{"import", scan_import, "convert a CSV file to columns"},
	{"gen", scan_gen, "make sample columns"},
	{NULL, NULL, NULL}};
static const struct cli_list commands = {.arg = "COMMAND", .commands = makers};

static int scan(int argc, char **argv)
{
	static const struct cli_line line = {
		options, NULL, doc, .list = &commands,
		.many = "no command \"%s\", and no argument: see annex scan --help"};
	struct scan_opts o = {.where = NULL};
	struct query q = {.n = 0};
	struct out out;
	int err = cli_parse(&line, argc, argv, &o);

	if (!err)
		err = check_opts(&o);
	if (!err)
		err = name_columns(&q, &o);
	if (err)
		return err;
	out_init(&out, cli_name(), o.json);
	err = o.csv ? scan_csv(&q, &o, &out) : scan_columns(&q, &o, o.columns, &out);
	return out_close(&out, err);
}

int cmd_scan(int argc, char **argv)
{
	for (const struct cli_command *c = makers; argc > 1 && c->name; c++)
		if (!strcmp(argv[1], c->name))
			return cli_dispatch(makers, "", argc, argv);
	return scan(argc, argv);
}
