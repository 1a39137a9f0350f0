// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "tools/common/error.h"
#include "report.h"
#include "view.h"

#define BIGGEST 10
#define PARTS 16 /* of the iteration */
#define NAME 33  /* bytes of a kernel's name in a table */

/*
 * struct journey - Movements of a tensor.
 * @leaves: the first step that takes some of it away; NULL: none.
 * @returns: the next step that brings some back, maybe in the next iteration; NULL: none.
 * @out: bytes that leave in an iteration.
 * @in: bytes that return in an iteration.
 */
struct journey {
	const struct annex_plan_step *leaves, *returns;
	uint64_t out, in;
};

/* struct part - Kernels that start in a part of the iteration, and bytes that move meanwhile. */
struct part {
	uint32_t first, n;
	uint64_t start, end, gpu, in, out, stalled;
};

/* The machine that the plan was made for, where no option says otherwise. */
static void set_machine(const struct annex_plan *plan, struct machine *m)
{
	struct annex_system *sys = &m->sys;

	if (!(m->given & machine_sets("gpu")))
		sys->gpu = plan->gpu;
	if (!(m->given & machine_sets("host")))
		sys->host = plan->host * sys->gpus;
	if (!(m->given & machine_sets("cxl")))
		sys->cxl = plan->cxl * sys->gpus;
	if (sys->cxl && !(m->given & machine_sets("cxl-rate")))
		sys->cxl_rate = sys->pcie;
	for (size_t i = 0; i < plan->n_steps && !(m->given & machine_sets("ssds")); i++)
		if (plan->steps[i].tier >= ANNEX_TIER_SSD + sys->ssds)
			sys->ssds = plan->steps[i].tier - ANNEX_TIER_SSD + 1u;
}

static int simulate(struct view *v, const struct annex_system *sys)
{
	struct annex_sim_options opts = {.samples = NULL};

	v->samples = calloc(v->plan->n_kernels, sizeof(*v->samples));
	if (!v->samples)
		return err_set(-ENOMEM, "out of memory");
	opts.samples = v->samples;
	return work_plan(&v->work, sys, v->plan, &opts, &v->outcome);
}

int view_open(struct view *v, const struct annex_plan *plan, const char *name, const char *trace,
	      struct machine *m)
{
	char *path = (char *)trace; /* which work_open() only reads */
	int err = work_open(&v->work, &path, 1);

	if (err)
		return err;
	v->plan = plan;
	set_machine(plan, m);
	err = annex_plan_check(plan, v->work.traces[0], &m->sys);
	if (err)
		return err_lib(err, "%s", name);
	return plan->flags & ANNEX_PLAN_UNLIMITED ? 0 : simulate(v, &m->sys);
}

void view_close(struct view *v)
{
	free(v->samples);
	outcome_free(&v->outcome);
	work_close(&v->work);
}

static struct journey journey_of(const struct annex_plan *plan, uint32_t tensor)
{
	const struct annex_plan_step *earliest = NULL;
	struct journey j = {.out = 0};

	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct annex_plan_step *s = &plan->steps[i];

		if (s->tensor != tensor)
			continue;
		if (s->op == ANNEX_PLAN_EVICT) {
			j.leaves = j.leaves ? j.leaves : s;
			j.out += s->bytes;
		} else if (s->op == ANNEX_PLAN_PREFETCH) {
			earliest = earliest ? earliest : s;
			j.returns = j.returns || !j.leaves ? j.returns : s;
			j.in += s->bytes;
		}
	}
	j.returns = j.returns ? j.returns : earliest;
	return j;
}

/* The biggest tensors, by size and then by number. Return: how many. */
static unsigned int biggest(const struct annex_trace *t, uint32_t *ids)
{
	unsigned int n = 0;

	for (uint32_t id = 0; id < t->n_tensors; id++) {
		unsigned int at = n;

		while (at && t->tensors[ids[at - 1]].bytes < t->tensors[id].bytes)
			at--;
		if (at == BIGGEST)
			continue;
		n += n < BIGGEST;
		for (unsigned int i = n - 1; i > at; i--)
			ids[i] = ids[i - 1];
		ids[at] = id;
	}
	return n;
}

/* The name of the first kernel that uses a tensor; NULL: none does. */
static const char *first_user(const struct annex_trace *t, uint32_t tensor)
{
	for (uint32_t k = 0; k < t->n_kernels; k++)
		for (uint32_t i = t->kernels[k].first; i < t->kernels[k + 1].first; i++)
			if (t->uses[i].tensor == tensor)
				return t->kernels[k].name;
	return NULL;
}

static unsigned int split(const struct view *v, struct part *parts)
{
	const struct annex_trace *t = v->work.traces[0];
	uint64_t length = v->samples[t->n_kernels - 1].end / PARTS + 1;
	unsigned int n = 0, last = PARTS;

	for (uint32_t k = 0; k < t->n_kernels; k++) {
		const struct annex_sim_sample *s = &v->samples[k];
		unsigned int at = (unsigned int)(s->start / length);
		struct part *p = &parts[at == last ? n - 1 : n];

		if (at != last)
			parts[n++] = (struct part){.first = k, .start = s->start};
		last = at;
		p->n++;
		p->end = s->end;
		p->gpu = s->gpu > p->gpu ? s->gpu : p->gpu;
		p->in += s->in;
		p->out += s->out;
		if (s->end - s->start > t->kernels[k].ns)
			p->stalled += s->end - s->start - t->kernels[k].ns;
	}
	return n;
}

