// SPDX-License-Identifier: MIT
/*
 * Generated traces: models have the parameters and the arithmetic that are known of them, and do to
 * memory what training does.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <annex/generate.h>
#include <annex/log.h>
#include <annex/vitality.h>
#include "tests/unit/unit.h"

static struct annex_trace *generate(struct annex_trace_spec spec)
{
	struct annex_trace *trace = NULL;

	CU_ASSERT_EQUAL_FATAL(annex_trace_generate(&spec, &trace), 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
	return trace;
}

static int refusal(struct annex_trace_spec spec)
{
	struct annex_trace *trace = (struct annex_trace *)&spec;
	int err = annex_trace_generate(&spec, &trace);

	CU_ASSERT_PTR_NULL(trace);
	CU_ASSERT(annex_last_error()[0] && !strchr(annex_last_error(), '\n'));
	return err;
}

static uint64_t role_bytes(const struct annex_trace *trace, enum annex_tensor_role role)
{
	uint64_t bytes = 0;

	for (uint32_t t = 0; t < trace->n_tensors; t++)
		bytes += trace->tensors[t].role == role ? trace->tensors[t].bytes : 0;
	return bytes;
}

static bool near(double a, double b, double tolerance)
{
	return fabs(a / b - 1) <= tolerance;
}

/* Published numbers of parameters, in millions; the trace's weights take 4 bytes for each. */
static void parameters_are_those_published(void)
{
	static const struct {
		const char *model;
		double params;
	} known[] = {
		{"bert-base", 110}, {"bert-large", 335},  {"vit-b16", 86.6},   {"vit-l16", 304},
		{"gpt2", 124},      {"gpt2-medium", 355}, {"gpt2-xl", 1558},   {"llama-1b", 1236},
		{"llama-7b", 6738}, {"resnet50", 25.6},   {"resnet101", 44.5}, {"resnet152", 60.2},
		{"llama-8b", 8030}, {"granite-8b", 8054}, {"opt-30b", 29975},  {"llama-70b", 70554},
	};

	for (unsigned int i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct annex_trace_spec spec = {.model = known[i].model, .dtype = ANNEX_DTYPE_FP32};
		struct annex_trace *trace = generate(spec);
		struct annex_work work;

		CU_ASSERT_EQUAL_FATAL(annex_trace_work(&spec, &work), 0);
		CU_ASSERT(near((double)work.params, known[i].params * 1e6, 0.01));
		CU_ASSERT(near((double)role_bytes(trace, ANNEX_ROLE_WEIGHT),
			       (double)work.params * 4, 0.02));
		annex_trace_free(trace);
	}
}

static void forward_flops_are_two_a_parameter_and_token(void)
{
	static const struct {
		const char *model;
		double tokens;
	} known[] = {{"bert-base", 256 * 128},
		     {"gpt2", 32 * 1024},
		     {"gpt2-xl", 8 * 1024},
		     {"vit-b16", 512 * 197},
		     {"llama-7b", 4 * 2048}};
	struct annex_trace_spec spec = {.batch = 1};
	struct annex_work work;

	for (unsigned int i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		CU_ASSERT_EQUAL_FATAL(
			annex_trace_work(&(struct annex_trace_spec){.model = known[i].model},
					 &work),
			0);
		CU_ASSERT(near(work.forward_flops - work.attention_flops,
			       2 * (double)work.params * known[i].tokens, 0.15));
	}
	spec.model = "resnet50";
	CU_ASSERT_EQUAL_FATAL(annex_trace_work(&spec, &work), 0);
	CU_ASSERT(near(work.forward_flops, 2 * 4.1e9, 0.02));
	spec.model = "resnet152";
	CU_ASSERT_EQUAL_FATAL(annex_trace_work(&spec, &work), 0);
	CU_ASSERT(near(work.forward_flops, 2 * 11.5e9, 0.02));
}

