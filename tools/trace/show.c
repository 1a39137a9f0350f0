// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex trace show: what an iteration does to memory.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <annex/trace.h>
#include <annex/vitality.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "tools/common/error.h"
#include "tools/common/out.h"
#include "read.h"
#include "show_periods.h"

struct show_opts {
	const char *path;
	bool json;
};

static void group_row(struct out *o, const char *label, uint64_t tensors, uint64_t bytes)
{
	char size[OUT_SIZE];

	out_row(o, label, "%llu of %s", (ull)tensors, out_size((double)bytes, size));
}

/* Tensors by what they are for, as far as the trace says so. */
static void show_roles(struct out *o, const struct annex_trace *t)
{
	static const char *const labels[ANNEX_ROLES] = {
		[ANNEX_ROLE_WEIGHT] = "  weights",
		[ANNEX_ROLE_GRADIENT] = "  gradients",
		[ANNEX_ROLE_OPTIMIZER] = "  optimizer state",
		[ANNEX_ROLE_ACTIVATION] = "  activations",
		[ANNEX_ROLE_INPUT] = "  inputs",
		[ANNEX_ROLE_WORKSPACE] = "  workspaces",
	};
	uint64_t tensors[ANNEX_ROLES] = {0}, bytes[ANNEX_ROLES] = {0};
	json_t *roles = json_object();

	for (uint32_t i = 0; i < t->n_tensors; i++) {
		tensors[t->tensors[i].role]++;
		bytes[t->tensors[i].role] += t->tensors[i].bytes;
	}
	for (unsigned int r = ANNEX_ROLE_NONE + 1; r < ANNEX_ROLES; r++) {
		if (!tensors[r])
			continue;
		group_row(o, labels[r], tensors[r], bytes[r]);
		json_object_set_new(roles, annex_role_name(r),
				    json_pack("{sI sI}", "tensors", (json_int_t)tensors[r], "bytes",
					      (json_int_t)bytes[r]));
	}
	out_json(o, "roles", roles);
}

static void show_tensors(struct out *o, const struct annex_vitality *v)
{
	const struct annex_trace *t = v->trace;
	uint64_t footprint = 0, globals = 0;

	for (uint32_t i = 0; i < t->n_tensors; i++) {
		footprint += t->tensors[i].bytes;
		globals += t->tensors[i].global;
	}
	out_count(o, "tensors", "tensors", t->n_tensors);
	out_bytes(o, "footprint_bytes", "  all together", footprint);
	group_row(o, "  global", globals, v->global_bytes);
	out_json(o, "global_tensors", json_integer((json_int_t)globals));
	out_json(o, "global_bytes", json_integer((json_int_t)v->global_bytes));
	show_roles(o, t);
}

/* A size that a kernel has to do with, and which kernel that is. */
static void show_at_kernel(struct out *o, const struct annex_vitality *v, const char *key,
			   const char *label, uint64_t bytes, uint32_t kernel)
{
	const char *name = v->trace->kernels[kernel].name ? v->trace->kernels[kernel].name : "";
	double s = (double)v->start[kernel] * 1e-9;
	char size[OUT_SIZE];

	out_row(o, label, "%s at %.3f s, kernel %u%s%.40s", out_size((double)bytes, size), s,
		kernel, *name ? ": " : "", name);
	out_json(o, key,
		 json_pack("{sI sI ss sf}", "bytes", (json_int_t)bytes, "kernel",
			   (json_int_t)kernel, "name", name, "start_s", s));
}

/*
 * The share of live bytes (G10's figure 2), and of the peak (TERAIO's active tensors), that is in
 * use. Means are over time, so a trace whose kernels take none has no means.
 */
static void show_active(struct out *o, const struct annex_vitality *v)
{
	const struct annex_trace *t = v->trace;
	double of_live = 0, of_live_max = 0, bytes = 0, ns = (double)v->start[t->n_kernels];
	uint32_t largest = 0;

	for (uint32_t k = 0; k < t->n_kernels; k++) {
		double part = v->live[k] ? (double)v->active[k] / (double)v->live[k] : 0;
		double share = ns > 0 ? (double)t->kernels[k].ns / ns : NAN;

		of_live += part * share;
		bytes += (double)v->active[k] * share;
		if (part > of_live_max)
			of_live_max = part;
		if (v->active[k] > v->active[largest])
			largest = k;
	}
	show_at_kernel(o, v, "largest_kernel", "largest kernel's tensors", v->active[largest],
		       largest);
	out_percent(o, "active_of_live", "active of live, mean", of_live);
	out_percent(o, "active_of_live_max", "  at most", of_live_max);
	out_percent(o, "active_of_peak", "active of peak, mean",
		    v->peak_bytes ? bytes / (double)v->peak_bytes : NAN);
	out_percent(o, "active_of_peak_max", "  at most",
		    v->peak_bytes ? (double)v->active[largest] / (double)v->peak_bytes : NAN);
}

static int report(struct out *o, const struct annex_vitality *v)
{
	const struct annex_trace *t = v->trace;
	char hash[20];

	if (t->model)
		out_text(o, "model", "model", t->model);
	if (t->device)
		out_text(o, "device", "device", t->device);
	if (t->batch)
		out_count(o, "batch", "batch", t->batch);
	snprintf(hash, sizeof(hash), "%016llx", (ull)annex_trace_hash(t));
	out_text(o, "hash", "hash", hash);
	out_count(o, "kernels", "kernels", t->n_kernels);
	out_seconds(o, "ideal_s", "ideal iteration", (double)v->start[t->n_kernels] * 1e-9);
	show_tensors(o, v);
	show_at_kernel(o, v, "peak", "peak", v->peak_bytes, v->peak_kernel);
	show_active(o, v);
	return show_periods(o, v);
}

static int show(const struct annex_trace *t, bool json)
{
	struct annex_vitality *v;
	struct out out;
	int err = annex_vitality_create(t, &v);

	if (err)
		return err_lib(err, "cannot analyse the trace");
	out_init(&out, cli_name(), json);
	err = report(&out, v);
	annex_vitality_destroy(v);
	return out_close(&out, err);
}

static const struct cli_option options[] = {CLI_JSON(struct show_opts, json), {0}};

static const char doc[] =
	"What a training iteration does to memory: its tensors, how much lives and how much is in "
	"use at a time, and how long tensors rest between their uses.\n\n"
	"A period can hide a swap to the SSD if the tensor can be there and back before it ends, "
	"by one SSD of 3.2 GB/s that does nothing else."
	"\vExamples:\n"
	"  annex trace show bert-256.json\n"
	"  annex trace gen bert-base | annex trace show - --json";

int trace_show(int argc, char **argv)
{
	static const struct cli_line line = {options, "FILE", doc, CLI_ARG(struct show_opts, path),
					     .none = "which trace? Name its file, or - for stdin"};
	struct show_opts o = {0};
	struct annex_trace *t;
	int err = cli_parse(&line, argc, argv, &o);

	if (err)
		return err;
	err = trace_read(o.path, &t);
	if (err)
		return err;
	err = show(t, o.json);
	annex_trace_free(t);
	return err;
}
