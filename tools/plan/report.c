// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdio.h>
#include "tools/common/error.h"
#include "report.h"

#define YEAR (365.0 * 86400)

static uint64_t of_ssds(const uint64_t *bytes)
{
	uint64_t sum = 0;

	for (unsigned int t = ANNEX_TIER_SSD; t < ANNEX_TIERS; t++)
		sum += bytes[t];
	return sum;
}

/* Write amplification: bytes written to flash for each byte sent to it; 0: none is sent. */
static double amplification(const struct annex_sim_result *r)
{
	uint64_t out = of_ssds(r->out);

	return out ? 1 + (double)r->ssd_copied / (double)out : 0;
}

/* Years until the most written SSD has received @endurance bytes; 0: none is written. */
static double lifetime(const struct annex_sim_result *r, double endurance)
{
	uint64_t most = 0;

	for (unsigned int t = ANNEX_TIER_SSD; t < ANNEX_TIERS; t++)
		most = r->out[t] > most ? r->out[t] : most;
	return most ? endurance / ((double)most * amplification(r) / r->iteration) / YEAR : 0;
}

static void put_seconds(struct out *out, const char *key, const char *label, double s)
{
	out_json(out, key, json_real(s));
	out_row(out, label, "%.4f s", s);
}

void report_bound(struct out *out, double bound)
{
	out_json(out, "bound_s", isfinite(bound) ? json_real(bound) : NULL);
	if (isinf(bound))
		out_row(out, "lower bound of plans", "no plan can run this");
	else if (!isnan(bound))
		out_row(out, "lower bound of plans", "%.4f s", bound);
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
	out_bytes(out, "out_ssd_bytes", "out to SSD", of_ssds(r->out));
}

static void put_ssds(struct out *out, const struct outcome *o, const struct annex_system *sys,
		     double endurance)
{
	json_t *each = json_array();
	double years = lifetime(&o->r, endurance), times = amplification(&o->r);

	for (unsigned int t = ANNEX_TIER_SSD; t < ANNEX_TIER_SSD + sys->ssds; t++)
		json_array_append_new(each, json_pack("{s:s, s:I, s:I}", "ssd", annex_tier_name(t),
						      "read_bytes", (json_int_t)o->r.in[t],
						      "written_bytes", (json_int_t)o->r.out[t]));
	out_json(out, "ssds", each);
	if (sys->ssd_bytes) {
		out_bytes(out, "ssd_copied_bytes", "garbage collection", o->r.ssd_copied);
		out_count(out, "ssd_updated_entries", "page table entries", o->r.ssd_updated);
		out_json(out, "ssd_write_amplification", times > 0 ? json_real(times) : NULL);
		if (times > 0)
			out_row(out, "write amplification", "%.3f", times);
	}
	out_json(out, "ssd_lifetime_years", years > 0 ? json_real(years) : NULL);
	if (years > 0)
		out_row(out, "SSD lifetime", "%.2f years of this load", years);
}

static json_t *gpu_json(const struct annex_sim_result *r, const char *trace)
{
	return json_pack("{s:o?, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "trace",
			 json_string(trace), "ideal_s", r->ideal, "iteration_s", r->iteration,
			 "stalled_s", r->stalled, "overlapped_s", r->overlapped, "stalled_kernels",
			 (json_int_t)r->stalled_kernels, "faults", (json_int_t)r->faults,
			 "in_host_bytes", (json_int_t)r->in[ANNEX_TIER_HOST], "out_host_bytes",
			 (json_int_t)r->out[ANNEX_TIER_HOST], "in_ssd_bytes",
			 (json_int_t)of_ssds(r->in), "out_ssd_bytes", (json_int_t)of_ssds(r->out),
			 "gpu_peak_bytes", (json_int_t)r->gpu_peak);
}

/* The figures of each GPU; the figures of all are sums, or the slowest GPU's. */
static void put_gpus(struct out *out, const struct outcome *o, const struct work *w,
		     const struct annex_system *sys)
{
	json_t *list = json_array();

	out_row(out, "each GPU", "%2s  %12s %9s %11s %9s %9s  %s", "", "iteration", "of ideal",
		"stalled", "kernels", "faults", "trace");
	for (unsigned int i = 0; i < sys->gpus; i++) {
		const struct annex_sim_result *r = &o->gpus[i];
		const char *trace = w->paths[work_trace(w, i)];
		json_t *one = gpu_json(r, trace);

		if (sys->cxl) {
			json_object_set_new(one, "in_cxl_bytes",
					    json_integer((json_int_t)r->in[ANNEX_TIER_CXL]));
			json_object_set_new(one, "out_cxl_bytes",
					    json_integer((json_int_t)r->out[ANNEX_TIER_CXL]));
		}
		json_array_append_new(list, one);
		out_row(out, "", "%2u  %10.4f s %7.2f %% %9.4f s %9u %9llu  %s", i, r->iteration,
			100 * r->ideal / r->iteration, r->stalled, r->stalled_kernels,
			(ull)r->faults, trace);
	}
	out_json(out, "per_gpu", list);
}

