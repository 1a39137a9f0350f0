// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex trace, and annex trace show: the tensors of an iteration, and their inactive periods (G10
 * section 3).
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <annex/system.h>
#include <annex/trace.h>
#include <annex/vitality.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "tools/common/error.h"
#include "tools/common/out.h"
#include "read.h"

/* Upper limits of the classes of G10's figure 4; the last class has none. */
static const struct {
	uint64_t below;
	const char *label;
} sizes[] = {
	{64ull << 10, "  tensors < 64 KiB"}, {1ull << 20, "  tensors < 1 MiB"},
	{16ull << 20, "  tensors < 16 MiB"}, {256ull << 20, "  tensors < 256 MiB"},
	{4ull << 30, "  tensors < 4 GiB"},   {UINT64_MAX, "  tensors >= 4 GiB"},
};

static const struct {
	uint64_t below_us;
	const char *label, *longer;
} lengths[] = {
	{100, "< 100 us", "  longer than 100 us"}, {1000, "< 1 ms", "  longer than 1 ms"},
	{10000, "< 10 ms", "  longer than 10 ms"}, {100000, "< 100 ms", "  longer than 100 ms"},
	{1000000, "< 1 s", "  longer than 1 s"},   {10000000, "< 10 s", "  longer than 10 s"},
	{UINT64_MAX / 1000, ">= 10 s", "at all"},
};

#define SIZES (sizeof(sizes) / sizeof(sizes[0]))
#define LENGTHS (sizeof(lengths) / sizeof(lengths[0]))

/* Periods of one class, or of several, and their bytes: a tensor's bytes count each time. */
struct group {
	uint64_t periods;
	double bytes;
};

struct tally {
	struct group of[SIZES][LENGTHS];
	struct group all, hidden, wrapping;
};

static void count(struct group *c, uint64_t bytes)
{
	c->periods++;
	c->bytes += (double)bytes;
}

/* Whether an idle SSD can write the tensor and read it back in time. */
static bool can_hide(const struct annex_system *sys, uint64_t bytes, uint64_t ns)
{
	double both = (double)bytes / sys->ssd_write + (double)bytes / sys->ssd_read;

	return both * 1e9 + (double)(sys->ssd_write_ns + sys->ssd_read_ns) <= (double)ns;
}

static void tally_periods(const struct annex_vitality *v, struct tally *t)
{
	struct annex_system sys;

	annex_system_init(&sys);
	for (uint32_t i = 0; i < v->n_periods; i++) {
		const struct annex_period *p = &v->periods[i];
		uint64_t bytes = v->trace->tensors[p->tensor].bytes;
		unsigned int size = 0, length = 0;

		while (size < SIZES - 1 && bytes >= sizes[size].below)
			size++;
		while (length < LENGTHS - 1 && p->ns >= lengths[length].below_us * 1000)
			length++;
		count(&t->of[size][length], bytes);
		count(&t->all, bytes);
		if (can_hide(&sys, bytes, p->ns))
			count(&t->hidden, bytes);
		if (p->wraps)
			count(&t->wrapping, bytes);
	}
}

static double share(double part, double whole)
{
	return whole > 0 ? part / whole : NAN;
}

static int order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Figure 3 as quantiles. */
static int show_quantiles(struct out *o, const struct annex_vitality *v)
{
	static const struct {
		const char *key, *label;
		unsigned int percent;
	} quantiles[] = {
		{"period_p10_s", "  shortest tenth up to", 10},
		{"period_p50_s", "  half of them up to", 50},
		{"period_p90_s", "  all but a tenth up to", 90},
		{"period_max_s", "  longest", 100},
	};
	uint64_t *ns = malloc((v->n_periods + 1ull) * sizeof(*ns));

	if (!ns)
		return err_set(-ENOMEM, "no memory for %u periods", v->n_periods);
	for (uint32_t i = 0; i < v->n_periods; i++)
		ns[i] = v->periods[i].ns;
	qsort(ns, v->n_periods, sizeof(*ns), order);
	for (unsigned int q = 0; v->n_periods && q < sizeof(quantiles) / sizeof(quantiles[0]);
	     q++) {
		uint64_t at = (v->n_periods - 1ull) * quantiles[q].percent / 100;

		out_seconds(o, quantiles[q].key, quantiles[q].label, (double)ns[at] * 1e-9);
	}
	free(ns);
	return 0;
}

/* Figure 3 as shares, of the periods and of their bytes. */
static void show_longer(struct out *o, const struct tally *t)
{
	struct group longer = t->all;
	json_t *array = json_array();

	for (unsigned int l = 0; t->all.periods && l + 1 < LENGTHS; l++) {
		double periods, bytes;

		for (unsigned int s = 0; s < SIZES; s++) {
			longer.periods -= t->of[s][l].periods;
			longer.bytes -= t->of[s][l].bytes;
		}
		periods = share((double)longer.periods, (double)t->all.periods);
		bytes = share(longer.bytes, t->all.bytes);
		json_array_append_new(array,
				      json_pack("{sI sf sf}", "us", (json_int_t)lengths[l].below_us,
						"periods", periods, "bytes", bytes));
		out_row(o, lengths[l].longer, "%.1f %%, %.1f %% of the bytes", periods * 100,
			bytes * 100);
	}
	out_json(o, "longer_than", array);
}