static void optimizers_have_their_state(void)
{
	static const struct {
		enum annex_optimizer optimizer;
		enum annex_dtype dtype;
		double bytes; /* of state, a parameter */
	} known[] = {{ANNEX_OPTIMIZER_MOMENTUM, ANNEX_DTYPE_FP32, 4},
		     {ANNEX_OPTIMIZER_ADAM, ANNEX_DTYPE_FP32, 8},
		     {ANNEX_OPTIMIZER_ADAM, ANNEX_DTYPE_TF32, 8},
		     {ANNEX_OPTIMIZER_ADAM, ANNEX_DTYPE_BF16, 12},
		     {ANNEX_OPTIMIZER_SGD, ANNEX_DTYPE_FP16, 4}};
	struct annex_trace_spec spec = {.model = "gpt2"};
	struct annex_trace *trace;

	for (unsigned int i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		spec.optimizer = known[i].optimizer;
		spec.dtype = known[i].dtype;
		trace = generate(spec);
		CU_ASSERT(near((double)role_bytes(trace, ANNEX_ROLE_OPTIMIZER),
			       124.4e6 * known[i].bytes, 0.02));
		CU_ASSERT_EQUAL(role_bytes(trace, ANNEX_ROLE_GRADIENT),
				role_bytes(trace, ANNEX_ROLE_WEIGHT));
		annex_trace_free(trace);
	}
	spec.optimizer = ANNEX_OPTIMIZER_SGD;
	spec.dtype = ANNEX_DTYPE_FP32;
	trace = generate(spec);
	CU_ASSERT_EQUAL(role_bytes(trace, ANNEX_ROLE_OPTIMIZER), 0);
	annex_trace_free(trace);
}

static bool is_step(const struct annex_trace *trace, uint32_t kernel)
{
	return strstr(trace->kernels[kernel].name, "_Step");
}

/* Uses of a trace's tensors by kind of kernel. */
struct usage {
	uint32_t forward, backward, steps, written, last;
};

static struct usage *usage_of(const struct annex_trace *trace)
{
	struct usage *usage = calloc(trace->n_tensors, sizeof(*usage));

	CU_ASSERT_PTR_NOT_NULL_FATAL(usage);
	for (uint32_t k = 0; k < trace->n_kernels; k++) {
		const char *name = trace->kernels[k].name;

		for (uint32_t u = trace->kernels[k].first; u < trace->kernels[k + 1].first; u++) {
			struct usage *t = &usage[trace->uses[u].tensor];

			t->forward += strstr(name, "_Forward") ? 1 : 0;
			t->backward += strstr(name, "ward") && !strstr(name, "_Forward") ? 1 : 0;
			t->steps += is_step(trace, k);
			t->written += trace->uses[u].how & ANNEX_USE_WRITE ? 1 : 0;
			t->last = k;
		}
	}
	return usage;
}

static void tensors_live_as_in_training(const char *model)
{
	struct annex_trace *trace = generate((struct annex_trace_spec){.model = model});
	struct usage *usage = usage_of(trace);
	uint64_t saved = 0, activations = 0;

	for (uint32_t t = 0; t < trace->n_tensors; t++) {
		const struct annex_tensor *x = &trace->tensors[t];
		const struct usage *u = &usage[t];

		CU_ASSERT_EQUAL(x->bytes % 4096, 0);
		switch (x->role) {
		case ANNEX_ROLE_WEIGHT: /* only the optimizer writes it */
			CU_ASSERT(x->global && u->forward && u->steps == 1 && u->written == 1);
			break;
		case ANNEX_ROLE_OPTIMIZER:
			CU_ASSERT(x->global && !u->forward && !u->backward && u->steps == 1);
			break;
		case ANNEX_ROLE_GRADIENT:
			CU_ASSERT(!x->global && !u->forward && u->backward && u->steps == 1);
			CU_ASSERT(is_step(trace, u->last));
			break;
		case ANNEX_ROLE_WORKSPACE:
			CU_ASSERT(!x->global && u->forward + u->backward == 1);
			break;
		case ANNEX_ROLE_ACTIVATION:
			CU_ASSERT(!x->global && !u->steps && u->written);
			activations += u->forward ? x->bytes : 0;
			saved += u->forward && u->backward ? x->bytes : 0;
			break;
		default:
			break;
		}
	}
	CU_ASSERT(saved > activations / 3); /* most wait for the backward pass */
	free(usage);
	annex_trace_free(trace);
}

