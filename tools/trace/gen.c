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
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "tools/common/error.h"
#include "tools/common/newfile.h"
#include "tools/common/out.h"

struct gen_opts {
	struct annex_trace_spec spec;
	int dtype, optimizer; /* -1: the usual one of the model */
	const char *output;
	bool overwrite, json;
};

static const char *model_at(unsigned int i, char *summary)
{
	const struct annex_model *model = annex_model_at(i);
	char batch[32] = "", seq[32] = "";

	if (!model)
		return NULL;
	if (model->batch)
		snprintf(batch, sizeof(batch), ", %llu", (ull)model->batch);
	if (model->seq)
		snprintf(seq, sizeof(seq), " x %llu", (ull)model->seq);
	snprintf(summary, CLI_SUMMARY, "%s%s%s", model->summary, batch, seq);
	return model->name;
}

static const char *gpu_at(unsigned int i, char *summary)
{
	const struct annex_gpu *gpu = annex_gpu_at(i);

	if (!gpu)
		return NULL;
	snprintf(summary, CLI_SUMMARY, "%s, %llu GiB, %.0f GB/s", gpu->summary,
		 (ull)(gpu->memory >> 30), gpu->bandwidth / 1e9);
	return gpu->name;
}

static const struct cli_list model_list = {.arg = "MODEL", .at = model_at};
static const struct cli_list gpu_list = {.arg = "GPU", .at = gpu_at};

/* In the library's order, where 0 is the model's usual one. */
static const char *const dtypes[] = {"fp32", "tf32", "fp16", "bf16", NULL};
static const char *const optimizers[] = {"sgd", "momentum", "adam", NULL};

static const struct cli_option options[] = {
	{"output", 'o', "FILE", 0, OPT_TEXT(struct gen_opts, output),
	 "The trace to write (-: standard output, the default)"},
	{"overwrite", 0, NULL, 0, OPT_FLAG(struct gen_opts, overwrite),
	 "Replace a file of that name"},
	{"batch", 'b', "N", 0, OPT_SIZE(struct gen_opts, spec.batch, 1, UINT64_MAX),
	 "Samples in a batch"},
	{"seq", 0, "N", 0, OPT_SIZE(struct gen_opts, spec.seq, 1, UINT64_MAX),
	 "Tokens in a sequence (BERT, GPT, Llama)"},
	{"image", 0, "N", 0, OPT_SIZE(struct gen_opts, spec.image, 1, UINT64_MAX),
	 "Width and height of an image (ViT, ResNet; 224)"},
	{"layers", 0, "N", 0, OPT_SIZE(struct gen_opts, spec.layers, 1, UINT64_MAX),
	 "Layers of a transformer"},
	{"hidden", 0, "N", 0, OPT_SIZE(struct gen_opts, spec.hidden, 1, UINT64_MAX),
	 "Width of a transformer"},
	{"gpu", 0, "GPU", 0, OPT_TEXT_OF(struct gen_opts, spec.gpu, gpu_list),
	 "GPU that gives the peak rates (a100-40)"},
	{"dtype", 0, NULL, 0, OPT_CHOICE(struct gen_opts, dtype, dtypes),
	 "Type of numbers (Llama: bf16, others: fp32)"},
	{"optimizer", 0, NULL, 0, OPT_CHOICE(struct gen_opts, optimizer, optimizers),
	 "Optimizer (ResNet: momentum, others: adam)"},
	{"accumulate", 0, "N", 0, OPT_SIZE(struct gen_opts, spec.accumulate, 1, UINT64_MAX),
	 "Batches whose gradients are added up in an iteration (1)"},
	{"vertical", 0, NULL, 0, OPT_FLAG(struct gen_opts, spec.vertical),
	 "With --accumulate: run all batches of a layer before the next layer"},
	{"host-step", 0, "RATE", 0, OPT_RATE(struct gen_opts, spec.host_step, 1, 1e18),
	 "Parameters per second that the host's processor updates in place of the GPU, as 1G "
	 "(10^9)"},
	{"kernels", 0, "N", 1, OPT_SIZE(struct gen_opts, spec.kernels, 1, UINT64_MAX),
	 "synthetic: number of kernels, up to 1,000,000 (1000)"},
	{"seed", 0, "N", 1, OPT_SIZE(struct gen_opts, spec.seed, 0, UINT64_MAX),
	 "synthetic: seed (0)"},
	{"peak", 0, "SIZE", 1, OPT_SIZE(struct gen_opts, spec.peak, 1, UINT64_MAX),
	 "synthetic: live bytes at the peak (120G)"},
	CLI_JSON(struct gen_opts, json),
	{0}};

static const char doc[] =
	"Make the trace of one training iteration of MODEL from the arithmetic of its layers and "
	"the peak rates of a GPU. The same options give the same trace."
	"\vExamples:\n"
	"  annex trace gen bert-base --batch 256 -o bert.json\n"
	"  annex trace gen llama-7b --batch 1 --gpu h100 | annex trace show -\n"
	"  annex trace gen synthetic --kernels 100000 -o large.json";

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
	static const struct cli_line line = {options, "MODEL", doc, .list = &model_list,
					     CLI_ARG(struct gen_opts, spec.model)};
	struct gen_opts o = {.dtype = -1, .optimizer = -1, .output = "-"};
	struct annex_trace *trace;
	int err = cli_parse(&line, argc, argv, &o);

	if (err)
		return err;
	if (!o.spec.model)
		return err_set(-EINVAL, "no model: see %s --help", cli_name());
	if (o.json && newfile_stdout(o.output))
		return err_set(-EINVAL, "--json reports on standard output, where the trace is: "
					"give -o FILE");
	err = newfile_check(o.output, o.overwrite);
	if (err)
		return err;
	o.spec.dtype = (enum annex_dtype)(o.dtype + 1);
	o.spec.optimizer = (enum annex_optimizer)(o.optimizer + 1);
	err = annex_trace_generate(&o.spec, &trace);
	if (err)
		return err_set(err, "%s", annex_last_error());
	err = write_trace(trace, o.output, o.overwrite);
	if (!err && !newfile_stdout(o.output))
		err = report(&o, trace);
	annex_trace_free(trace);
	return err;
}
