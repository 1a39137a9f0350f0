// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex trace gen.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <annex/generate.h>
#include <annex/log.h>
#include <annex/trace.h>
#include <annex/vitality.h>
#include "../cli.h"
#include "../error.h"
#include "../newfile.h"
#include "../out.h"
#include "trace.h"

enum {
	OPT_SEQ = 256,
	OPT_LAYERS,
	OPT_HIDDEN,
	OPT_IMAGE,
	OPT_GPU,
	OPT_DTYPE,
	OPT_OPTIMIZER,
	OPT_KERNELS,
	OPT_SEED,
	OPT_PEAK,
	OPT_OVERWRITE
};

struct gen_opts {
	struct annex_trace_spec spec;
	const char *output;
	bool overwrite, json;
};

static int number(const char *opt, const char *arg, uint64_t *value)
{
	return -cli_size(opt, arg, 1, UINT64_MAX, value);
}

static int choice(const char *opt, const char *arg, const char *const *choices, int *value)
{
	int err = cli_choice(opt, arg, choices, value);

	++*value; /* 0 is the usual one */
	return -err;
}

static error_t parse_spec(int key, char *arg, struct annex_trace_spec *spec)
{
	static const char *const dtypes[] = {"fp32", "tf32", "fp16", "bf16", NULL};
	static const char *const optimizers[] = {"sgd", "momentum", "adam", NULL};
	int which = 0, err;

	switch (key) {
	case 'b':
		return number("--batch", arg, &spec->batch);
	case OPT_SEQ:
		return number("--seq", arg, &spec->seq);
	case OPT_LAYERS:
		return number("--layers", arg, &spec->layers);
	case OPT_HIDDEN:
		return number("--hidden", arg, &spec->hidden);
	case OPT_IMAGE:
		return number("--image", arg, &spec->image);
	case OPT_KERNELS:
		return number("--kernels", arg, &spec->kernels);
	case OPT_PEAK:
		return number("--peak", arg, &spec->peak);
	case OPT_SEED:
		return -cli_size("--seed", arg, 0, UINT64_MAX, &spec->seed);
	case OPT_GPU:
		spec->gpu = arg;
		return 0;
	case OPT_DTYPE:
		err = choice("--dtype", arg, dtypes, &which);
		spec->dtype = (enum annex_dtype)which;
		return err;
	case OPT_OPTIMIZER:
		err = choice("--optimizer", arg, optimizers, &which);
		spec->optimizer = (enum annex_optimizer)which;
		return err;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct gen_opts *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->json;
		return 0;
	case 'o':
		o->output = arg;
		return 0;
	case OPT_OVERWRITE:
		o->overwrite = true;
		return 0;
	case ARGP_KEY_ARG:
		if (o->spec.model)
			return -err_set(-EINVAL, "\"%s\" is one argument too many", arg);
		o->spec.model = arg;
		return 0;
	default:
		return parse_spec(key, arg, &o->spec);
	}
}

static const struct argp_option options[] = {
	{"output", 'o', "FILE", 0, "The trace to write (-: standard output, the default)", 0},
	{"overwrite", OPT_OVERWRITE, NULL, 0, "Replace a file of that name", 0},
	{"batch", 'b', "N", 0, "Samples in an iteration", 0},
	{"seq", OPT_SEQ, "N", 0, "Tokens in a sequence (BERT, GPT, Llama)", 0},
	{"image", OPT_IMAGE, "N", 0, "Width and height of an image (ViT, ResNet; 224)", 0},
	{"layers", OPT_LAYERS, "N", 0, "Layers of a transformer", 0},
	{"hidden", OPT_HIDDEN, "N", 0, "Width of a transformer", 0},
	{"gpu", OPT_GPU, "NAME", 0, "Whose times (a100-40)", 0},
	{"dtype", OPT_DTYPE, "TYPE", 0, "fp32, tf32, fp16 or bf16 (Llama: bf16, others: fp32)", 0},
	{"optimizer", OPT_OPTIMIZER, "NAME", 0,
	 "sgd, momentum or adam (ResNet: momentum, others: adam)", 0},
	{"kernels", OPT_KERNELS, "N", 0, "synthetic: how many kernels, up to 1,000,000 (1000)", 1},
	{"seed", OPT_SEED, "N", 0, "synthetic: another trace of the same kind (0)", 1},
	{"peak", OPT_PEAK, "SIZE", 0, "synthetic: bytes that live at the peak (120G)", 1},
	{0}};

