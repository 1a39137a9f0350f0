// SPDX-License-Identifier: MIT
/*
 * A random trace in the shape of training, of any size: to see how planning time grows.
 *
 * A layer has a weight and an output, takes the output of the layer before and sometimes that of
 * one further back. It makes four kernels: forward, the gradient of its inputs, that of its weight,
 * and the optimizer's (Adam). The remaining kernels are the loss. Outputs, weights
 * and their states take shares of the peak, kernels shares of ten seconds, by weights drawn at
 * random.
 */
#include <errno.h>
#include <stdlib.h>
#include <annex/detail/random.h>
#include "core/log.h"
#include "generate.h"

#define KERNELS 1000u
#define KERNELS_MAX 1000000u
#define PEAK (120ull << 30)
#define TOTAL_NS 10000000000ull
#define BACK 16u /* how far back most skips reach */

/* Of the peak: outputs, weights with gradients still to come; Adam has twice the weights. */
#define SHARE_OUTPUTS 0.72
#define SHARE_WEIGHTS 0.09

const struct annex_model annex_gen_synthetic_model = {"synthetic",
						      "random, in the shape of training", 0, 0};

/*
 * struct layer - A layer.
 * @from: the layer that a skip connection comes from, or this one.
 * @skip_grad: gradient for that layer, from this one's backward kernel.
 */
struct layer {
	double size, weight_size, ns[4];
	uint32_t from;
	uint32_t out, weight, grad, weight_grad, skip_grad, state[2];
	uint32_t skips, next; /* skips from here: a list by index + 1 */
};

struct synthetic {
	struct annex_trace *trace;
	uint64_t seed, peak;
	uint32_t layers, losses;
	struct layer *layer;
	double sizes, weight_sizes, times; /* sums, to make shares of */
	int err;
};

/* Mostly small, sometimes 25 times as large. */
static double skewed(uint64_t *state)
{
	double u = annex_random_unit(state);

	return 0.2 + 5 * u * u * u;
}

static void draw(struct synthetic *s)
{
	for (uint32_t i = 0; i < s->layers; i++) {
		struct layer *l = &s->layer[i];
		double u = annex_random_unit(&s->seed), reach = annex_random_unit(&s->seed);

		l->size = skewed(&s->seed);
		l->weight_size = skewed(&s->seed);
		s->sizes += l->size;
		s->weight_sizes += l->weight_size;
		for (unsigned int k = 0; k < 4; k++) {
			l->ns[k] = skewed(&s->seed) * (k == 3 ? 0.2 : 1);
			s->times += l->ns[k];
		}
		l->from = i;
		if (i < 2 || u >= 0.25)
			continue;
		/* One in five of these reaches anywhere, as in a U-Net. */
		l->from = (uint32_t)(u < 0.05 ? reach * (i - 1)
					      : i - 2 - reach * (i - 2 < BACK ? i - 2 : BACK));
		l->next = s->layer[l->from].skips;
		s->layer[l->from].skips = i + 1;
	}
}

static uint32_t tensor(struct synthetic *s, double bytes, enum annex_tensor_role role)
{
	struct annex_tensor t = {.birth = ANNEX_KERNEL_NONE,
				 .death = ANNEX_KERNEL_NONE,
				 .role = (uint8_t)role,
				 .global = role == ANNEX_ROLE_WEIGHT ||
					   role == ANNEX_ROLE_OPTIMIZER};
	int id;

	if (s->err)
		return 0;
	t.bytes = ((uint64_t)bytes + GEN_PAGE) / GEN_PAGE * GEN_PAGE;
	id = annex_trace_add_tensor(s->trace, &t);
	if (id < 0)
		s->err = id;
	return id < 0 ? 0 : (uint32_t)id;
}

static double output_bytes(const struct synthetic *s, uint32_t i)
{
	return s->layer[i].size / s->sizes * SHARE_OUTPUTS * (double)s->peak;
}

static double weight_bytes(const struct synthetic *s, uint32_t i)
{
	return s->layer[i].weight_size / s->weight_sizes * SHARE_WEIGHTS * (double)s->peak;
}

static void kernel(struct synthetic *s, const char *name, double ns, struct gen_uses *u)
{
	if (!s->err)
		s->err = annex_trace_add_kernel(s->trace, name,
						(uint64_t)(ns / s->times * TOTAL_NS) + 1, u->in,
						u->n_in, u->out, u->n_out);
}

/* One kernel in three has a workspace, up to twice the mean output. */
static void workspace(struct synthetic *s, struct gen_uses *u)
{
	double u1 = annex_random_unit(&s->seed), u2 = annex_random_unit(&s->seed);

	if (u1 < 1.0 / 3)
		u->out[u->n_out++] = tensor(s, u2 * 2 * SHARE_OUTPUTS * (double)s->peak / s->layers,
					    ANNEX_ROLE_WORKSPACE);
}

static void forward(struct synthetic *s, uint32_t i)
{
	struct layer *l = &s->layer[i];
	struct gen_uses u = {0};

	l->out = tensor(s, output_bytes(s, i), ANNEX_ROLE_ACTIVATION);
	l->weight = tensor(s, weight_bytes(s, i), ANNEX_ROLE_WEIGHT);
	u.in[u.n_in++] = l->weight;
	if (i)
		u.in[u.n_in++] = s->layer[i - 1].out;
	if (l->from != i)
		u.in[u.n_in++] = s->layer[l->from].out;
	u.out[u.n_out++] = l->out;
	workspace(s, &u);
	kernel(s, "Layer_Forward", l->ns[0], &u);
}