static json_t *time_json(const struct annex_plan_step *s)
{
	return s ? json_real((double)s->ns * 1e-9) : json_null();
}

static json_t *tensors_json(const struct view *v)
{
	const struct annex_trace *t = v->work.traces[0];
	json_t *list = json_array();
	uint32_t ids[BIGGEST];
	unsigned int n = biggest(t, ids);

	for (unsigned int i = 0; i < n; i++) {
		struct journey j = journey_of(v->plan, ids[i]);

		json_array_append_new(
			list,
			json_pack("{s:I, s:I, s:b, s:s?, s:I, s:I, s:o, s:o}", "tensor",
				  (json_int_t)ids[i], "bytes", (json_int_t)t->tensors[ids[i]].bytes,
				  "global", t->tensors[ids[i]].global, "first_used_by",
				  first_user(t, ids[i]), "evicted_bytes", (json_int_t)j.out,
				  "prefetched_bytes", (json_int_t)j.in, "leaves_s",
				  time_json(j.leaves), "returns_s", time_json(j.returns)));
	}
	return list;
}

static json_t *parts_json(const struct view *v)
{
	struct part parts[PARTS];
	json_t *list = json_array();
	unsigned int n = split(v, parts);

	for (unsigned int i = 0; i < n; i++) {
		const struct part *p = &parts[i];

		json_array_append_new(list,
				      json_pack("{s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:f}",
						"start_s", (double)p->start * 1e-9, "end_s",
						(double)p->end * 1e-9, "first_kernel",
						(json_int_t)p->first, "kernels", (json_int_t)p->n,
						"gpu_bytes", (json_int_t)p->gpu, "in_bytes",
						(json_int_t)p->in, "out_bytes", (json_int_t)p->out,
						"stalled_s", (double)p->stalled * 1e-9));
	}
	return list;
}

static void put_seconds(struct out *out, const char *key, const char *label, double s)
{
	out_json(out, key, json_real(s));
	out_row(out, label, "%.4f s", s);
}

void view_report(const struct view *v, struct out *out)
{
	const struct annex_sim_result *r = &v->outcome.r;
	uint64_t in = 0, away = 0;

	out_bool(out, "checked", "fits its trace", true);
	if (!v->samples)
		return;
	for (unsigned int t = ANNEX_TIER_HOST; t < ANNEX_TIERS; t++) {
		in += r->in[t];
		away += r->out[t];
	}
	put_seconds(out, "iteration_s", "iteration", r->iteration);
	report_bound(out, v->outcome.bound);
	put_seconds(out, "ideal_s", "ideal", r->ideal);
	put_seconds(out, "stalled_s", "stalled", r->stalled);
	out_count(out, "stalled_kernels", "stalled kernels", r->stalled_kernels);
	out_bytes(out, "in_bytes", "in", in);
	out_bytes(out, "out_bytes", "out", away);
	out_bytes(out, "gpu_peak_bytes", "GPU memory, peak", r->gpu_peak);
	out_json(out, "biggest", tensors_json(v));
	out_json(out, "timeline", parts_json(v));
}

static void print_time(const struct annex_plan_step *s)
{
	if (s)
		printf(" %10.4f s", (double)s->ns * 1e-9);
	else
		printf(" %12s", "-");
}

static void print_tensors(const struct view *v)
{
	const struct annex_trace *t = v->work.traces[0];
	char size[3][OUT_SIZE], name[NAME];
	uint32_t ids[BIGGEST];
	unsigned int n = biggest(t, ids);

	printf("\n  %8s %10s %10s %10s %12s %12s  %s\n", "tensor", "size", "out", "in", "leaves",
	       "returns", "first used by");
	for (unsigned int i = 0; i < n; i++) {
		struct journey j = journey_of(v->plan, ids[i]);

		printf("  %8u %10s %10s %10s", ids[i],
		       out_size((double)t->tensors[ids[i]].bytes, size[0]),
		       out_size((double)j.out, size[1]), out_size((double)j.in, size[2]));
		print_time(j.leaves);
		print_time(j.returns);
		printf("  %s%s\n", work_clean(first_user(t, ids[i]), name, sizeof(name)),
		       t->tensors[ids[i]].global ? ", global" : "");
	}
}

void view_print(const struct view *v)
{
	struct part parts[PARTS];
	unsigned int n;
	char size[3][OUT_SIZE], name[NAME];

	if (!v->samples)
		return;
	n = split(v, parts);
	print_tensors(v);
	printf("\n  %10s %8s %10s %10s %10s %12s  %s\n", "start", "kernel", "GPU memory", "in",
	       "out", "stalled", "name");
	for (unsigned int i = 0; i < n; i++) {
		const struct part *p = &parts[i];

		printf("  %8.4f s %8u %10s %10s %10s %10.4f s  %s\n", (double)p->start * 1e-9,
		       p->first, out_size((double)p->gpu, size[0]),
		       out_size((double)p->in, size[1]), out_size((double)p->out, size[2]),
		       (double)p->stalled * 1e-9,
		       work_clean(v->work.traces[0]->kernels[p->first].name, name, sizeof(name)));
	}
}
