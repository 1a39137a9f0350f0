// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex simulate: how fast a plan or a policy runs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "tools/common/error.h"
#include "tools/common/out.h"
#include "tools/common/progress.h"
#include "tools/common/uri.h"
#include "../trace/read.h"
#include "gnuplot.h"
#include "machine.h"
#include "report.h"
#include "sweep.h"

#define MAX_WORDS 64

struct simulate_opts {
	struct machine machine;
	struct annex_sim_options sim;
	const char *policy, *plan, *plot;
	char *paths[ANNEX_MAX_GPUS];
	unsigned int n_paths;
	const char *words[MAX_WORDS]; /* of --sweep, and the words behind it */
	unsigned int n_words;
	double endurance;
	bool overwrite, json;
};

/* A share, 0.2, or percent, 20%. */
static int parse_noise(void *noise, const char *opt, char *arg)
{
	char *end;
	double v = strtod(arg, &end);

	if (!strcmp(end, "%")) {
		v /= 100;
		end++;
	}
	if (!cli_decimal(arg) || *end || !(v >= 0 && v < 1))
		return err_set(-EINVAL, "%s %s: give a share below 1, as 0.2, or percent, as 20%%",
			       opt, arg);
	*(double *)noise = v;
	return 0;
}

/* The library's policies, and a word for all of them. */
static const char *policy_at(unsigned int i, char *summary)
{
	if (i && !annex_policy_at(i) && annex_policy_at(i - 1)) {
		strcpy(summary, "each of these");
		return "all";
	}
	return work_policy_at(i, summary);
}

static const struct cli_list policy_list = {.arg = "POLICY", .at = policy_at};

static int add_word(void *opts, const char *opt, char *arg)
{
	struct simulate_opts *o = opts;

	if (o->n_words == MAX_WORDS)
		return err_set(-E2BIG, "%s: too many values", opt);
	o->words[o->n_words++] = arg;
	return 0;
}

/* The shell makes several words of --sweep ssd=1,2 host=0,16. */
static int parse_word(void *opts, char *arg)
{
	struct simulate_opts *o = opts;

	if (o->n_words && sweep_word(arg))
		return add_word(o, "--sweep", arg);
	if (o->n_paths == ANNEX_MAX_GPUS)
		return err_set(-E2BIG, "more than %d traces", ANNEX_MAX_GPUS);
	o->paths[o->n_paths++] = arg;
	return 0;
}

static int check_opts(const struct simulate_opts *o)
{
	if (!o->n_paths)
		return err_set(-EINVAL, "no trace: name its file");
	if (!o->policy && !o->plan && !o->n_words)
		return err_set(-EINVAL, "nothing to simulate: give --policy NAME or --plan FILE");
	if (o->plan && (o->policy || o->n_words))
		return err_set(-EINVAL, "--plan excludes --policy and --sweep: a plan is for one "
					"machine, by one policy");
	if (o->json && newfile_stdout(o->plot))
		return err_set(-EINVAL, "--json reports on standard output, where the plot is: "
					"name a file for it");
	return 0;
}

static int plot_one(const struct simulate_opts *o, const struct work *w,
		    const struct outcome *outcome)
{
	struct newfile svg;
	int err;

	if (!outcome->feasible)
		return newfile_stdout(o->plot) ? err_set(-ENOSPC, "policy %s makes no plan: %s",
							 outcome->policy, outcome->reason)
					       : 0;
	err = newfile_open(&svg, o->plot, o->overwrite);
	if (err)
		return err;
	err = timeline_plot(&svg, w, &o->machine.sys, outcome, o->sim.samples);
	return newfile_close(&svg, 1, err);
}

static int report_one(const struct simulate_opts *o, const struct work *w,
		      const struct outcome *outcome)
{
	int err = o->plot ? plot_one(o, w, outcome) : 0;
	struct out out;

	if (err || newfile_stdout(o->plot))
		return err;
	out_init(&out, cli_name(), o->json);
	report_outcome(&out, outcome, w, &o->machine.sys, o->endurance);
	return out_end(&out);
}

static int simulate_plan(const struct simulate_opts *o, const struct work *w,
			 struct outcome *outcome)
{
	struct annex_plan *plan;
	int err = plan_read(o->plan, &plan);

	if (err)
		return err;
	if (plan->flags & ANNEX_PLAN_UNLIMITED)
		err = err_set(-EINVAL,
			      "%s: this plan is for a GPU with unlimited memory: use --policy "
			      "ideal",
			      o->plan);
	else
		err = work_plan(w, &o->machine.sys, plan, &o->sim, outcome);
	annex_plan_free(plan);
	return err;
}

/* One policy or plan on one machine. */
static int simulate_one(struct simulate_opts *o, const struct work *w,
			const struct annex_policy *policy)
{
	struct outcome outcome = {.gpus = NULL};
	int err = work_check(w, &o->machine.sys);

	if (!err && o->plot) {
		o->sim.samples = calloc(w->traces[0]->n_kernels, sizeof(*o->sim.samples));
		if (!o->sim.samples)
			err = err_set(-ENOMEM, "out of memory");
	}
	if (!o->json)
		progress_time("simulating");
	if (!err)
		err = policy ? work_policy(w, &o->machine.sys, policy, &o->sim, NULL, &outcome)
			     : simulate_plan(o, w, &outcome);
	progress_end();
	if (!err)
		err = report_one(o, w, &outcome);
	outcome_free(&outcome);
	free(o->sim.samples);
	return err;
}

