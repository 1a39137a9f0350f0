// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex plan: when each tensor leaves the GPU and when it returns.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <annex/detail/clock.h>
#include <annex/recompute.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "tools/common/error.h"
#include "tools/common/newfile.h"
#include "tools/common/out.h"
#include "tools/common/progress.h"
#include "tools/common/uri.h"
#include "gnuplot.h"
#include "machine.h"
#include "report.h"

struct plan_opts {
	struct machine machine;
	const char *policy, *output, *plot, *new_trace;
	char *trace;
	bool overwrite, bound, recompute, json;
};

/* Whether standard output is taken, so that the report cannot be there. */
static bool is_silent(const struct plan_opts *o)
{
	return newfile_stdout(o->output) || newfile_stdout(o->plot);
}

static int check_opts(const struct plan_opts *o)
{
	if (o->bound && (o->output || o->plot || o->new_trace))
		return err_set(-EINVAL,
			       "--bound makes no plan: leave out -o, --plot and --new-trace");
	if (o->new_trace && !o->recompute)
		return err_set(-EINVAL, "--new-trace is what --recompute makes: give that, too");
	if (o->recompute && o->output && !o->new_trace)
		return err_set(-EINVAL,
			       "--recompute plans for an iteration with repeated kernels: name a "
			       "file for it (--new-trace FILE)");
	if (newfile_stdout(o->new_trace))
		return err_set(-EINVAL, "--new-trace needs a file");
	if (newfile_stdout(o->output) && newfile_stdout(o->plot))
		return err_set(-EINVAL, "-o - and --plot -: only one can go to standard output");
	if (o->json && is_silent(o))
		return err_set(-EINVAL,
			       "--json reports on standard output, where the %s is: name a file "
			       "for it",
			       newfile_stdout(o->plot) ? "plot" : "plan");
	return 0;
}

static int tell_bound(const struct plan_opts *o, const struct work *w)
{
	struct out out;
	double bound;
	int err = work_bound(w, &o->machine.sys, o->recompute, &bound);

	progress_end();
	if (!err && !isfinite(bound))
		err = err_set(-ENOSPC,
			      "no plan can run %s on this machine: its memories cannot hold all "
			      "live tensors",
			      o->trace);
	if (err)
		return err;
	out_init(&out, cli_name(), o->json);
	out_json(&out, "ideal_s", json_real(work_ideal(w)));
	out_row(&out, "ideal", "%.4f s", work_ideal(w));
	report_bound(&out, bound);
	return out_end(&out);
}

static int write_plan(const struct annex_plan *plan, struct newfile *file)
{
	int err = annex_plan_write(plan, file->f);

	return err ? err_lib(err, "%s", file->path) : 0;
}

static int write_trace(const struct annex_trace *trace, struct newfile *file)
{
	int err = annex_trace_write(trace, file->f);

	return err ? err_lib(err, "%s", file->path) : 0;
}

/* Make the requested files: all of them, or none. */
static int make_files(const struct plan_opts *o, const struct work *w,
		      const struct annex_plan *plan, const struct outcome *outcome,
		      const struct annex_sim_sample *samples)
{
	struct newfile files[NEWFILES];
	unsigned int n = 0;
	int err = 0;

	if (o->plot)
		err = newfile_open(&files[n], o->plot, o->overwrite);
	if (!err && o->plot)
		err = timeline_plot(&files[n++], w, &o->machine.sys, outcome, samples);
	if (!err && o->output)
		err = newfile_open(&files[n], o->output, o->overwrite);
	if (!err && o->output)
		err = write_plan(plan, &files[n++]);
	if (!err && o->new_trace)
		err = newfile_open(&files[n], o->new_trace, o->overwrite);
	if (!err && o->new_trace)
		err = write_trace(w->traces[0], &files[n++]);
	return newfile_close(files, n, err);
}

static int report(const struct plan_opts *o, const struct work *w, const struct outcome *outcome,
		  const struct annex_recomputed *again)
{
	struct out out;

	out_init(&out, cli_name(), o->json);
	report_outcome(&out, outcome, w, &o->machine.sys, REPORT_ENDURANCE);
	if (o->recompute) {
		out_json(&out, "repeated_kernels", json_integer(again->kernels));
		out_json(&out, "recomputed_bytes", json_integer((json_int_t)again->bytes));
		out_json(&out, "recompute_s", json_real((double)again->ns * 1e-9));
		out_row(&out, "computed again", "%.1f GiB by %u kernels, in %.4f s",
			(double)again->bytes / (1 << 30), again->kernels, (double)again->ns * 1e-9);
	}
	return out_end(&out);
}

/* Simulate @again's plan, made in @plan_s seconds, or that of the policy, on @w. */
static int make_plan(const struct plan_opts *o, const struct work *w,
		     const struct annex_policy *policy, const struct annex_recomputed *again,
		     double plan_s)
{
	struct annex_sim_options sim = {.samples = NULL};
	struct annex_plan *plan = NULL;
	struct outcome outcome;
	int err;

	sim.samples = calloc(w->traces[0]->n_kernels, sizeof(*sim.samples));
	if (!sim.samples)
		return err_set(-ENOMEM, "out of memory");
	if (o->recompute)
		err = work_plan(w, &o->machine.sys, again->plan, &sim, &outcome);
	else
		err = work_policy(w, &o->machine.sys, policy, &sim, &plan, &outcome);
	progress_end();
	if (o->recompute)
		outcome.plan_s = plan_s;
	if (!err && !outcome.feasible)
		err = err_set(-ENOSPC, "policy %s makes no plan: %s", policy->name, outcome.reason);
	if (!err)
		err = make_files(o, w, o->recompute ? again->plan : plan, &outcome, sim.samples);
	if (!err && !is_silent(o))
		err = report(o, w, &outcome, again);
	outcome_free(&outcome);
	annex_plan_free(plan);
	free(sim.samples);
	return err;
}

