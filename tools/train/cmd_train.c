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
#include "../uri.h"
#include "text.h"
#include "train.h"

enum {
	OPT_TEXT = 256,
	OPT_LAYERS,
	OPT_WIDTH,
	OPT_HEADS,
	OPT_CONTEXT,
	OPT_BATCH,
	OPT_STEPS,
	OPT_SEED,
	OPT_LEARNING_RATE,
	OPT_DEVICE,
	OPT_HOST,
	OPT_STORAGE,
	OPT_POLICY,
	OPT_RATE,
	OPT_CHECKSUM,
	OPT_PLOT,
	OPT_PAGES,
	OPT_OVERWRITE
};

#define LEAST_DEVICE (1ull << 20)
#define LEAST_RATE (1ull << 20)

static error_t check_opts(const struct train_opts *o)
{
	bool below = o->n_stores || o->host;

	if (!o->device && (below || o->policy || o->link_rate || o->checksum))
		return -err_set(-EINVAL,
				"%s is about what does not fit: say how much does, with "
				"--device-memory",
				o->n_stores    ? "--storage"
				: o->host      ? "--host"
				: o->policy    ? "--policy"
				: o->link_rate ? "--rate"
					       : "--checksum");
	if (o->device && !below)
		return -err_set(-EINVAL, "--device-memory: where does the rest go? Give --storage "
					 "or --host");
	if (o->json && newfile_stdout(o->plot))
		return -err_set(-EINVAL, "--json is about the report, which has no place: the plot "
					 "is on standard output");
	if (newfile_stdout(o->pages))
		return -err_set(-EINVAL, "--pages: the report is on standard output");
	return 0;
}

static error_t add_store(struct train_opts *o, const char *uri)
{
	if (o->n_stores == ANNEX_MAX_SSDS)
		return -err_set(-E2BIG, "--storage: more than %d", ANNEX_MAX_SSDS);
	o->stores[o->n_stores++] = uri;
	return 0;
}

