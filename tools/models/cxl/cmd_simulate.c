// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex cxl simulate: time programs on models of CXL-GPU's and SkyByte's machines.
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
	const char *words[MAX_WORDS]; /* --sweep and the words after it */
	unsigned int n_words;
	const char *show, *plot;
	uint32_t jobs;
	bool overwrite, json;
};

static const char *work_at(unsigned int i, char *summary)
{
	if (i < 2) {
		strcpy(summary, i ? "all workloads of SkyByte" : "all workloads of CXL-GPU");
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

/* --sweep link=20,125 threads=8,16 has several words. */
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
		err = err_set(-EINVAL, "--json: the plot is on standard output, so there is no "
				       "report");
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

/* An option of boards. */
#define BOARD(name, value, text)                                                                   \
	{                                                                                          \
		name, 0, value, 2, OPT_CALL(parse_board), text                                     \
	}

static const struct cli_option options[] = {
	{"config", 0, "CONFIG,...", 1, OPT_CALL_OF(parse_configs, config_list),
	 "Configurations (all)"},
	{"show", 0, "QUANTITY", 1, OPT_TEXT_OF(struct cxl_opts, show, quantity_list),
	 "Quantity to show in the table and the plot (speed)"},
	{"sweep", 0, "KEY=V,...", 1, OPT_CALL_OF(add_word, key_list),
	 "Run every combination of these values; a key is an option of boards, without --"},
	{"plot", 0, "FILE.svg", 1, OPT_TEXT(struct cxl_opts, plot),
	 "Plot bars, or lines over the first key of --sweep (-: to standard output, no report)"},
	{"overwrite", 0, NULL, 1, OPT_FLAG(struct cxl_opts, overwrite),
	 "Overwrite an existing plot"},
	{"jobs", 0, "N", 1, OPT_U32(struct cxl_opts, jobs, 1, 1024), "Runs at a time (one a core)"},
	{NULL, 0, NULL, 2, {0}, "Boards (defaults of CXL-GPU's, SkyByte's):"},
	BOARD("media", "MEDIA",
	      "Flash of the endpoint: optane, znand, ull, slc, nand, or a file with a / in its "
	      "name; "
	      "dram: DRAM in CXL-GPU's endpoint (znand, ull)"),
	BOARD("media-percent", "N", "Scale of the flash's times, in percent (100)"),
	BOARD("ssd-dram", "SIZE", "DRAM of the endpoint (128K, 32M)"),
	BOARD("unit", "BYTES", "Unit of the cache in that DRAM (128, 4096)"),
	BOARD("log", "SIZE", "Write log in that DRAM (4M)"),
	BOARD("link", "NS", "Latency of the link, one way (20)"),
	BOARD("link-rate", "RATE", "Rate of the link, each way (31.5G)"),
	BOARD("runtime", "US", "Time of the host's runtime for a page fault, in uvm and gds (500)"),
	BOARD("share", "N", "Data divided by local memory, in uvm and gds (10)"),
	BOARD("reserve", "SIZE", "GPU memory for waiting stores, in ds (1664K)"),
	BOARD("instruction", "PS", "Time of an instruction (5000, 250)"),
	BOARD("threads", "N", "Threads, on 8 cores (64, 8; 24 with switches of threads)"),
	BOARD("threshold", "US", "Longest announced wait without a switch of threads (2)"),
	BOARD("switch", "US", "Time of a switch of threads (1)"),
	BOARD("policy", "POLICY",
	      "Next thread on a core: round-robin, random, fairness (round-robin)"),
	BOARD("host", "SIZE", "Host memory for hot pages (128M)"),
	BOARD("hot", "N", "Accesses that make a page hot (7)"),
	BOARD("migration", "RATE", "Rate of moving hot pages (4G)"),
	BOARD("scale", "N", "Size of the programs (1)"),
	BOARD("seed", "N", "Seed of their input (1)"),
	CLI_JSON(struct cxl_opts, json),
	{0}};

static const char doc[] =
	"Run programs on simulated machines whose memory is a CXL-SSD, and report their times. The "
	"programs compute real results, which are checked, and every line loaded from memory is "
	"compared with the stored data. Times are virtual, and the same in every run."
	"\vSizes: K, M, G are powers of 1024 bytes. Rates: powers of 1000 bytes a second.\n"
	"An option of boards affects only configurations that have the part.\n\n"
	"Examples:\n"
	"  annex cxl simulate cxl-gpu --show slowdown\n"
	"  annex cxl simulate vadd --config dram,cxl,ds --sweep media=znand,nand\n"
	"  annex cxl simulate skybyte --plot speed.svg\n"
	"  annex cxl simulate srad --config full --sweep threshold=2,80 --show time";

static int simulate_command(int argc, char **argv)
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

int cmd_cxl(int argc, char **argv)
{
	static const struct cli_command commands[] = {
		{"simulate", simulate_command, "run programs on simulated CXL memory"},
		{NULL, NULL, NULL}};

	return cli_dispatch(commands, "CXL memory made of flash, and hosts that use it.", argc,
			    argv);
}
