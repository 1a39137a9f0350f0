// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex plan show: the contents of a plan.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <annex/plan.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "tools/common/error.h"
#include "tools/common/out.h"
#include "../trace/read.h"
#include "report.h"
#include "view.h"

struct show_opts {
	struct machine machine;
	const char *plan, *trace;
	uint32_t first, last;
	bool list, json;
};

static const char *const ops[ANNEX_PLAN_OPS] = {"alloc", "free", "prefetch",
						"evict", "save", "wait"};

/* N, or N..M */
static int parse_kernels(void *opts, const char *opt, char *arg)
{
	struct show_opts *o = opts;
	char first[24];
	const char *dots = strstr(arg, "..");
	size_t len = dots ? (size_t)(dots - arg) : strlen(arg);
	int err;

	if (len >= sizeof(first))
		len = sizeof(first) - 1;
	memcpy(first, arg, len);
	first[len] = '\0';
	err = cli_u32(opt, first, 0, ANNEX_TRACE_MAX_KERNELS, &o->first);
	o->last = o->first;
	if (!err && dots)
		err = cli_u32(opt, dots + 2, o->first, ANNEX_TRACE_MAX_KERNELS, &o->last);
	o->list = true;
	return err;
}

/* A kernel beyond the last has no steps before it; "before" the end there are some. */
static int check_kernels(const struct annex_plan *plan, const struct show_opts *o)
{
	char range[40];

	if (!o->list || o->first <= plan->n_kernels)
		return 0;
	if (o->first == o->last)
		snprintf(range, sizeof(range), "%u", o->first);
	else
		snprintf(range, sizeof(range), "%u..%u", o->first, o->last);
	return err_set(-EINVAL, "--kernel %s: %s has kernels 0 to %u, and %u is its end", range,
		       o->plan, plan->n_kernels - 1, plan->n_kernels);
}

static void report_header(const struct annex_plan *p, struct out *out)
{
	char hash[24];

	snprintf(hash, sizeof(hash), "%016llx", (ull)p->hash);
	out_text(out, "policy", "policy", p->policy);
	out_text(out, "trace", "trace", hash);
	out_count(out, "kernels", "kernels", p->n_kernels);
	out_count(out, "tensors", "tensors", p->n_tensors);
	out_bytes(out, "gpu_bytes", "for GPU memory of", p->gpu);
	out_bytes(out, "host_bytes", "for host memory of", p->host);
	out_bytes(out, "cxl_bytes", "for CXL memory of", p->cxl);
	out_bool(out, "overlap", "kernels run during their faults", p->flags & ANNEX_PLAN_OVERLAP);
	out_bool(out, "reclaim", "memory is reclaimed on demand", p->flags & ANNEX_PLAN_RECLAIM);
	out_bool(out, "lazy", "dead tensors stay until then", p->flags & ANNEX_PLAN_LAZY);
	out_bool(out, "unlimited", "unlimited GPU memory", p->flags & ANNEX_PLAN_UNLIMITED);
	out_count(out, "window", "kernels guarded from reclaim", p->window);
	out_count(out, "steps", "steps", p->n_steps);
}

static void report_ops(const struct annex_plan *p, struct out *out)
{
	json_t *obj = json_object();
	char size[OUT_SIZE];

	for (unsigned int op = 0; op < ANNEX_PLAN_OPS; op++) {
		uint64_t n = 0, bytes = 0;

		for (size_t i = 0; i < p->n_steps; i++) {
			n += p->steps[i].op == op;
			bytes += p->steps[i].op == op ? p->steps[i].bytes : 0;
		}
		out_row(out, ops[op], "%llu steps, %s", (ull)n, out_size((double)bytes, size));
		json_object_set_new(obj, ops[op],
				    json_pack("{s:I, s:I}", "steps", (json_int_t)n, "bytes",
					      (json_int_t)bytes));
	}
	out_json(out, "ops", obj);
}

/* Bytes evicted and saved to each tier, if there is only dirty data. */
static void report_tiers(const struct annex_plan *p, struct out *out)
{
	uint64_t bytes[ANNEX_TIERS] = {0};
	json_t *obj = json_object();
	char size[OUT_SIZE];

	for (size_t i = 0; i < p->n_steps; i++)
		bytes[p->steps[i].tier] += p->steps[i].bytes;
	for (unsigned int t = ANNEX_TIER_HOST; t < ANNEX_TIERS; t++) {
		if (!bytes[t])
			continue;
		out_row(out, annex_tier_name(t), "%s evicted or saved to it",
			out_size((double)bytes[t], size));
		json_object_set_new(obj, annex_tier_name(t), json_integer((json_int_t)bytes[t]));
	}
	out_json(out, "to_bytes", obj);
}

