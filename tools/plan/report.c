// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include "../error.h"
#include "report.h"

#define YEAR (365.0 * 86400)

static uint64_t of_ssds(const uint64_t *bytes)
{
	uint64_t sum = 0;

	for (unsigned int t = ANNEX_TIER_SSD; t < ANNEX_TIERS; t++)
		sum += bytes[t];
	return sum;
}

/* Years until the SSD that is written the most has taken @endurance; 0: none is written. */
static double lifetime(const struct annex_sim_result *r, double endurance)
{
	uint64_t most = 0;

	for (unsigned int t = ANNEX_TIER_SSD; t < ANNEX_TIERS; t++)
		most = r->out[t] > most ? r->out[t] : most;
	return most ? endurance / ((double)most / r->iteration) / YEAR : 0;
}

static void put_seconds(struct out *out, const char *key, const char *label, double s)
{
	out_json(out, key, json_real(s));
	out_row(out, label, "%.4f s", s);
}

static void put_traffic(struct out *out, const struct outcome *o, const struct annex_system *sys)
{
	const struct annex_sim_result *r = &o->r;

	out_bytes(out, "in_host_bytes", "in from host", r->in[ANNEX_TIER_HOST]);
	out_bytes(out, "out_host_bytes", "out to host", r->out[ANNEX_TIER_HOST]);
	if (sys->cxl) {
		out_bytes(out, "in_cxl_bytes", "in from CXL", r->in[ANNEX_TIER_CXL]);
		out_bytes(out, "out_cxl_bytes", "out to CXL", r->out[ANNEX_TIER_CXL]);
	}
	out_bytes(out, "in_ssd_bytes", "in from SSD", of_ssds(r->in));
	out_bytes(out, "ssd_written_bytes", "out to SSD", of_ssds(r->out));
}

static void put_ssds(struct out *out, const struct outcome *o, const struct annex_system *sys,
		     double endurance)
{
	json_t *each = json_array();
	double years = lifetime(&o->r, endurance);

	for (unsigned int t = ANNEX_TIER_SSD; t < ANNEX_TIER_SSD + sys->ssds; t++)
		json_array_append_new(each, json_pack("{s:s, s:I, s:I}", "ssd", annex_tier_name(t),
						      "read_bytes", (json_int_t)o->r.in[t],
						      "written_bytes", (json_int_t)o->r.out[t]));
	out_json(out, "ssds", each);
	out_json(out, "ssd_lifetime_years", years > 0 ? json_real(years) : NULL);
	if (years > 0)
		out_row(out, "SSD lifetime", "%.2f years of nothing else", years);
}

static void put_result(struct out *out, const struct outcome *o, const struct annex_system *sys,
		       double endurance)
{
	const struct annex_sim_result *r = &o->r;

	put_seconds(out, "iteration_s", "iteration", r->iteration);
	put_seconds(out, "bound_s", "no plan is below", o->bound);
	out_json(out, "share_of_ideal", json_real(r->ideal / r->iteration));
	out_row(out, "share of ideal", "%.2f %%", 100 * r->ideal / r->iteration);
	put_seconds(out, "stalled_s", "stalled", r->stalled);
	put_seconds(out, "overlapped_s", "overlapped", r->overlapped);
	out_count(out, "stalled_kernels", "kernels that stall", r->stalled_kernels);
	out_count(out, "faults", "faults", r->faults);
	put_traffic(out, o, sys);
	put_ssds(out, o, sys, endurance);
	out_bytes(out, "gpu_peak_bytes", "GPU memory, most", r->gpu_peak);
	out_bytes(out, "host_peak_bytes", "host memory, most", r->host_peak);
	if (sys->cxl)
		out_bytes(out, "cxl_peak_bytes", "CXL memory, most", r->cxl_peak);
	out_count(out, "iterations", "iterations", r->iterations);
	out_bool(out, "steady", "steady", r->steady);
	out_count(out, "steps", "steps of the plan", o->steps);
}

void report_outcome(struct out *out, const struct outcome *o, const struct work *w,
		    const struct annex_system *sys, double endurance)
{
	out_text(out, "policy", "policy", o->policy);
	out_count(out, "gpus", "GPUs", sys->gpus);
	out_count(out, "kernels", "kernels", w->traces[0]->n_kernels);
	out_bool(out, "feasible", "feasible", o->feasible);
	put_seconds(out, "ideal_s", "ideal", o->feasible ? o->r.ideal : work_ideal(w));
	if (o->feasible) {
		put_result(out, o, sys, endurance);
	} else {
		out_text(out, "reason", "because", o->reason);
		out_json(out, "iteration_s", NULL);
		put_seconds(out, "bound_s", "no plan is below", o->bound);
	}
	out_seconds(out, "plan_time_s", "time to plan", o->plan_s);
	out_seconds(out, "simulate_time_s", "time to simulate", o->sim_s);
}

json_t *report_json(const struct outcome *o, const struct work *w, const struct annex_system *sys,
		    double endurance)
{
	struct out out;

	out_init(&out, "", true);
	json_object_clear(out.obj);
	report_outcome(&out, o, w, sys, endurance);
	return out.obj;
}

void report_heads(void)
{
	printf("%-12s %12s %9s %10s %10s %10s %10s %10s %9s\n", "policy", "iteration", "of ideal",
	       "bound", "host in", "host out", "SSD in", "SSD out", "faults");
}

void report_line(const struct outcome *o)
{
	const struct annex_sim_result *r = &o->r;

	if (!o->feasible) {
		printf("%-12s infeasible: %s\n", o->policy, o->reason);
		return;
	}
	printf("%-12s %10.4f s %7.2f %% %8.4f s %6.1f GiB %6.1f GiB %6.1f GiB %6.1f GiB %9llu\n",
	       o->policy, r->iteration, 100 * r->ideal / r->iteration, o->bound,
	       (double)r->in[ANNEX_TIER_HOST] / 0x1p30, (double)r->out[ANNEX_TIER_HOST] / 0x1p30,
	       (double)of_ssds(r->in) / 0x1p30, (double)of_ssds(r->out) / 0x1p30,
	       (unsigned long long)r->faults);
}

int report_printed(void)
{
	return fflush(stdout) || ferror(stdout) ? err_sys("cannot write the report") : 0;
}
