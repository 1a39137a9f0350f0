// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>
#include "core/log.h"
#include "generate.h"

#define USUAL_GPU "a100-40"

static const struct gen_family *const families[] = {&annex_gen_transformers, &annex_gen_cnns};

#define N_FAMILIES (sizeof(families) / sizeof(families[0]))

const struct annex_model *annex_model_at(unsigned int i)
{
	for (unsigned int f = 0; f < N_FAMILIES; f++) {
		unsigned int n = 0;

		while (families[f]->at(n)) {
			if (i-- == 0)
				return families[f]->at(n);
			n++;
		}
	}
	return i ? NULL : &annex_gen_synthetic_model;
}

static const struct gen_family *find(const char *model, unsigned int *i)
{
	for (unsigned int f = 0; f < N_FAMILIES; f++)
		for (*i = 0; families[f]->at(*i); ++*i)
			if (!strcmp(families[f]->at(*i)->name, model))
				return families[f];
	return NULL;
}

/* The names that a list has, for an error that shall help. */
static int unknown(const char *what, const char *name, const char *(*at)(unsigned int i))
{
	char list[400] = "";
	size_t n = 0;

	for (unsigned int i = 0; at(i) && n + strlen(at(i)) + 3 < sizeof(list); i++) {
		n += strlen(strcat(strcpy(list + n, i ? ", " : ""), at(i)));
	}
	return annex_fail(-EINVAL, "no %s \"%s\": there are %s", what, name, list);
}

static const char *model_name(unsigned int i)
{
	const struct annex_model *model = annex_model_at(i);

	return model ? model->name : NULL;
}

static const char *gpu_name(unsigned int i)
{
	const struct annex_gpu *gpu = annex_gpu_at(i);

	return gpu ? gpu->name : NULL;
}

static int check_gpu(struct annex_trace_spec *spec)
{
	const struct annex_gpu *gpu;

	if (!spec->gpu)
		spec->gpu = USUAL_GPU;
	gpu = annex_gpu_find(spec->gpu);
	if (!gpu)
		return unknown("GPU", spec->gpu, gpu_name);
	if ((unsigned int)spec->dtype >= ANNEX_DTYPES ||
	    (unsigned int)spec->optimizer >= ANNEX_OPTIMIZERS)
		return annex_fail(-EINVAL, "no such dtype or optimizer");
	if (gpu->flops[spec->dtype] <= 0)
		return annex_fail(-EINVAL, "%s does not compute in bf16: choose another dtype",
				  gpu->name);
	return 0;
}

static int make(const struct annex_trace_spec *asked, struct gen_net *net)
{
	struct annex_trace_spec spec = *asked;
	const struct gen_family *family;
	unsigned int i;
	uint32_t loss;
	int err;

	family = spec.model ? find(spec.model, &i) : NULL;
	if (!family)
		return unknown("model", spec.model ? spec.model : "", model_name);
	spec.accumulate = spec.accumulate ? spec.accumulate : 1;
	err = annex_gen_without(spec.model, "choice of kernels", spec.kernels);
	if (!err)
		err = annex_gen_without(spec.model, "seed", spec.seed);
	if (!err)
		err = annex_gen_without(spec.model, "choice of peak", spec.peak);
	if (!err)
		err = family->usual(i, &spec);
	if (!err && (spec.batch > ANNEX_TRACE_MAX_BYTES ||
		     spec.accumulate > ANNEX_TRACE_MAX_BYTES / spec.batch))
		err = annex_fail(-E2BIG, "%llu batches of %llu are more than a trace may hold",
				 (ull)spec.accumulate, (ull)spec.batch);
	/* Not a number compares as false. */
	if (!err && !(spec.host_step >= 0 && spec.host_step <= 1e18))
		err = annex_fail(-EINVAL, "%g parameters per second are not from 0 to 1e18",
				 spec.host_step);
	if (!err)
		err = check_gpu(&spec);
	if (!err)
		err = annex_gen_init(net, &spec);
	if (err)
		return err;
	loss = family->build(i, net, &spec);
	annex_gen_train(net, loss);
	if (!net->err)
		net->err = annex_trace_finish(net->trace);
	annex_gen_free(net);
	return net->err;
}

static bool synthetic(const struct annex_trace_spec *spec)
{
	return spec->model && !strcmp(spec->model, annex_gen_synthetic_model.name);
}

int annex_trace_generate(const struct annex_trace_spec *spec, struct annex_trace **trace)
{
	struct gen_net net = {0};
	int err;

	*trace = NULL;
	if (synthetic(spec))
		return annex_gen_synthetic(spec, trace);
	err = make(spec, &net);
	if (err)
		annex_trace_free(net.trace);
	else
		*trace = net.trace;
	return err;
}

int annex_trace_work(const struct annex_trace_spec *spec, struct annex_work *work)
{
	struct gen_net net = {0};
	int err = synthetic(spec) ? 0 : make(spec, &net);

	*work = net.work;
	annex_trace_free(net.trace);
	return err;
}
