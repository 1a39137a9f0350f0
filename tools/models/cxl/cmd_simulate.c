// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex cxl simulate: how long programs take on CXL-GPU's and SkyByte's hosts and endpoints.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/common/commands.h"
#include "tools/common/error.h"
#include "tools/common/out.h"
#include "tools/plan/gnuplot.h"
#include "tools/common/pool.h"
#include "matrix.h"

#define MAX_WORDS 64

struct cxl_opts {
	struct matrix matrix;
	const char *words[MAX_WORDS]; /* of --sweep, and those that follow it */
	unsigned int n_words;
	const char *show, *plot;
	uint32_t jobs;
	bool overwrite, json;
};

static const char *work_at(unsigned int i, char *summary)
{
	if (i < 2) {
		strcpy(summary, i ? "all of SkyByte's" : "all of CXL-GPU's");
		return i ? "skybyte" : "cxl-gpu";
	}
	if (!work_kinds[i - 2])
		return NULL;
	snprintf(summary, CLI_SUMMARY, "%s", work_kinds[i - 2]->summary);
	return work_kinds[i - 2]->name;
}

static const char *config_at(unsigned int i, char *summary)
{
	if (configs[i].name)
		snprintf(summary, CLI_SUMMARY, "%s", configs[i].summary);
	return configs[i].name;
}

static const char *quantity_at(unsigned int i, char *summary)
{
	if (matrix_quantities[i].name)
		snprintf(summary, CLI_SUMMARY, "%s", matrix_quantities[i].summary);
	return matrix_quantities[i].name;
}

static const char *key_at(unsigned int i, char *summary)
{
	static char key[24];

	*summary = '\0';
	if (!board_name(i))
		return NULL;
	snprintf(key, sizeof(key), "%s=", board_name(i));
	return key;
}

static const struct cli_list work_list = {.arg = "WORKLOAD", .at = work_at};
static const struct cli_list config_list = {.arg = "CONFIG", .at = config_at};
static const struct cli_list quantity_list = {.arg = "QUANTITY", .at = quantity_at};
static const struct cli_list key_list = {.arg = "KEY", .at = key_at};

static int add_word(void *opts, const char *opt, char *arg)
{
	struct cxl_opts *o = opts;

	if (o->n_words == MAX_WORDS)
		return err_set(-E2BIG, "%s: too many words", opt);
	o->words[o->n_words++] = arg;
	return 0;
}

/* The shell makes several words of --sweep link=20,125 threads=8,16. */
static int parse_word(void *opts, char *arg)
{
	struct cxl_opts *o = opts;

	if (o->n_words && strchr(arg, '='))
		return add_word(o, "--sweep", arg);
	return matrix_work(&o->matrix, arg);
}

static int parse_configs(void *opts, const char *opt, char *arg)
{
	(void)opt;
	return matrix_configs(&((struct cxl_opts *)opts)->matrix, arg);
}

static int parse_board(void *opts, const char *opt, char *arg)
{
	return matrix_option(&((struct cxl_opts *)opts)->matrix, opt + strlen("--"), arg);
}

static const struct matrix_quantity *find_quantity(const char *name)
{
	for (const struct matrix_quantity *q = matrix_quantities; q->name; q++)
		if (!strcmp(q->name, name))
			return q;
	err_set(-EINVAL, "--show %s: see annex cxl simulate --help", name);
	return NULL;
}

static int plot(const struct cxl_opts *o, const struct matrix_quantity *q)
{
	struct newfile svg;
	int err = newfile_open(&svg, o->plot, o->overwrite);

	if (!err)
		err = matrix_plot(&o->matrix, q, &svg);
	return newfile_close(&svg, 1, err);
}

static int report(const struct cxl_opts *o, const struct matrix_quantity *q)
{
	struct out out;

	if (newfile_stdout(o->plot))
		return 0;
	if (!o->json)
		return matrix_table(&o->matrix, q);
	out_init(&out, "annex cxl simulate", true);
	out_json(&out, "runs", matrix_json(&o->matrix));
	return out_end(&out);
}

static int simulate(struct cxl_opts *o)
{
	const struct matrix_quantity *q = find_quantity(o->show);
	int err = q ? 0 : -EINVAL;

	for (unsigned int i = 0; i < o->n_words && !err; i++)
		err = matrix_sweep(&o->matrix, o->words[i]);
	if (!err && o->json && newfile_stdout(o->plot))
		err = err_set(-EINVAL, "--json is about the report, which has no place: the plot "
				       "is on standard output");
	if (!err)
		err = matrix_make(&o->matrix);
	if (!err && (o->plot || !o->json))
		err = matrix_can_show(&o->matrix, q);
	if (!err && o->plot)
		err = gnuplot_check(o->plot, o->overwrite);
	if (!err)
		err = matrix_run(&o->matrix, o->jobs ? o->jobs : pool_default_threads());
	if (!err && o->plot)
		err = plot(o, q);
	return err ? err : report(o, q);
}