/* The same with kernels that run again. */
static int make_plan_again(const struct plan_opts *o, const struct work *w,
			   const struct annex_policy *policy)
{
	struct annex_recomputed again;
	struct work new = {.n = 1, .paths = {o->trace}, .before = w->vitality[0]};
	uint64_t since = annex_now();
	int err = annex_recompute(policy, w->vitality[0], &o->machine.sys, &again);

	if (err)
		return err_lib(err, "policy %s makes no plan", policy->name);
	new.traces[0] = again.trace;
	err = annex_vitality_create(again.trace, &new.vitality[0]);
	err = err ? err_lib(err, "%s", o->trace)
		  : make_plan(o, &new, policy, &again, (double)(annex_now() - since) * 1e-9);
	annex_plan_free(again.plan);
	work_close(&new);
	return err;
}

static int check_outputs(const struct plan_opts *o)
{
	const char *const paths[NEWFILES] = {o->output, o->new_trace, o->plot};
	int err = 0;

	for (unsigned int i = 0; i < NEWFILES && !err; i++) {
		if (!paths[i])
			continue;
		err = paths[i] == o->plot ? gnuplot_check(o->plot, o->overwrite)
					  : newfile_check(paths[i], o->overwrite);
		if (!err)
			err = same_spares(paths[i], o->trace);
		for (unsigned int k = 0; k < i && !err; k++)
			if (paths[k] && same_file(paths[k], paths[i]))
				err = err_set(-EINVAL,
					      "%s: plan, trace and plot need files of their own",
					      paths[i]);
	}
	return err;
}

static int plan(struct plan_opts *o)
{
	const struct annex_policy *policy = annex_policy_find(o->policy);
	struct work w;
	int err = policy ? check_outputs(o)
			 : err_set(-EINVAL, "no policy \"%s\": see annex plan --help", o->policy);

	if (!err)
		err = work_open(&w, &o->trace, 1);
	if (err)
		return err;
	err = work_check(&w, &o->machine.sys);
	if (!o->json)
		progress_time("planning");
	if (!err && o->bound)
		err = tell_bound(o, &w);
	else if (!err && o->recompute)
		err = make_plan_again(o, &w, policy);
	else if (!err)
		err = make_plan(o, &w, policy, NULL, 0);
	work_close(&w);
	return err;
}

static const struct cli_option options[] = {
	{"policy", 0, "POLICY", 1, OPT_TEXT_OF(struct plan_opts, policy, work_policies),
	 "Policy that makes the plan (annex)"},
	{"bound", 0, NULL, 1, OPT_FLAG(struct plan_opts, bound),
	 "Make no plan: only report a lower bound of the iteration time"},
	{"recompute", 0, NULL, 1, OPT_FLAG(struct plan_opts, recompute),
	 "Let kernels run again instead of moving or keeping their results, where that is faster; "
	 "makes and simulates up to 15 plans, which takes that many times as long"},
	{"new-trace", 0, "FILE", 3, OPT_TEXT(struct plan_opts, new_trace),
	 "With --recompute: write the iteration with its repeated kernels here, for which the plan "
	 "is"},
	{"output", 'o', "FILE", 3, OPT_TEXT(struct plan_opts, output),
	 "Write the plan here (-: to standard output, without a report)"},
	{"plot", 0, "FILE.svg", 3, OPT_TEXT(struct plan_opts, plot),
	 "Plot memory without and with the plan, and use of the link, over time (-: as for -o)"},
	{"overwrite", 0, NULL, 3, OPT_FLAG(struct plan_opts, overwrite), "Replace existing files"},
	CLI_TABLE(struct plan_opts, machine, machine_options),
	CLI_JSON(struct plan_opts, json),
	{0}};

static const char doc[] =
	"Plan when each tensor of a training iteration leaves the GPU and when it returns, so "
	"that the iteration takes little longer than with memory for everything, and report its "
	"time."
	"\vSizes: K, M, G, T are powers of 1024 bytes. Rates: powers of 1000 bytes per second.\n\n"
	"Examples:\n"
	"  annex plan bert.json -o bert.plan\n"
	"  annex plan bert.json --gpu 24G --host 64G --ssd-read 6.4G --ssd-write 5G --plot "
	"bert.svg\n"
	"  annex plan bert.json --gpu 24G --bound\n"
	"  annex plan bert.json --recompute --new-trace again.json -o again.plan\n"
	"  annex plan bert.json --cxl 256G --cxl-rate 20G -o bert.plan\n"
	"  annex plan show bert.plan --trace bert.json --kernel 100..120";

int cmd_plan(int argc, char **argv)
{
	static const struct cli_command show[] = {{"show", plan_show, "show a plan"},
						  {NULL, NULL, NULL}};
	static const struct cli_list commands = {.arg = "COMMAND", .commands = show};
	static const struct cli_line line = {options,
					     "TRACE",
					     doc,
					     .list = &commands,
					     CLI_ARG(struct plan_opts, trace),
					     .none = "no trace: name its file",
					     .many = "too many arguments: \"%s\""};
	struct plan_opts o = {.policy = "annex"};
	int err;

	if (argc > 1 && !strcmp(argv[1], "show"))
		return cli_dispatch(show, "", argc, argv);
	annex_system_init(&o.machine.sys);
	err = cli_parse(&line, argc, argv, &o);
	if (!err)
		err = check_opts(&o);
	return err ? err : plan(&o);
}