static void every_model_trains(void)
{
	const struct annex_model *model;
	unsigned int n = 0;

	for (; (model = annex_model_at(n)); n++) {
		if (!strcmp(model->name, "synthetic")) {
			CU_ASSERT_PTR_NULL(annex_model_at(n + 1));
			continue;
		}
		tensors_live_as_in_training(model->name);
	}
	CU_ASSERT(n > 12);
}

static double ideal(struct annex_trace_spec spec)
{
	struct annex_trace *trace = generate(spec);
	double ns = 0;

	for (uint32_t k = 0; k < trace->n_kernels; k++)
		ns += (double)trace->kernels[k].ns;
	annex_trace_free(trace);
	return ns;
}

/* Forward, and twice that backward, at no more than the GPU's peak. */
static void times_follow_the_gpu(void)
{
	struct annex_trace_spec spec = {.model = "bert-base", .dtype = ANNEX_DTYPE_FP16};
	const struct annex_gpu *gpu;
	struct annex_work work;

	CU_ASSERT_EQUAL_FATAL(annex_trace_work(&spec, &work), 0);
	for (unsigned int i = 0; (gpu = annex_gpu_at(i)); i++) {
		spec.gpu = gpu->name;
		CU_ASSERT_PTR_EQUAL(annex_gpu_find(gpu->name), gpu);
		CU_ASSERT(ideal(spec) * 1e-9 >
			  3 * work.forward_flops / gpu->flops[ANNEX_DTYPE_FP16]);
	}
	CU_ASSERT_PTR_NULL(annex_gpu_find("abacus"));
	gpu = annex_gpu_find("h100");
	CU_ASSERT(near(annex_gpu_ns(gpu, ANNEX_DTYPE_FP32, 67e12 * 0.6, 1), 1e9 + 4000, 1e-9));
	CU_ASSERT(near(annex_gpu_ns(gpu, ANNEX_DTYPE_FP32, 1, 3350e9 * 0.8), 1e9 + 4000, 1e-9));
	spec.gpu = "t4";
	CU_ASSERT(ideal(spec) > 2 * ideal((struct annex_trace_spec){.model = "bert-base",
								    .gpu = "h100",
								    .dtype = ANNEX_DTYPE_FP16}));
	spec = (struct annex_trace_spec){.model = "gpt2", .batch = 8};
	CU_ASSERT(near(ideal((struct annex_trace_spec){.model = "gpt2", .batch = 16}) / ideal(spec),
		       2, 0.1));
}

static void numbers_change_the_model(void)
{
	struct annex_trace_spec spec = {.model = "gpt2", .layers = 24, .hidden = 1536};
	struct annex_work work, more;
	struct annex_trace *small, *large;

	CU_ASSERT_EQUAL_FATAL(annex_trace_work(&spec, &work), 0);
	CU_ASSERT(near((double)work.params, 24 * 12 * 1536.0 * 1536 + 51281 * 1536.0, 0.01));
	spec = (struct annex_trace_spec){.model = "vit-b16", .batch = 1};
	CU_ASSERT_EQUAL_FATAL(annex_trace_work(&spec, &work), 0);
	spec.image = 448;
	CU_ASSERT_EQUAL_FATAL(annex_trace_work(&spec, &more), 0);
	CU_ASSERT(more.forward_flops > 4 * work.forward_flops);
	small = generate((struct annex_trace_spec){.model = "gpt2", .batch = 4, .seq = 256});
	large = generate((struct annex_trace_spec){.model = "gpt2", .batch = 4, .seq = 512});
	CU_ASSERT_EQUAL(small->batch, 4);
	CU_ASSERT_EQUAL(small->n_kernels, large->n_kernels);
	CU_ASSERT(role_bytes(large, ANNEX_ROLE_ACTIVATION) >
		  2 * role_bytes(small, ANNEX_ROLE_ACTIVATION));
	annex_trace_free(small);
	annex_trace_free(large);
}