static void put_result(struct out *out, const struct outcome *o, const struct annex_system *sys,
		       double endurance)
{
	const struct annex_sim_result *r = &o->r;

	put_seconds(out, "iteration_s", "iteration", r->iteration);
	report_bound(out, o->bound);
	out_json(out, "share_of_ideal", json_real(r->ideal / r->iteration));
	out_row(out, "share of ideal", "%.2f %%", 100 * r->ideal / r->iteration);
	put_seconds(out, "stalled_s", "stalled", r->stalled);
	put_seconds(out, "overlapped_s", "overlapped", r->overlapped);
	out_count(out, "stalled_kernels", "stalled kernels", r->stalled_kernels);
	out_count(out, "faults", "faults", r->faults);
	put_traffic(out, o, sys);
	put_ssds(out, o, sys, endurance);
	out_bytes(out, "gpu_peak_bytes", "GPU memory, peak", r->gpu_peak);
	out_bytes(out, "host_peak_bytes", "host memory, peak", r->host_peak);
	if (sys->cxl)
		out_bytes(out, "cxl_peak_bytes", "CXL memory, peak", r->cxl_peak);
	out_count(out, "iterations", "iterations", r->iterations);
	out_bool(out, "steady", "steady", r->steady);
	out_count(out, "steps", "steps of the plan", o->steps);
}

void report_outcome(struct out *out, const struct outcome *o, const struct work *w,
		    const struct annex_system *sys, double endurance)
{
	out_text(out, "policy", "policy", o->policy);
	out_json(out, "plan_of", *o->of ? json_string(o->of) : NULL);
	if (*o->of)
		out_row(out, "whose plan is", "%s's", o->of);
	out_count(out, "gpus", "GPUs", sys->gpus);
	out_count(out, "kernels", "kernels", w->traces[0]->n_kernels);
	out_bool(out, "feasible", "feasible", o->feasible);
	out_json(out, "unlimited", json_boolean(o->unlimited));
	if (o->unlimited)
		out_row(out, "GPU memory", "unlimited: the size of the GPU is ignored");
	put_seconds(out, "ideal_s", "ideal", o->feasible ? o->r.ideal : work_ideal(w));
	if (o->feasible) {
		put_result(out, o, sys, endurance);
	} else {
		out_text(out, "reason", "because", o->reason);
		out_json(out, "iteration_s", NULL);
		report_bound(out, o->bound);
	}
	out_seconds(out, "plan_time_s", "time to plan", o->plan_s);
	out_seconds(out, "simulate_time_s", "time to simulate", o->sim_s);
	if (o->feasible && o->gpus)
		put_gpus(out, o, w, sys);
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
	printf("%-18s %12s %9s %10s %10s %10s %10s %10s %9s\n", "policy", "iteration", "of ideal",
	       "bound", "host in", "host out", "SSD in", "SSD out", "faults");
}

void report_line(const struct outcome *o)
{
	const struct annex_sim_result *r = &o->r;
	char bound[OUT_SIZE] = "-", size[4][OUT_SIZE], name[80];

	snprintf(name, sizeof(name), "%s%s%s", o->policy, *o->of ? ", of " : "", o->of);
	if (!o->feasible) {
		printf("%-18s infeasible: %s\n", name, o->reason);
		return;
	}
	if (isfinite(o->bound))
		snprintf(bound, sizeof(bound), "%.4f s", o->bound);
	printf("%-18s %10.4f s %7.2f %% %10s %10s %10s %10s %10s %9llu\n", name, r->iteration,
	       100 * r->ideal / r->iteration, bound,
	       out_size((double)r->in[ANNEX_TIER_HOST], size[0]),
	       out_size((double)r->out[ANNEX_TIER_HOST], size[1]),
	       out_size((double)of_ssds(r->in), size[2]),
	       out_size((double)of_ssds(r->out), size[3]), (ull)r->faults);
}

int report_printed(void)
{
	return fflush(stdout) || ferror(stdout) ? err_sys("cannot write the report") : 0;
}