static void show_class_rows(struct out *o, const struct tally *t)
{
	char line[120], buf[OUT_SIZE];
	struct group sum;
	int n = 0;

	for (unsigned int l = 0; l < LENGTHS; l++)
		n += snprintf(line + n, sizeof(line) - (size_t)n, "%10s", lengths[l].label);
	out_row(o, "periods by length", "%s      bytes", line);
	for (unsigned int s = 0; s < SIZES; s++) {
		sum = (struct group){0};
		n = 0;
		for (unsigned int l = 0; l < LENGTHS; l++) {
			const struct group *c = &t->of[s][l];

			sum.periods += c->periods;
			sum.bytes += c->bytes;
			n += snprintf(line + n, sizeof(line) - (size_t)n, "%10llu",
				      (ull)c->periods);
		}
		if (sum.periods)
			out_row(o, sizes[s].label, "%s%11s", line, out_size(sum.bytes, buf));
	}
}

/* Bytes in the periods of a column of the table. */
static void show_class_bytes(struct out *o, const struct tally *t)
{
	char line[120], buf[OUT_SIZE];
	int n = 0;

	for (unsigned int l = 0; l < LENGTHS; l++) {
		double bytes = 0;

		for (unsigned int s = 0; s < SIZES; s++)
			bytes += t->of[s][l].bytes;
		n += snprintf(line + n, sizeof(line) - (size_t)n, "%10s", out_size(bytes, buf));
	}
	out_row(o, "  bytes", "%s", line);
}

/* Figure 4. */
static void show_classes(struct out *o, const struct tally *t)
{
	json_t *array = json_array();

	show_class_rows(o, t);
	show_class_bytes(o, t);
	for (unsigned int s = 0; s < SIZES; s++) {
		for (unsigned int l = 0; l < LENGTHS; l++) {
			json_t *c = json_pack("{sI sf}", "periods", (json_int_t)t->of[s][l].periods,
					      "bytes", t->of[s][l].bytes);

			if (s + 1 < SIZES)
				json_object_set_new(c, "tensor_below",
						    json_integer((json_int_t)sizes[s].below));
			if (l + 1 < LENGTHS)
				json_object_set_new(c, "us_below",
						    json_integer((json_int_t)lengths[l].below_us));
			json_array_append_new(array, c);
		}
	}
	out_json(o, "classes", array);
}

static int show_periods(struct out *o, const struct annex_vitality *v)
{
	struct tally t = {0};
	int err;

	tally_periods(v, &t);
	out_count(o, "periods", "inactive periods", t.all.periods);
	out_count(o, "periods_wrapping", "  into the next iteration", t.wrapping.periods);
	err = show_quantiles(o, v);
	if (err)
		return err;
	show_longer(o, &t);
	out_percent(o, "hidden_share", "can hide a swap to the SSD",
		    share((double)t.hidden.periods, (double)t.all.periods));
	out_percent(o, "hidden_bytes_share", "  of the bytes", share(t.hidden.bytes, t.all.bytes));
	show_classes(o, &t);
	return 0;
}

struct show_opts {
	const char *path;
	bool json;
};

static void group_row(struct out *o, const char *label, uint64_t tensors, uint64_t bytes)
{
	char size[OUT_SIZE];

	out_row(o, label, "%llu of %s", (ull)tensors, out_size((double)bytes, size));
}

/* Tensors by their role, as far as the trace names it. */
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

/* A size, and the kernel where it occurs. */
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
	"Show how a training iteration uses memory: its tensors, live bytes and bytes in use over "
	"time, and the inactive periods of tensors between their uses.\n\n"
	"A period can hide a swap if an otherwise idle SSD of 3.2 GB/s can write the tensor and "
	"read it back within the period."
	"\vExamples:\n"
	"  annex trace show bert-256.json\n"
	"  annex trace gen bert-base | annex trace show - --json";

int trace_show(int argc, char **argv)
{
	static const struct cli_line line = {options, "FILE", doc, CLI_ARG(struct show_opts, path),
					     .none = "no trace: name its file, or - for standard "
						     "input"};
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

static const struct cli_command commands[] = {
	{"show", trace_show, "show memory use of an iteration: lifetimes, pressure, idle times"},
	{"gen", trace_gen, "make the trace of a model from the arithmetic of its layers"},
	{NULL, NULL, NULL}};

int cmd_trace(int argc, char **argv)
{
	return cli_dispatch(commands, "Traces of training iterations.", argc, argv);
}