/* Kernels of the optimizer excepted, an iteration repeats; each gradient is one tensor. */
static void gradients_add_up(void)
{
	struct annex_trace_spec spec = {.model = "gpt2", .batch = 2, .layers = 2};
	struct annex_trace *once = generate(spec), *thrice;
	uint32_t steps = 0;
	struct usage *usage;

	for (uint32_t k = 0; k < once->n_kernels; k++)
		steps += is_step(once, k);
	spec.accumulate = 3;
	thrice = generate(spec);
	CU_ASSERT_EQUAL(thrice->batch, 6);
	CU_ASSERT_EQUAL(thrice->n_kernels - steps, 3 * (once->n_kernels - steps));
	for (unsigned int role = 0; role < ANNEX_ROLES; role++)
		CU_ASSERT_EQUAL(role_bytes(thrice, role),
				role_bytes(once, role) *
					(role == ANNEX_ROLE_ACTIVATION ||
							 role == ANNEX_ROLE_INPUT ||
							 role == ANNEX_ROLE_WORKSPACE
						 ? 3
						 : 1));
	usage = usage_of(thrice);
	for (uint32_t t = 0; t < thrice->n_tensors; t++) {
		if (thrice->tensors[t].role == ANNEX_ROLE_GRADIENT)
			CU_ASSERT(usage[t].written >= 3 && is_step(thrice, usage[t].last));
		if (thrice->tensors[t].role == ANNEX_ROLE_ACTIVATION)
			CU_ASSERT(usage[t].written && usage[t].written < 4);
	}
	free(usage);
	annex_trace_free(once);
	annex_trace_free(thrice);
}

/* The first kernel from @from on that uses a tensor of this name. */
static uint32_t first_use(const struct annex_trace *t, uint32_t from, const char *name)
{
	for (uint32_t k = from; k < t->n_kernels; k++)
		for (uint32_t u = t->kernels[k].first; u < t->kernels[k + 1].first; u++) {
			const char *own = t->tensors[t->uses[u].tensor].name;

			if (own && !strcmp(own, name))
				return k;
		}
	return t->n_kernels;
}

/* All batches pass a layer before the next one; the loss and the head are left batch by batch. */
static void batches_can_go_layer_by_layer(void)
{
	struct annex_trace_spec spec = {
		.model = "llama-7b", .batch = 2, .layers = 2, .accumulate = 3};
	struct annex_trace *rows = generate(spec), *columns;
	uint32_t next, k, heads = 0, losses = 0;

	spec.vertical = true;
	columns = generate(spec);
	CU_ASSERT_EQUAL(columns->n_kernels, rows->n_kernels);
	CU_ASSERT_EQUAL(columns->n_tensors, rows->n_tensors);
	for (unsigned int role = 0; role < ANNEX_ROLES; role++)
		CU_ASSERT_EQUAL(role_bytes(columns, role), role_bytes(rows, role));
	next = first_use(columns, 0, "layer.1.mlp.down.weight");
	k = 0;
	for (unsigned int i = 0; i < 3; i++)
		k = first_use(columns, k, "layer.0.mlp.down.weight") + 1;
	CU_ASSERT(k <= next);
	k = 0;
	for (unsigned int i = 0; i < 2; i++)
		k = first_use(rows, k, "layer.0.mlp.down.weight") + 1;
	CU_ASSERT(k > first_use(rows, 0, "layer.1.mlp.down.weight"));
	for (k = 0; k < columns->n_kernels; k++) {
		const char *name = columns->kernels[k].name;

		losses += !strcmp(name, "NllLoss_Backward");
		if (!strcmp(name, "NllLoss_Forward"))
			CU_ASSERT_EQUAL(heads++, losses);
	}
	CU_ASSERT_EQUAL(heads, 3);
	annex_trace_free(rows);
	annex_trace_free(columns);
}