/* The names come from the library, so that the help cannot fall behind it. */
static char *filter_help(int key, const char *text, void *input)
{
	const struct annex_model *model;
	const struct annex_gpu *gpu;
	char *list = NULL;
	size_t len;
	FILE *f;

	(void)input;
	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)text;
	f = open_memstream(&list, &len);
	if (!f)
		return (char *)text;
	fputs("Models, with their usual --batch and --seq:\n", f);
	for (unsigned int i = 0; (model = annex_model_at(i)); i++) {
		fprintf(f, "  %-12s %s", model->name, model->summary);
		if (model->batch)
			fprintf(f, ", %llu", (unsigned long long)model->batch);
		if (model->seq)
			fprintf(f, " x %llu", (unsigned long long)model->seq);
		fputc('\n', f);
	}
	fputs("\nGPUs:\n", f);
	for (unsigned int i = 0; (gpu = annex_gpu_at(i)); i++)
		fprintf(f, "  %-12s %s, %llu GiB, %.0f GB/s\n", gpu->name, gpu->summary,
			(unsigned long long)(gpu->memory >> 30), gpu->bandwidth / 1e9);
	fprintf(f, "\n%s", text);
	return fclose(f) ? (char *)text : list;
}

static const char doc[] =
	"Make the trace of one training iteration of MODEL from the arithmetic of its layers and "
	"the peak rates of a GPU. The same options give the same trace."
	"\vExamples:\n"
	"  annex trace gen bert-base --batch 256 -o bert.json\n"
	"  annex trace gen llama-7b --batch 1 --gpu h100 | annex trace show -\n"
	"  annex trace gen synthetic --kernels 100000 -o large.json";

static const struct argp_child children[] = {{&cli_json_argp, 0, NULL, 0}, {0}};

static int write_trace(const struct annex_trace *trace, const char *path, bool overwrite)
{
	struct newfile file;
	int err = newfile_open(&file, path, overwrite);

	if (err)
		return err;
	err = annex_trace_write(trace, file.f);
	if (err)
		err = err_lib(err, "cannot write %s", file.path);
	return newfile_close(&file, 1, err);
}

static int report(const struct gen_opts *o, const struct annex_trace *trace)
{
	struct annex_vitality *v;
	struct annex_work work;
	struct out out;
	int err = annex_trace_work(&o->spec, &work);

	if (!err)
		err = annex_vitality_create(trace, &v);
	if (err)
		return err_lib(err, "%s", o->spec.model);
	out_init(&out, cli_name(), o->json);
	out_text(&out, "file", "trace", o->output);
	out_text(&out, "model", "model", trace->model);
	out_text(&out, "device", "device", trace->device);
	if (trace->batch)
		out_count(&out, "batch", "batch", trace->batch);
	if (work.params) {
		out_count(&out, "parameters", "parameters", work.params);
		out_count(&out, "forward_flops", "forward flops", (uint64_t)work.forward_flops);
	}
	out_count(&out, "kernels", "kernels", trace->n_kernels);
	out_count(&out, "tensors", "tensors", trace->n_tensors);
	out_bytes(&out, "global_bytes", "global tensors", v->global_bytes);
	out_bytes(&out, "peak_bytes", "peak", v->peak_bytes);
	out_seconds(&out, "ideal_s", "ideal iteration", (double)v->start[trace->n_kernels] / 1e9);
	annex_vitality_destroy(v);
	return out_end(&out);
}

int trace_gen(int argc, char **argv)
{
	static const struct argp argp = {options, parse, "MODEL", doc, children, filter_help, NULL};
	struct gen_opts o = {.output = "-"};
	struct annex_trace *trace;
	int err = cli_parse(&argp, argc, argv, &o);

	if (err)
		return err;
	if (!o.spec.model)
		return err_set(-EINVAL, "which model? See %s --help", cli_name());
	if (o.json && newfile_stdout(o.output))
		return err_set(-EINVAL, "--json is about the report, which needs -o FILE: the "
					"trace is on standard output");
	err = newfile_check(o.output, o.overwrite);
	if (err)
		return err;
	err = annex_trace_generate(&o.spec, &trace);
	if (err)
		return err_set(err, "%s", annex_last_error());
	err = write_trace(trace, o.output, o.overwrite);
	if (!err && !newfile_stdout(o.output))
		err = report(&o, trace);
	annex_trace_free(trace);
	return err;
}
