// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex train: a small GPT learns a text, with less memory than it takes.
 */
#include <errno.h>
#include <stdio.h>
#include <annex/uri.h>
#include "../cli.h"
#include "../commands.h"
#include "../error.h"
#include "../newfile.h"
#include "../plan/gnuplot.h"
#include "../same.h"
#include "../target.h"
#include "../uri.h"
#include "text.h"
#include "train.h"

#define LEAST_DEVICE (1ull << 20)
#define LEAST_RATE (1ull << 20)

static int check_opts(const struct train_opts *o)
{
	bool below = o->n_stores || o->host;

	if (!o->device && (below || o->policy || o->link_rate || o->checksum))
		return err_set(-EINVAL,
			       "%s is about what does not fit: say how much does, with "
			       "--device-memory",
			       o->n_stores    ? "--storage"
			       : o->host      ? "--host"
			       : o->policy    ? "--policy"
			       : o->link_rate ? "--rate"
					      : "--checksum");
	if (o->plain && (o->device || o->pages || o->plot))
		return err_set(-EINVAL, "--plain has no tiers: leave %s out",
			       o->device  ? "--device-memory"
			       : o->pages ? "--pages"
					  : "--plot");
	if (o->device && !below)
		return err_set(-EINVAL, "--device-memory: where does the rest go? Give --storage "
					"or --host");
	if (o->json && newfile_stdout(o->plot))
		return err_set(-EINVAL, "--json is about the report, which has no place: the plot "
					"is on standard output");
	if (newfile_stdout(o->pages))
		return err_set(-EINVAL, "--pages: the report is on standard output");
	return 0;
}

static int add_store(void *opts, const char *opt, char *uri)
{
	struct train_opts *o = opts;

	if (o->n_stores == ANNEX_MAX_SSDS)
		return err_set(-E2BIG, "%s: more than %d", opt, ANNEX_MAX_SSDS);
	o->stores[o->n_stores++] = uri;
	return 0;
}

static int set_policy(void *opts, const char *opt, char *arg)
{
	static const char *const policies[] = {"none", "uvm", "g10", "annex", NULL};
	struct train_opts *o = opts;
	int policy;

	o->policy = arg;
	return cli_choice(opt, arg, policies, &policy);
}

static const struct cli_option options[] = {
	{"text", 0, "FILE", 1, OPT_TEXT(struct train_opts, text),
	 "What to learn; of a directory, all its files (" TEXT_DEFAULT ")"},
	{"layers", 0, "N", 2, OPT_U32(struct train_opts, shape.layers, 1, 1000), "Layers (4)"},
	{"width", 0, "N", 2, OPT_U32(struct train_opts, shape.width, 1, 65536),
	 "Numbers for each byte, between layers (256)"},
	{"heads", 0, "N", 2, OPT_U32(struct train_opts, shape.heads, 1, 1024),
	 "Heads of attention, of which the width is a multiple (4)"},
	{"context", 0, "N", 2, OPT_U32(struct train_opts, shape.context, 1, 16384),
	 "Bytes of a sequence (128)"},
	{"batch", 0, "N", 2, OPT_U32(struct train_opts, shape.batch, 1, 65536),
	 "Sequences of an iteration (16)"},
	{"steps", 0, "N", 2, OPT_U32(struct train_opts, steps, 1, 1000000), "Iterations (50)"},
	{"learning-rate", 0, "X", 2, OPT_DOUBLE(struct train_opts, rate, 1e-6, 1),
	 "AdamW's, at its highest (0.001)"},
	{"seed", 0, "N", 2, OPT_SIZE(struct train_opts, seed, 0, UINT64_MAX),
	 "Of first weights, and of the order of the text (1)"},
	{"threads", 't', "N", 2, OPT_U32(struct train_opts, threads, 1, 1024),
	 "Threads that compute (one a core)"},
	{"device-memory", 0, "SIZE", 3,
	 OPT_SIZE(struct train_opts, device, LEAST_DEVICE, 1ull << 42),
	 "The device tier, in which kernels run (as much as all tensors want)"},
	{"plain", 0, NULL, 3, OPT_FLAG(struct train_opts, plain),
	 "All tensors in memory of malloc(), with nothing of Annex: to compare with"},
	{"host", 0, "SIZE", 3, OPT_SIZE(struct train_opts, host, 0, 1ull << 42),
	 "A tier of host memory below it (none)"},
	{"storage", 0, "DEVICE", 3, OPT_CALL_OF(add_store, uri_devices),
	 "A tier of storage below that, as file:PATH?size=4G. May be repeated; a file that it "
	 "makes "
	 "is removed in the end, one with data needs --overwrite"},
	{"policy", 0, "none|uvm|g10|annex", 3, OPT_CALL(set_policy),
	 "Who says what moves when, from the second iteration on (annex)"},
	{"rate", 0, "SIZE", 3, OPT_SIZE(struct train_opts, link_rate, LEAST_RATE, 1ull << 42),
	 "Bytes a second each way that each link is held back to (no limit)"},
	{"checksum", 0, NULL, 3, OPT_FLAG(struct train_opts, checksum),
	 "Compare what returns with what has left, and stop where it is another"},
	{"plot", 0, "FILE.svg", 4, OPT_TEXT(struct train_opts, plot),
	 "Draw the loss and the memory of each tier (-: to standard output, and no report)"},
	{"pages", 0, "FILE.csv", 4, OPT_TEXT(struct train_opts, pages),
	 "Write, in the end, in which tier each page of each tensor is, and where there"},
	{"overwrite", 0, NULL, 4, OPT_FLAG(struct train_opts, overwrite),
	 "The files may be there already, and what --storage holds may go"},
	CLI_JSON(struct train_opts, json),
	{0}};