/* One kernel without tensors is the optimizer; gradients live until it has run. */
static void the_host_can_run_the_optimizer(void)
{
	struct annex_trace_spec spec = {.model = "gpt2", .batch = 1, .host_step = 1e9};
	struct annex_trace *trace = generate(spec);
	uint32_t last = trace->n_kernels - 1;
	struct annex_work work;

	CU_ASSERT_EQUAL_FATAL(annex_trace_work(&spec, &work), 0);
	CU_ASSERT_STRING_EQUAL(trace->kernels[last].name, "Adam_HostStep");
	CU_ASSERT_EQUAL(trace->kernels[last].first, trace->n_uses);
	CU_ASSERT(near((double)trace->kernels[last].ns, (double)work.params, 1e-6));
	CU_ASSERT_EQUAL(role_bytes(trace, ANNEX_ROLE_OPTIMIZER), 0);
	for (uint32_t t = 0; t < trace->n_tensors; t++)
		if (trace->tensors[t].role == ANNEX_ROLE_GRADIENT)
			CU_ASSERT_EQUAL(trace->tensors[t].death, last);
	for (uint32_t k = 0; k < last; k++)
		CU_ASSERT_PTR_NULL(strstr(trace->kernels[k].name, "Step"));
	annex_trace_free(trace);
}

static void absurd_numbers_are_refused(void)
{
	typedef struct annex_trace_spec spec;

	CU_ASSERT_EQUAL(refusal((spec){.model = NULL}), -EINVAL);
	CU_ASSERT_EQUAL(refusal((spec){.model = "gpt17"}), -EINVAL);
	CU_ASSERT_EQUAL(refusal((spec){.model = "gpt2", .gpu = "abacus"}), -EINVAL);
	CU_ASSERT_EQUAL(refusal((spec){.model = "gpt2", .dtype = ANNEX_DTYPES}), -EINVAL);
	CU_ASSERT_EQUAL(refusal((spec){.model = "gpt2", .optimizer = ANNEX_OPTIMIZERS}), -EINVAL);
	CU_ASSERT_EQUAL(refusal((spec){.model = "llama-7b", .gpu = "v100-32"}), -EINVAL);
	CU_ASSERT_EQUAL(refusal((spec){.model = "gpt2", .hidden = 1000}), -EINVAL);
	CU_ASSERT_EQUAL(refusal((spec){.model = "gpt2", .image = 224}), -EINVAL);
	CU_ASSERT_EQUAL(refusal((spec){.model = "gpt2", .kernels = 9}), -EINVAL);
	CU_ASSERT_EQUAL(refusal((spec){.model = "vit-b16", .seq = 100}), -EINVAL);
	CU_ASSERT_EQUAL(refusal((spec){.model = "vit-b16", .image = 225}), -EINVAL);
	CU_ASSERT_EQUAL(refusal((spec){.model = "resnet50", .layers = 50}), -EINVAL);
	CU_ASSERT_EQUAL(refusal((spec){.model = "resnet50", .image = 16}), -EINVAL);
	CU_ASSERT_EQUAL(refusal((spec){.model = "gpt2", .batch = 1ull << 40}), -E2BIG);
	CU_ASSERT_EQUAL(refusal((spec){.model = "gpt2", .batch = UINT64_MAX}), -E2BIG);
	CU_ASSERT_EQUAL(refusal((spec){.model = "gpt2", .seq = 1ull << 30}), -E2BIG);
	CU_ASSERT_EQUAL(refusal((spec){.model = "gpt2", .hidden = 12ull << 40}), -E2BIG);
	CU_ASSERT_EQUAL(refusal((spec){.model = "gpt2", .hidden = 12ull << 58}), -E2BIG);
	CU_ASSERT_EQUAL(refusal((spec){.model = "gpt2", .layers = UINT64_MAX}), -E2BIG);
	CU_ASSERT_EQUAL(refusal((spec){.model = "vit-b16", .image = 1ull << 40}), -E2BIG);
	CU_ASSERT_EQUAL(refusal((spec){.model = "resnet50", .image = UINT64_MAX}), -E2BIG);
	CU_ASSERT_EQUAL(refusal((spec){.model = "resnet50", .batch = 1ull << 40}), -E2BIG);
	CU_ASSERT_EQUAL(refusal((spec){.model = "gpt2", .accumulate = 1ull << 40}), -E2BIG);
	CU_ASSERT_EQUAL(refusal((spec){.model = "gpt2", .host_step = -1}), -EINVAL);
	CU_ASSERT_EQUAL(refusal((spec){.model = "gpt2", .host_step = NAN}), -EINVAL);
	CU_ASSERT_EQUAL(refusal((spec){.model = "gpt2", .host_step = 1e-9}), -E2BIG);
	CU_ASSERT_EQUAL(refusal((spec){.model = "synthetic", .accumulate = 2}), -EINVAL);
	CU_ASSERT_EQUAL(refusal((spec){.model = "synthetic", .host_step = 1e9}), -EINVAL);
	CU_ASSERT_EQUAL(refusal((spec){.model = "synthetic", .vertical = true}), -EINVAL);
	CU_ASSERT_EQUAL(refusal((spec){.model = "synthetic", .kernels = 1}), -EINVAL);
	CU_ASSERT_EQUAL(refusal((spec){.model = "synthetic", .batch = 1}), -EINVAL);
	CU_ASSERT_EQUAL(refusal((spec){.model = "synthetic", .gpu = "t4"}), -EINVAL);
	CU_ASSERT_EQUAL(refusal((spec){.model = "synthetic", .kernels = 1000001}), -E2BIG);
	CU_ASSERT_EQUAL(refusal((spec){.model = "synthetic", .peak = UINT64_MAX}), -E2BIG);
}

