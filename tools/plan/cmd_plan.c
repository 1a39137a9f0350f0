// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex plan: when each tensor leaves the GPU and when it returns.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "tools/common/error.h"
#include "tools/common/newfile.h"
#include "tools/common/out.h"
#include "tools/common/uri.h"
#include "gnuplot.h"
#include "machine.h"
#include "report.h"

struct plan_opts {
	struct machine machine;
	const char *policy, *output, *plot;
	char *trace;
	bool overwrite, bound, json;
};

/* Whether standard output is taken, so that the report cannot be there. */
static bool is_silent(const struct plan_opts *o)
{
	return newfile_stdout(o->output) || newfile_stdout(o->plot);
}

static int check_opts(const struct plan_opts *o)
{
	if (o->bound && (o->output || o->plot))
		return err_set(-EINVAL, "--bound makes no plan: leave out -o and --plot");
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
	int err = work_bound(w, &o->machine.sys, &bound);

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
	return newfile_close(files, n, err);
}

static int make_plan(const struct plan_opts *o, const struct work *w,
		     const struct annex_policy *policy)
{
	struct annex_sim_options sim = {.samples = NULL};
	struct annex_plan *plan = NULL;
	struct outcome outcome;
	struct out out;
	int err;

	sim.samples = calloc(w->traces[0]->n_kernels, sizeof(*sim.samples));
	if (!sim.samples)
		return err_set(-ENOMEM, "out of memory");
	err = work_policy(w, &o->machine.sys, policy, &sim, &plan, &outcome);
	if (!err && !outcome.feasible)
		err = err_set(-ENOSPC, "policy %s makes no plan: %s", policy->name, outcome.reason);
	if (!err)
		err = make_files(o, w, plan, &outcome, sim.samples);
	if (!err && !is_silent(o)) {
		out_init(&out, cli_name(), o->json);
		report_outcome(&out, &outcome, w, &o->machine.sys, REPORT_ENDURANCE);
		err = out_end(&out);
	}
	outcome_free(&outcome);
	annex_plan_free(plan);
	free(sim.samples);
	return err;
}

static int check_outputs(const struct plan_opts *o)
{
	int err = o->output ? newfile_check(o->output, o->overwrite) : 0;

	if (!err && o->output)
		err = same_spares(o->output, o->trace);
	if (!err && o->plot)
		err = gnuplot_check(o->plot, o->overwrite);
	if (!err && o->plot)
		err = same_spares(o->plot, o->trace);
	if (!err && o->output && o->plot && same_file(o->output, o->plot))
		err = err_set(-EINVAL, "%s: the plan and its plot need files of their own",
			      o->plot);
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
	if (!err)
		err = o->bound ? tell_bound(o, &w) : make_plan(o, &w, policy);
	work_close(&w);
	return err;
}

static const struct cli_option options[] = {
	{"policy", 0, "POLICY", 1, OPT_TEXT_OF(struct plan_opts, policy, work_policies),
	 "Policy that makes the plan (annex)"},
	{"bound", 0, NULL, 1, OPT_FLAG(struct plan_opts, bound),
	 "Make no plan: only report a lower bound of the iteration time"},
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