static int plot_many(const struct simulate_opts *o, const struct sweep *s)
{
	struct newfile svg;
	int err = newfile_open(&svg, o->plot, o->overwrite);

	return err ? err : newfile_close(&svg, 1, sweep_plot(s, &svg));
}

/* Several policies, or machines. */
static int simulate_many(struct simulate_opts *o, const struct work *w, struct sweep *s)
{
	struct out out;
	int err;

	if (o->plot && !s->n_axes)
		return err_set(-EINVAL, "--plot shows one policy, or a sweep over machines");
	err = sweep_run(s, w, &o->machine.sys, &o->sim);
	if (!err && o->plot)
		err = plot_many(o, s);
	if (err || newfile_stdout(o->plot))
		return err;
	if (!o->json)
		return sweep_table(s);
	out_init(&out, cli_name(), true);
	out_json(&out, "runs", sweep_json(s, w, o->endurance));
	return out_end(&out);
}

static int check_plot(const struct simulate_opts *o)
{
	int err = gnuplot_check(o->plot, o->overwrite);

	for (unsigned int i = 0; i < o->n_paths && !err; i++)
		err = same_spares(o->plot, o->paths[i]);
	if (!err && o->plan)
		err = same_spares(o->plot, o->plan);
	return err;
}

static int simulate(struct simulate_opts *o, struct sweep *s)
{
	struct work w;
	int err = 0;

	for (unsigned int i = 0; i < o->n_words && !err; i++)
		err = sweep_add(s, o->words[i], o->machine.given);
	if (!err && o->policy)
		err = sweep_policies(s, o->policy);
	if (!err && !o->plan && !s->n_policies)
		err = err_set(-EINVAL, "nothing to simulate: give --policy NAME");
	if (!err && o->plot)
		err = check_plot(o);
	if (!err)
		err = work_open(&w, o->paths, o->n_paths);
	if (err)
		return err;
	machine_gpus(&o->machine, w.n);
	if (s->n_axes || s->n_policies > 1)
		err = simulate_many(o, &w, s);
	else
		err = simulate_one(o, &w, s->policies[0]);
	work_close(&w);
	return err;
}

static const struct cli_option options[] = {
	{"policy", 0, "POLICY,...", 1, OPT_TEXT_OF(struct simulate_opts, policy, policy_list),
	 "Policies that make the plans"},
	{"plan", 0, "FILE", 1, OPT_TEXT(struct simulate_opts, plan), "Run this plan"},
	{"iterations", 0, "N", 3, OPT_U32(struct simulate_opts, sim.iterations, 1, 100000),
	 "Simulate N iterations and report the last (until two in a row take as long)"},
	{"noise", 0, "P", 3, OPT_CALL_AT(struct simulate_opts, sim.noise, parse_noise),
	 "Lengthen or shorten each kernel by up to this share: 0.2, or 20%"},
	{"seed", 0, "N", 3, OPT_SIZE(struct simulate_opts, sim.seed, 0, UINT64_MAX),
	 "Seed of the noise (0)"},
	{"sweep", 0, "KEY=V,...", 3, OPT_CALL_OF(add_word, sweep_keys),
	 "Simulate every combination of these values of machine options, written without --: "
	 "sizes and rates in G if no letter follows, times in microseconds, gpus and ssds as "
	 "numbers; \"ssd\" is --ssd-read and --ssd-write"},
	{"endurance", 0, "BYTES", 3, OPT_DOUBLE(struct simulate_opts, endurance, 1, 1e30),
	 "Bytes that can be written to an SSD in its life (1.752e17: 30 times 3.2 TB a day for 5 "
	 "years)"},
	{"plot", 0, "FILE.svg", 4, OPT_TEXT(struct simulate_opts, plot),
	 "Plot use of memory and link over time, or the sweep (-: to standard output, without a "
	 "report)"},
	{"overwrite", 0, NULL, 4, OPT_FLAG(struct simulate_opts, overwrite),
	 "Replace an existing plot"},
	CLI_TABLE(struct simulate_opts, machine, machine_options),
	CLI_JSON(struct simulate_opts, json),
	{0}};

static const char doc[] =
	"Simulate training iterations whose tensors leave the GPU and return by the plan of a "
	"policy, or by a given plan, and report how fast they run. Several traces run on a GPU "
	"each; the GPUs share SSDs and memories. With --gpus, one trace runs on all of them."
	"\vSizes: K, M, G, T are powers of 1024 bytes. Rates: powers of 1000 bytes per second.\n\n"
	"Examples:\n"
	"  annex simulate bert.json --policy g10\n"
	"  annex simulate bert.json --policy all --gpu 40G --host 128G --ssd-read 3.2G\n"
	"  annex simulate bert.json --policy annex --noise 0.2 --iterations 20 --json\n"
	"  annex simulate bert.json --policy g10,annex --sweep ssd=3.2,6.4,12.8 host=0,64,128 "
	"--plot sweep.svg\n"
	"  annex simulate a.json b.json --policy annex --ssds 4 --host-link 60G";

int cmd_simulate(int argc, char **argv)
{
	static const struct cli_line line = {options, "TRACE...", doc, .take = parse_word};
	struct simulate_opts o = {.endurance = REPORT_ENDURANCE};
	struct sweep s = {.n_axes = 0};
	int err;

	annex_system_init(&o.machine.sys);
	err = cli_parse(&line, argc, argv, &o);
	if (!err)
		err = check_opts(&o);

	if (!err)
		err = simulate(&o, &s);
	sweep_free(&s);
	return err;
}