static const struct cli_option options[] = {
	{"config", 0, "CONFIG,...", 1, OPT_CALL_OF(parse_configs, config_list),
	 "Configurations (all)"},
	{"show", 0, "QUANTITY", 1, OPT_TEXT_OF(struct cxl_opts, show, quantity_list),
	 "What the table and the plot show (speed)"},
	{"sweep", 0, "KEY=V,...", 1, OPT_CALL_OF(add_word, key_list),
	 "Run every combination of these values; a key is an option of boards, without --"},
	{"plot", 0, "FILE.svg", 1, OPT_TEXT(struct cxl_opts, plot),
	 "Draw it: bars, or over the first key of --sweep (-: to standard output, and no report)"},
	{"overwrite", 0, NULL, 1, OPT_FLAG(struct cxl_opts, overwrite),
	 "The plot may be there already"},
	{"jobs", 0, "N", 1, OPT_U32(struct cxl_opts, jobs, 1, 1024), "Runs at a time (one a core)"},
	{NULL, 0, NULL, 2, {0}, "Boards (defaults of CXL-GPU's, SkyByte's):"},
	{"media", 0, "MEDIA", 2, OPT_CALL(parse_board),
	 "Flash of the endpoint: optane, znand, ull, slc, nand, or a file with a / in its name; "
	 "dram: CXL-GPU's endpoint is made of DRAM (znand, ull)"},
	{"media-percent", 0, "N", 2, OPT_CALL(parse_board),
	 "Times of the flash, in percent of its own (100)"},
	{"ssd-dram", 0, "SIZE", 2, OPT_CALL(parse_board), "DRAM of the endpoint (128K, 32M)"},
	{"unit", 0, "BYTES", 2, OPT_CALL(parse_board),
	 "Unit of the cache in that DRAM (128, 4096)"},
	{"log", 0, "SIZE", 2, OPT_CALL(parse_board), "Write log in that DRAM (4M)"},
	{"link", 0, "NS", 2, OPT_CALL(parse_board), "Latency of the link, one way (20)"},
	{"link-rate", 0, "RATE", 2, OPT_CALL(parse_board), "Rate of the link, each way (31.5G)"},
	{"runtime", 0, "US", 2, OPT_CALL(parse_board),
	 "The host's runtime for a page fault, of uvm and gds (500)"},
	{"share", 0, "N", 2, OPT_CALL(parse_board),
	 "Data divided by local memory, of uvm and gds (10)"},
	{"reserve", 0, "SIZE", 2, OPT_CALL(parse_board),
	 "GPU memory for stores that wait, of ds (1664K)"},
	{"instruction", 0, "PS", 2, OPT_CALL(parse_board), "Time of an instruction (5000, 250)"},
	{"threads", 0, "N", 2, OPT_CALL(parse_board),
	 "Threads, on 8 cores (64, 8; 24 with switches of threads)"},
	{"threshold", 0, "US", 2, OPT_CALL(parse_board),
	 "A longer wait, as the endpoint announces it, gives up the core (2)"},
	{"switch", 0, "US", 2, OPT_CALL(parse_board), "Time of a switch of threads (1)"},
	{"policy", 0, "POLICY", 2, OPT_CALL(parse_board),
	 "The thread that gets the core: round-robin, random, fairness (round-robin)"},
	{"host", 0, "SIZE", 2, OPT_CALL(parse_board), "Host memory for hot pages (128M)"},
	{"hot", 0, "N", 2, OPT_CALL(parse_board), "Accesses that make a page hot (7)"},
	{"migration", 0, "RATE", 2, OPT_CALL(parse_board), "Rate of moving hot pages (4G)"},
	{"scale", 0, "N", 2, OPT_CALL(parse_board), "Size of the programs (1)"},
	{"seed", 0, "N", 2, OPT_CALL(parse_board), "Seed of their input (1)"},
	CLI_JSON(struct cxl_opts, json),
	{0}};

static const char doc[] =
	"Run programs on simulated machines whose memory is a CXL-SSD, and report how long they "
	"take. The programs compute for real, their results are checked, and every line that comes "
	"from memory is compared with what was stored. Times are virtual, and the same in every "
	"run."
	"\vSizes: K, M, G are powers of 1024 bytes. Rates: powers of 1000 bytes a second.\n"
	"An option of boards changes those configurations only that have its part.\n\n"
	"Examples:\n"
	"  annex cxl simulate cxl-gpu --show slowdown\n"
	"  annex cxl simulate vadd --config dram,cxl,ds --sweep media=znand,nand\n"
	"  annex cxl simulate skybyte --plot speed.svg\n"
	"  annex cxl simulate srad --config full --sweep threshold=2,80 --show time";

int cxl_simulate(int argc, char **argv)
{
	static const struct cli_line line = {options, "[WORKLOAD...]", doc, .list = &work_list,
					     .take = parse_word};
	struct cxl_opts *o = calloc(1, sizeof(*o));
	int err;

	if (!o)
		return err_set(-ENOMEM, "out of memory");
	o->show = matrix_quantities[0].name;
	err = cli_parse(&line, argc, argv, o);
	if (!err)
		err = simulate(o);
	matrix_free(&o->matrix);
	free(o);
	return err;
}