static const char doc[] =
	"Train a small GPT on the bytes of a text: forward, backward and AdamW, in single "
	"precision. All its tensors are in a space of tiers. With --device-memory there is room "
	"for that much of them where kernels run; a plan, made of the first iterations, says when "
	"the others leave for the tiers below and when they return. The same seed gives the same "
	"losses, bit for bit, whatever the memory."
	"\vExamples:\n"
	"  annex train\n"
	"  annex train --text book.txt --layers 6 --width 384 --heads 6 --steps 500\n"
	"  annex train --device-memory 32M --storage 'file:/data/scratch?size=1G'\n"
	"  annex train --device-memory 32M --host 1G --policy g10 --plot train.svg";

/* The text, the plots and the tensors' stores must be different files. */
static int check_apart(const struct train_opts *o)
{
	const char *const file[] = {o->text, o->plot, o->pages};
	char uri[ANNEX_URI_MAX];
	int err = same_apart(o->stores, o->n_stores);

	for (unsigned int i = 0; i < sizeof(file) / sizeof(file[0]) && !err; i++) {
		err = file[i] ? path_uri(uri, "file", file[i], "") : 0;
		for (unsigned int k = 0; k < o->n_stores && file[i] && !err; k++)
			if (same_storage(o->stores[k], uri))
				err = err_set(-EINVAL, "--storage %s would overwrite %s",
					      o->stores[k], file[i]);
	}
	if (!err && o->pages && o->plot && same_file(o->pages, o->plot))
		err = err_set(-EINVAL, "--pages and --plot are the same file");
	return err;
}

static int train(const struct train_opts *o)
{
	struct train t;
	int err = shape_check(&o->shape);

	if (!err && o->plot)
		err = gnuplot_check(o->plot, o->overwrite);
	if (!err && o->plot)
		err = same_spares(o->plot, o->text);
	if (!err && o->pages)
		err = newfile_check(o->pages, o->overwrite);
	if (!err && o->pages)
		err = same_spares(o->pages, o->text);
	if (!err)
		err = check_apart(o);
	for (unsigned int i = 0; i < o->n_stores && !err; i++)
		err = target_look(o->stores[i], o->overwrite);
	if (!err)
		err = train_run(&t, o);
	if (err && err != -EDOM)
		return err;
	if (!err && o->plot)
		err = train_plot(&t);
	if (!newfile_stdout(o->plot) && (!err || err == -EDOM)) {
		int printed = train_report(&t);

		err = err ? err : printed;
	}
	train_free(&t);
	return err ? err : t.left;
}

int cmd_train(int argc, char **argv)
{
	static const struct cli_line line = {options, "", doc,
					     .many = "no argument: \"%s\"; a text is --text FILE"};
	struct train_opts o = {
		.shape = {.layers = 4, .width = 256, .heads = 4, .context = 128, .batch = 16},
		.text = TEXT_DEFAULT,
		.steps = 50,
		.seed = 1,
		.rate = 0.001,
		.threads = pool_default_threads(),
	};
	int err = cli_parse(&line, argc, argv, &o);

	if (!err)
		err = check_opts(&o);
	if (err)
		return err;
	if (!o.policy)
		o.policy = o.device ? "annex" : "none";
	return train(&o);
}
