// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex query run: answer a query and time its phases, near the data and on the host.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "tools/common/error.h"
#include "tools/common/out.h"
#include "tools/common/progress.h"
#include "tools/common/uri.h"
#include "answer.h"
#include "eval.h"

struct run {
	const char *range, *device, *name;
	struct ask ask;
	uint32_t threads, runs;
	bool json;
};

static void report_conds(struct out *out, const struct eval *e)
{
	static char label[QUESTION_CONDS][32];
	json_t *list = json_array();

	for (unsigned int i = 0; i < e->q->n; i++) {
		const struct cond *c = &e->q->cond[i];
		const struct tpch_column *of = &c->table->column[c->column];
		uint64_t passed = host_count(e->near.bits[i], e->rows[i]);
		uint64_t bytes = e->rows[i] * of->width;
		json_t *one = json_object();

		json_object_set_new(one, "column", json_string(of->name));
		json_object_set_new(one, "condition", json_string(c->text));
		json_object_set_new(one, "rows", json_integer((json_int_t)e->rows[i]));
		json_object_set_new(one, "passed", json_integer((json_int_t)passed));
		json_object_set_new(one, "column_bytes", json_integer((json_int_t)bytes));
		json_object_set_new(one, "near_s", json_real(e->near.cond_s[i]));
		json_object_set_new(one, "host_s", json_real(e->host.cond_s[i]));
		json_array_append_new(list, one);
		snprintf(label[i], sizeof(label[i]), "  %s", of->name);
		out_row(out, label[i], "%s: %llu of %llu rows; near %.3f ms, host %.3f ms", c->text,
			(ull)passed, (ull)e->rows[i], e->near.cond_s[i] * 1e3,
			e->host.cond_s[i] * 1e3);
	}
	out_json(out, "conditions", list);
}

static void report_answer(struct out *out, const struct eval *e, const struct answer *a)
{
	bool units = e->q->sum == SUM_LO_DISCOUNTS;
	char text[ANSWER_TEXT];

	out_count(out, "rows", "rows", e->lines);
	out_count(out, "passed", "rows that pass", a->rows);
	answer_text(a->revenue, units, text);
	out_text(out, "revenue", units ? "revenue (cents x percent)" : "revenue", text);
	if (e->q->sum != SUM_PROMO)
		return;
	answer_text(a->promo, false, text);
	out_text(out, "promo_revenue", "of it, promoted parts", text);
	out_json(out, "promo_share",
		 a->revenue ? json_real((double)a->promo / (double)a->revenue) : NULL);
	if (a->revenue)
		out_row(out, "their share", "%.6f %%", 100 * (double)a->promo / (double)a->revenue);
	else
		out_row(out, "their share", "-");
}

/* Report the evaluation time and rate of one side; keys begin with @side. */
static void report_side(struct out *out, const char *side, const char *label, const struct eval *e,
			const struct eval_side *of, const struct answer *a)
{
	double rate = (double)e->bytes / of->total_s;
	char key[4][32];

	snprintf(key[0], sizeof(key[0]), "%s_evaluate_s", side);
	snprintf(key[1], sizeof(key[1]), "%s_and_s", side);
	snprintf(key[2], sizeof(key[2]), "%s_bytes_per_s", side);
	snprintf(key[3], sizeof(key[3]), "%s_query_s", side);
	out_json(out, key[0], json_real(of->total_s));
	out_json(out, key[1], json_real(of->and_s));
	out_json(out, key[2], json_real(rate));
	out_json(out, key[3], json_real(of->total_s + a->seconds));
	out_row(out, label, "%.3f ms, %.2f GB/s; whole query %.3f ms", of->total_s * 1e3,
		rate / 1e9, (of->total_s + a->seconds) * 1e3);
}

static int report(const struct run *r, const struct eval *e, const struct near *n,
		  const struct answer *a)
{
	struct out out;

	out_init(&out, cli_name(), r->json);
	out_text(&out, "query", "query", e->q->name);
	out_text(&out, "range", "range", r->range);
	out_json(&out, "device", json_string(r->device));
	out_row(&out, "device", "%s, %u units, VLEN %u", r->device, n->info.units, n->info.vlen);
	out_count(&out, "threads", "threads of the host", r->threads);
	report_answer(&out, e, a);
	report_conds(&out, e);
	out_bytes(&out, "scanned_bytes", "swept", e->bytes);
	report_side(&out, "near", "evaluate near data", e, &e->near, a);
	report_side(&out, "host", "evaluate on the host", e, &e->host, a);
	out_seconds(&out, "filter_s", "filter and sum", a->seconds);
	out_count(&out, "runs", "medians of runs", e->runs);
	out_bool(&out, "verified", "bitmaps are the same", true);
	return out_end(&out);
}

