// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "../cli.h"
#include "../error.h"
#include "../mem.h"
#include "../out.h"
#include "../median.h"
#include "blas.h"
#include "train.h"

/* Time of all iterations of the second half, the stall in it, and the median of an iteration. */
struct half {
	double seconds, stall, middle;
	uint32_t n, planned;
};

static int sum_up(const struct train *t, struct half *h)
{
	double *each;

	*h = (struct half){.n = t->done - t->first};
	each = calloc(h->n, sizeof(*each));
	if (!each)
		return err_set(-ENOMEM, "out of memory");
	for (uint32_t i = 0; i < h->n; i++) {
		const struct train_step *s = &t->steps[t->first + i];

		each[i] = (double)s->ns / 1e9;
		h->seconds += each[i];
		h->stall += (double)s->stall_ns / 1e9;
		h->planned += s->planned;
	}
	h->middle = median(each, h->n);
	free(each);
	return 0;
}

static void put_model(struct out *out, const struct train *t)
{
	const struct shape *s = &t->opts->shape;

	out_text(out, "text", "text", t->opts->text);
	out_bytes(out, "text_bytes", "its size", t->text_bytes);
	out_count(out, "layers", "layers", s->layers);
	out_count(out, "width", "width", s->width);
	out_count(out, "heads", "heads", s->heads);
	out_count(out, "context", "context", s->context);
	out_count(out, "batch", "batch", s->batch);
	out_count(out, "steps", "steps", t->opts->steps);
	out_count(out, "seed", "seed", t->opts->seed);
	out_count(out, "threads", "threads", t->opts->threads);
	out_text(out, "blas", "products by", blas_name());
	out_count(out, "parameters", "parameters", t->params);
	out_bytes(out, "tensors_bytes", "tensors, at most", t->tensors);
}

static void put_memory(struct out *out, const struct train *t)
{
	const struct train_opts *o = t->opts;
	json_t *stores = json_array();

	out_json(out, "device_bytes", o->device ? json_integer((json_int_t)o->device) : NULL);
	out_json(out, "plain", json_boolean(o->plain));
	out_json(out, "host_bytes", json_integer((json_int_t)o->host));
	for (unsigned int i = 0; i < o->n_stores; i++)
		json_array_append_new(stores, json_string(o->stores[i]));
	out_json(out, "storage", stores);
	if (o->device) {
		char size[2][OUT_SIZE];

		out_row(out, "device tier", "%s, host tier %s",
			out_size((double)o->device, size[0]), out_size((double)o->host, size[1]));
		out_text(out, "policy", "policy", o->policy);
	} else {
		out_row(out, o->plain ? "memory" : "device tier",
			o->plain ? "malloc()" : "as much as it wants");
		out_json(out, "policy", NULL);
	}
	out_bytes(out, "resident_bytes", "process, at most", t->resident);
	out_bytes(out, "resident_base_bytes", "before it had tensors", t->base);
	out_json(out, "resident_peak_bytes", json_integer((json_int_t)mem_peak()));
}

static void put_moved(struct out *out, const struct train *t, const struct half *h)
{
	const struct annex_space_stats *a = &t->before, *b = &t->stats;

	out_bytes(out, "in_bytes", "came, an iteration", (b->in - a->in) / h->n);
	out_bytes(out, "out_bytes", "left, an iteration", (b->out - a->out) / h->n);
	out_bytes(out, "clean_bytes", "left unwritten", (b->clean - a->clean) / h->n);
	out_bytes(out, "reclaimed_bytes", "left for want of room",
		  (b->reclaimed - a->reclaimed) / h->n);
	out_bytes(out, "bounced_bytes", "passed a buffer", (b->bounced - a->bounced) / h->n);
	out_count(out, "faults", "faults, an iteration", (b->faults - a->faults) / h->n);
}

static void put_speed(struct out *out, const struct train *t, const struct half *h)
{
	double tokens = (double)t->opts->shape.batch * t->opts->shape.context;

	out_json(out, "first_loss", json_real(t->steps[0].loss));
	out_json(out, "loss", json_real(t->steps[t->done - 1].loss));
	/* fabs(): what is no number has no sign. */
	out_row(out, "loss", "%.4f at first, %.4f at last", fabs(t->steps[0].loss),
		fabs(t->steps[t->done - 1].loss));
	out_count(out, "plans", "plans", t->exec.plans);
	out_count(out, "planned", "iterations by plan, of the last", h->planned);
	out_seconds(out, "iteration_s", "iteration", h->middle);
	if (t->predicted > 0)
		out_seconds(out, "predicted_s", "as simulated", t->predicted);
	else
		out_json(out, "predicted_s", NULL);
	out_rate(out, "tokens_per_s", "speed", tokens / h->middle, " tokens");
	out_seconds(out, "user_s", "computed, an iteration", (double)t->user_ns / 1e9 / h->n);
	out_seconds(out, "kernel_s", "and in the kernel", (double)t->kernel_ns / 1e9 / h->n);
	out_percent(out, "stall_share", "waited for tensors", h->stall / h->seconds);
}

/* Each iteration by itself. */
static void put_steps(struct out *out, const struct train *t)
{
	json_t *losses = json_array(), *steps = json_array();

	for (uint32_t i = 0; i < t->done; i++) {
		const struct train_step *s = &t->steps[i];
		json_t *one = json_object();

		json_array_append_new(losses, isfinite(s->loss) ? json_real(s->loss) : json_null());
		json_object_set_new(one, "s", json_real((double)s->ns / 1e9));
		json_object_set_new(one, "stall_s", json_real((double)s->stall_ns / 1e9));
		json_object_set_new(one, "planned", json_boolean(s->planned));
		json_object_set_new(one, "device_bytes", json_integer((json_int_t)s->device));
		json_object_set_new(one, "host_bytes", json_integer((json_int_t)s->host));
		json_object_set_new(one, "stored_bytes", json_integer((json_int_t)s->stored));
		json_object_set_new(one, "resident_bytes", json_integer((json_int_t)s->resident));
		json_array_append_new(steps, one);
	}
	out_json(out, "losses", losses);
	out_json(out, "iterations", steps);
}

static void put_kernels(struct out *out, const struct train *t, const struct half *h)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < MODEL_KERNELS && t->times[i].name; i++) {
		const struct model_time *k = &t->times[i];
		json_t *one = json_object();

		json_object_set_new(one, "kernel", json_string(k->name));
		json_object_set_new(one, "calls", json_integer((json_int_t)(k->calls / h->n)));
		json_object_set_new(one, "s", json_real((double)k->ns / 1e9 / h->n));
		json_object_set_new(one, "stall_s", json_real((double)k->stall_ns / 1e9 / h->n));
		json_array_append_new(list, one);
	}
	out_json(out, "kernels", list);
}

int train_report(const struct train *t)
{
	struct half h;
	struct out out;
	int err = sum_up(t, &h);

	if (err)
		return err;
	out_init(&out, cli_name(), t->opts->json);
	put_model(&out, t);
	put_memory(&out, t);
	put_speed(&out, t, &h);
	put_moved(&out, t, &h);
	if (t->opts->json) {
		put_steps(&out, t);
		put_kernels(&out, t, &h);
	}
	return out_end(&out);
}