static void the_same_numbers_give_the_same_trace(void)
{
	static const struct annex_trace_spec specs[] = {
		{.model = "llama-1b"}, {.model = "resnet50"}, {.model = "synthetic", .seed = 5}};
	struct annex_trace *a, *b;

	for (unsigned int i = 0; i < 3; i++) {
		a = generate(specs[i]);
		b = generate(specs[i]);
		CU_ASSERT_EQUAL(annex_trace_hash(a), annex_trace_hash(b));
		annex_trace_free(a);
		annex_trace_free(b);
	}
	a = generate((struct annex_trace_spec){.model = "synthetic", .seed = 1});
	b = generate((struct annex_trace_spec){.model = "synthetic", .seed = 2});
	CU_ASSERT_NOT_EQUAL(annex_trace_hash(a), annex_trace_hash(b));
	annex_trace_free(a);
	annex_trace_free(b);
}

/* Peak, time, and the pressure over time hardly change as kernels become more. */
static void synthetic_traces_keep_their_profile(void)
{
	static const uint64_t counts[] = {997, 10000, 60003};
	struct annex_vitality *v;
	double middle[3];

	for (unsigned int i = 0; i < 3; i++) {
		struct annex_trace *trace = generate((struct annex_trace_spec){
			.model = "synthetic", .kernels = counts[i], .peak = 80ull << 30});
		uint32_t n = trace->n_kernels, half = n / 2;

		CU_ASSERT_EQUAL(n, counts[i]);
		CU_ASSERT_EQUAL_FATAL(annex_vitality_create(trace, &v), 0);
		CU_ASSERT(near((double)v->peak_bytes, (double)(80ull << 30), 0.05));
		CU_ASSERT(near((double)v->start[n], 10e9, 0.01));
		middle[i] = (double)v->live[half];
		annex_vitality_destroy(v);
		annex_trace_free(trace);
	}
	CU_ASSERT(near(middle[1], middle[0], 0.1));
	CU_ASSERT(near(middle[2], middle[1], 0.1));
}

UNIT_SUITE(generate, {"parameters are those published", parameters_are_those_published},
	   {"forward flops are two a parameter and token",
	    forward_flops_are_two_a_parameter_and_token},
	   {"optimizers have their state", optimizers_have_their_state},
	   {"every model trains", every_model_trains},
	   {"times follow the GPU", times_follow_the_gpu},
	   {"numbers change the model", numbers_change_the_model},
	   {"gradients add up", gradients_add_up},
	   {"batches can go layer by layer", batches_can_go_layer_by_layer},
	   {"the host can run the optimizer", the_host_can_run_the_optimizer},
	   {"absurd numbers are refused", absurd_numbers_are_refused},
	   {"the same numbers give the same trace", the_same_numbers_give_the_same_trace},
	   {"synthetic traces keep their profile", synthetic_traces_keep_their_profile})