/* @grad: gradient of the layer's output, with gradients of skips added in place. */
static void backward(struct synthetic *s, uint32_t i)
{
	struct layer *l = &s->layer[i];
	uint32_t skip = l->skips;
	struct gen_uses u = {.in = {l->grad, l->weight, l->out}, .n_in = 3};
	struct gen_uses w = {.in = {l->grad}, .n_in = 1};

	/* A layer from which very many skip has the gradients of the first few only. */
	for (unsigned int n = 0; skip && n < 8; n++) {
		u.in[u.n_in++] = s->layer[skip - 1].skip_grad;
		skip = s->layer[skip - 1].next;
	}
	u.out[u.n_out++] = l->grad;
	if (i) {
		s->layer[i - 1].grad = tensor(s, output_bytes(s, i - 1), ANNEX_ROLE_ACTIVATION);
		u.out[u.n_out++] = s->layer[i - 1].grad;
		w.in[w.n_in++] = s->layer[i - 1].out;
	}
	if (l->from != i) {
		l->skip_grad = tensor(s, output_bytes(s, l->from), ANNEX_ROLE_ACTIVATION);
		u.out[u.n_out++] = l->skip_grad;
		w.in[w.n_in++] = s->layer[l->from].out;
	}
	workspace(s, &u);
	kernel(s, "Layer_Backward_Input", l->ns[1], &u);
	l->weight_grad = tensor(s, weight_bytes(s, i), ANNEX_ROLE_GRADIENT);
	w.out[w.n_out++] = l->weight_grad;
	workspace(s, &w);
	kernel(s, "Layer_Backward_Weight", l->ns[2], &w);
}

static void update(struct synthetic *s, uint32_t i)
{
	struct layer *l = &s->layer[i];
	struct gen_uses u = {
		.in = {l->weight, l->weight_grad}, .out = {l->weight}, .n_in = 2, .n_out = 1};

	for (unsigned int k = 0; k < 2; k++)
		u.in[u.n_in++] = u.out[u.n_out++] = tensor(s, weight_bytes(s, i),
							   ANNEX_ROLE_OPTIMIZER);
	kernel(s, "Adam_Step", l->ns[3], &u);
}

static void fill(struct synthetic *s)
{
	struct layer *last = &s->layer[s->layers - 1];
	struct gen_uses u = {.n_in = 1, .n_out = 1};

	draw(s);
	for (uint32_t i = 0; i < s->layers && !s->err; i++)
		forward(s, i);
	last->grad = tensor(s, output_bytes(s, s->layers - 1), ANNEX_ROLE_ACTIVATION);
	u.in[0] = last->out;
	u.out[0] = last->grad;
	for (uint32_t i = 0; i < s->losses; i++)
		kernel(s, "Loss", 1, &u);
	for (uint32_t i = s->layers; i-- > 0 && !s->err;)
		backward(s, i);
	for (uint32_t i = 0; i < s->layers && !s->err; i++)
		update(s, i);
	if (!s->err)
		s->err = annex_trace_finish(s->trace);
}

static int check(const struct annex_trace_spec *spec, uint64_t kernels)
{
	static const char *const words[] = {"batches",
					    "sequences",
					    "choice of layers",
					    "choice of width",
					    "images",
					    "choice of dtype",
					    "choice of optimizer",
					    "batches",
					    "optimizer on the host",
					    "layers"};
	const uint64_t values[] = {spec->batch,     spec->seq,        spec->layers,
				   spec->hidden,    spec->image,      spec->dtype,
				   spec->optimizer, spec->accumulate, spec->host_step != 0,
				   spec->vertical};
	int err = 0;

	for (unsigned int i = 0; i < sizeof(values) / sizeof(values[0]) && !err; i++)
		err = annex_gen_without(spec->model, words[i], values[i]);
	if (!err && spec->gpu)
		err = annex_fail(-EINVAL, "%s is made for no GPU", spec->model);
	if (!err && kernels < 5)
		err = annex_fail(-EINVAL, "%s needs 5 kernels at least", spec->model);
	if (!err && (kernels > KERNELS_MAX || spec->peak > ANNEX_TRACE_MAX_BYTES / 2))
		err = annex_fail(-E2BIG, "%s goes up to %u kernels and a peak of %llu bytes",
				 spec->model, KERNELS_MAX, ANNEX_TRACE_MAX_BYTES / 2);
	return err;
}

int annex_gen_synthetic(const struct annex_trace_spec *spec, struct annex_trace **trace)
{
	uint64_t kernels = spec->kernels ? spec->kernels : KERNELS;
	struct synthetic s = {.seed = spec->seed, .peak = spec->peak ? spec->peak : PEAK};
	int err = check(spec, kernels);

	if (err)
		return err;
	s.layers = (uint32_t)(kernels - 1) / 4;
	s.losses = (uint32_t)kernels - 4 * s.layers;
	s.times = s.losses;
	s.layer = calloc(s.layers, sizeof(*s.layer));
	if (!s.layer)
		return annex_fail(-ENOMEM, "out of memory");
	s.err = annex_trace_create(spec->model, "none, generated", 0, &s.trace);
	if (!s.err)
		fill(&s);
	free(s.layer);
	if (s.err)
		annex_trace_free(s.trace);
	else
		*trace = s.trace;
	return s.err;
}