static int answer(const struct run *r, const struct question *q, struct store *s)
{
	struct eval e = {.q = NULL};
	struct near n = {.ndp = NULL};
	struct pool *pool = NULL;
	struct answer a;
	int err = eval_open(&e, q, s);

	if (!err)
		err = pool_create(r->threads, &pool);
	if (!err)
		err = near_open(&n, r->device, r->threads, s);
	if (!err)
		err = eval_run(&e, s, &n, pool, r->runs);
	if (!err)
		err = answer_make(&e, s, &a);
	if (!err)
		err = store_check(s);
	progress_end();
	if (!err)
		err = report(r, &e, &n, &a);
	near_close(&n);
	pool_destroy(pool);
	eval_close(&e, s);
	return err;
}

static const struct cli_option options[] = {
	{"range", 0, "RANGE", 0, OPT_TEXT_OF(struct run, range, uri_ranges),
	 "Memory range filled by annex query load"},
	{"device", 0, "DEVICE", 0, OPT_TEXT_OF(struct run, device, near_list),
	 "Near-data processor (local)"},
	{"threads", 't', "N", 0, OPT_U32(struct run, threads, 1, 1024),
	 "Threads of the local device and of the host (one a core)"},
	{"runs", 0, "N", 0, OPT_U32(struct run, runs, 1, 10000),
	 "Number of runs; reports are medians (5)"},
	{"year", 0, "YEAR", 1, OPT_CALL_AT(struct run, ask, ask_parse), "Another year"},
	{"month", 0, "MONTH", 1, OPT_CALL_AT(struct run, ask, ask_parse),
	 "Another month: q14, ssb1.2"},
	{"week", 0, "WEEK", 1, OPT_CALL_AT(struct run, ask, ask_parse), "Another week: ssb1.3"},
	{"discount", 0, "LOW..HIGH", 1, OPT_CALL_AT(struct run, ask, ask_parse),
	 "Other discounts, in percent"},
	{"quantity", 0, "LOW..HIGH", 1, OPT_CALL_AT(struct run, ask, ask_parse),
	 "Other quantities; one number N: all below N"},
	CLI_JSON(struct run, json),
	{0}};

static const char doc[] =
	"Answer a query of TPC-H or of the Star Schema Benchmark. Kernels of a near-data processor "
	"sweep the columns in place and write bitmaps of the rows that pass. The host does the "
	"same "
	"again, to compare results and times, and sums the rows that pass."
	"\vExamples:\n"
	"  annex query run --range shm:/dev/shm/tpch q6\n"
	"  annex query run --range shm:/dev/shm/tpch q6 --year 1995 --discount 2..4 --quantity 25\n"
	"  annex query run --range shm:/dev/shm/tpch --device ndp:/run/annex-ndp.sock ssb1.3";

int query_ask(int argc, char **argv)
{
	static const struct cli_line line = {options,
					     "QUERY",
					     doc,
					     CLI_ARG(struct run, name),
					     .list = &question_list,
					     .many = "\"%s\" is one query too many"};
	struct run r = {.device = NEAR_LOCAL, .threads = pool_default_threads(), .runs = 5};
	char names[CLI_SUMMARY];
	struct question q;
	struct store s;
	int err = cli_parse(&line, argc, argv, &r);

	if (!err && !r.range)
		err = err_set(-EINVAL, "name the range, as --range shm:/dev/shm/tpch");
	if (!err && !r.name)
		err = err_set(-EINVAL, "name a query: one of %s",
			      cli_names(&question_list, names, sizeof(names)));
	if (!err)
		err = question_make(r.name, &r.ask, &q);
	if (!err)
		err = store_open(&s, r.range);
	if (err)
		return err;
	err = answer(&r, &q, &s);
	store_close(&s);
	return err;
}