static json_t *step_json(const struct annex_plan_step *s)
{
	json_t *one = json_pack("{s:I, s:I, s:s, s:I, s:I}", "kernel", (json_int_t)s->kernel, "ns",
				(json_int_t)s->ns, "op", ops[s->op], "tensor",
				(json_int_t)s->tensor, "bytes", (json_int_t)s->bytes);

	if (s->tier)
		json_object_set_new(one, "to", json_string(annex_tier_name(s->tier)));
	if (s->keep)
		json_object_set_new(one, "keep", json_true());
	return one;
}

static void print_step(size_t i, const struct annex_plan_step *s, const struct annex_trace *t)
{
	char name[200];

	printf("%8zu %8u %12.6f s  %-8s %8u %14llu bytes", i, s->kernel, (double)s->ns * 1e-9,
	       ops[s->op], s->tensor, (ull)s->bytes);
	if (s->tier)
		printf(" to %s", annex_tier_name(s->tier));
	if (s->keep)
		printf(", keeps the copy");
	if (t && s->kernel < t->n_kernels && t->kernels[s->kernel].name)
		printf("  before %s", work_clean(t->kernels[s->kernel].name, name, sizeof(name)));
	putchar('\n');
}

static int report(const struct show_opts *o, const struct annex_plan *plan, const struct view *view)
{
	json_t *steps = json_array();
	struct out out;
	int err;

	out_init(&out, cli_name(), o->json);
	report_header(plan, &out);
	report_ops(plan, &out);
	report_tiers(plan, &out);
	if (o->trace)
		view_report(view, &out);
	for (size_t i = 0; i < plan->n_steps && o->list && o->json; i++)
		if (plan->steps[i].kernel >= o->first && plan->steps[i].kernel <= o->last)
			json_array_append_new(steps, step_json(&plan->steps[i]));
	if (o->list)
		out_json(&out, "listed", steps);
	else
		json_decref(steps);
	err = out_end(&out);
	if (err || o->json)
		return err;
	if (o->trace)
		view_print(view);
	if (o->trace && o->list)
		putchar('\n');
	for (size_t i = 0; i < plan->n_steps && o->list; i++)
		if (plan->steps[i].kernel >= o->first && plan->steps[i].kernel <= o->last)
			print_step(i, &plan->steps[i], view->work.traces[0]);
	return report_printed();
}

static const struct cli_option options[] = {
	{"trace", 0, "FILE", 0, OPT_TEXT(struct show_opts, trace),
	 "Trace of the plan: show how fast it runs, its biggest tensors, and movements over time"},
	{"kernel", 0, "N..M", 0, OPT_CALL(parse_kernels), "List the steps before these kernels"},
	CLI_TABLE(struct show_opts, machine, machine_options),
	CLI_JSON(struct show_opts, json),
	{0}};

static const char doc[] = "Show a plan; - is standard input. With its trace, also simulate it on "
			  "a machine with the plan's memories."
			  "\vExamples:\n"
			  "  annex plan show bert.plan\n"
			  "  annex plan show bert.plan --trace bert.json --ssd-read 6.4G\n"
			  "  annex plan show bert.plan --trace bert.json --kernel 100..120";

int plan_show(int argc, char **argv)
{
	static const struct cli_line line = {options,
					     "PLAN",
					     doc,
					     CLI_ARG(struct show_opts, plan),
					     .none = "no plan: name its file",
					     .many = "too many arguments: \"%s\""};
	struct view view = {.plan = NULL};
	struct annex_plan *plan = NULL;
	struct show_opts o = {.plan = NULL};
	int err;

	annex_system_init(&o.machine.sys);
	err = cli_parse(&line, argc, argv, &o);
	if (!err && o.machine.given && !o.trace)
		err = err_set(-EINVAL, "options of the machine need --trace");
	if (err)
		return err;
	err = plan_read(o.plan, &plan);
	if (!err)
		err = check_kernels(plan, &o);
	if (!err && o.trace)
		err = view_open(&view, plan, o.plan, o.trace, &o.machine);
	if (!err)
		err = report(&o, plan, &view);
	view_close(&view);
	annex_plan_free(plan);
	return err;
}