static error_t parse_shape(int key, const char *arg, struct train_opts *o)
{
	struct shape *s = &o->shape;

	switch (key) {
	case OPT_LAYERS:
		return -cli_u32("--layers", arg, 1, 1000, &s->layers);
	case OPT_WIDTH:
		return -cli_u32("--width", arg, 1, 65536, &s->width);
	case OPT_HEADS:
		return -cli_u32("--heads", arg, 1, 1024, &s->heads);
	case OPT_CONTEXT:
		return -cli_u32("--context", arg, 1, 16384, &s->context);
	case OPT_BATCH:
		return -cli_u32("--batch", arg, 1, 65536, &s->batch);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_memory(int key, char *arg, struct train_opts *o)
{
	static const char *const policies[] = {"none", "uvm", "g10", "annex", NULL};
	int policy = 0, err;

	switch (key) {
	case OPT_DEVICE:
		return -cli_size("--device-memory", arg, LEAST_DEVICE, 1ull << 42, &o->device);
	case OPT_HOST:
		return -cli_size("--host", arg, 0, 1ull << 42, &o->host);
	case OPT_STORAGE:
		return add_store(o, arg);
	case OPT_POLICY:
		err = cli_choice("--policy", arg, policies, &policy);
		o->policy = policies[policy];
		return -err;
	case OPT_RATE:
		return -cli_size("--rate", arg, LEAST_RATE, 1ull << 42, &o->link_rate);
	case OPT_CHECKSUM:
		o->checksum = true;
		return 0;
	default:
		return parse_shape(key, arg, o);
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct train_opts *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->json;
		return 0;
	case OPT_TEXT:
		o->text = arg;
		return 0;
	case OPT_STEPS:
		return -cli_u32("--steps", arg, 1, 1000000, &o->steps);
	case OPT_SEED:
		return -cli_size("--seed", arg, 0, UINT64_MAX, &o->seed);
	case OPT_LEARNING_RATE:
		return -cli_double("--learning-rate", arg, 1e-6, 1, &o->rate);
	case 't':
		return -cli_u32("--threads", arg, 1, 1024, &o->threads);
	case OPT_PLOT:
		o->plot = arg;
		return 0;
	case OPT_PAGES:
		o->pages = arg;
		return 0;
	case OPT_OVERWRITE:
		o->overwrite = true;
		return 0;
	case ARGP_KEY_ARG:
		return -err_set(-EINVAL, "no argument: \"%s\"; a text is --text FILE", arg);
	case ARGP_KEY_END:
		return check_opts(o);
	default:
		return parse_memory(key, arg, o);
	}
}

static const struct argp_option options[] = {
	{"text", OPT_TEXT, "FILE", 0,
	 "What to learn; of a directory, all its files (" TEXT_DEFAULT ")", 1},
	{"layers", OPT_LAYERS, "N", 0, "Layers (4)", 2},
	{"width", OPT_WIDTH, "N", 0, "Numbers for each byte, between layers (256)", 2},
	{"heads", OPT_HEADS, "N", 0, "Heads of attention, of which the width is a multiple (4)", 2},
	{"context", OPT_CONTEXT, "N", 0, "Bytes of a sequence (128)", 2},
	{"batch", OPT_BATCH, "N", 0, "Sequences of an iteration (16)", 2},
	{"steps", OPT_STEPS, "N", 0, "Iterations (50)", 2},
	{"learning-rate", OPT_LEARNING_RATE, "X", 0, "AdamW's, at its highest (0.001)", 2},
	{"seed", OPT_SEED, "N", 0, "Of first weights, and of the order of the text (1)", 2},
	{"threads", 't', "N", 0, "Threads that compute (one a core)", 2},
	{"device-memory", OPT_DEVICE, "SIZE", 0,
	 "The device tier, in which kernels run (as much as all tensors want)", 3},
	{"host", OPT_HOST, "SIZE", 0, "A tier of host memory below it (none)", 3},
	{"storage", OPT_STORAGE, "URI", 0,
	 "A tier of storage below that, overwritten: file:PATH?size=4G, pci:ADDRESS, ... "
	 "May be repeated; a file that it makes is removed in the end",
	 3},
	{"policy", OPT_POLICY, "none|uvm|g10|annex", 0,
	 "Who says what moves when, from the third iteration on (annex)", 3},
	{"rate", OPT_RATE, "SIZE", 0,
	 "Bytes a second each way that each link is held back to (no limit)", 3},
	{"checksum", OPT_CHECKSUM, NULL, 0,
	 "Compare what returns with what has left, and stop where it is another", 3},
	{"plot", OPT_PLOT, "FILE.svg", 0,
	 "Draw the loss and the memory of each tier (-: to standard output, and no report)", 4},
	{"pages", OPT_PAGES, "FILE.csv", 0,
	 "Write, in the end, in which tier each page of each tensor is, and where there", 4},
	{"overwrite", OPT_OVERWRITE, NULL, 0, "The files may be there already", 4},
	{0}};

static const char doc[] =
	"Train a small GPT on the bytes of a text: forward, backward and AdamW, in single "
	"precision. "
	"All its tensors are in a space of tiers. With --device-memory there is room for that "
	"much of them where kernels run; a plan, made of the first iterations, says when the "
	"others leave for the tiers below and when they return. The same seed gives the same "
	"losses, bit for bit, whatever the memory."
	"\vExamples:\n"
	"  annex train\n"
	"  annex train --text book.txt --layers 6 --width 384 --heads 6 --steps 500\n"
	"  annex train --device-memory 32M --storage 'file:/data/scratch?size=1G'\n"
	"  annex train --device-memory 32M --host 1G --policy g10 --plot train.svg";

/* What is read, what is drawn and where tensors go are different files. */
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
	return err;
}

int cmd_train(int argc, char **argv)
{
	static const struct argp_child children[] = {{&cli_json_argp, 0, NULL, 0}, {0}};
	static const struct argp argp = {options, parse, "", doc, children, NULL, NULL};
	struct train_opts o = {
		.shape = {.layers = 4, .width = 256, .heads = 4, .context = 128, .batch = 16},
		.text = TEXT_DEFAULT,
		.steps = 50,
		.seed = 1,
		.rate = 0.001,
		.threads = pool_default_threads(),
	};
	int err = cli_parse(&argp, argc, argv, &o);

	if (err)
		return err;
	if (!o.policy)
		o.policy = o.device ? "annex" : "none";
	return train(&o);
}
