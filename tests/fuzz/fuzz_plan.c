// SPDX-License-Identifier: MIT
/*
 * Any bytes as a plan: an accepted plan is the same once it is written and read, and checking and
 * simulating it on a trace of its size end with an answer.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <annex/log.h>
#include <annex/plan.h>
#include <annex/simulate.h>
#include "plan/file.h"

#define SMALL 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
	if (!truth)
		abort();
}

static void same(const struct annex_plan *a, const struct annex_plan *b)
{
	require(!strcmp(a->policy, b->policy) && a->hash == b->hash && a->flags == b->flags);
	require(a->n_kernels == b->n_kernels && a->n_tensors == b->n_tensors);
	require(a->window == b->window && a->n_steps == b->n_steps);
	require(a->gpu == b->gpu && a->host == b->host && a->cxl == b->cxl);
	for (size_t i = 0; i < a->n_steps; i++) {
		const struct annex_plan_step *x = &a->steps[i], *y = &b->steps[i];

		require(x->kernel == y->kernel && x->tensor == y->tensor && x->ns == y->ns);
		require(x->bytes == y->bytes && x->op == y->op && x->tier == y->tier &&
			x->keep == y->keep);
	}
}

static void write_and_read(const struct annex_plan *p)
{
	struct annex_plan *q;
	size_t len;
	char *text;
	FILE *f = open_memstream(&text, &len);

	require(f && !annex_plan_write(p, f));
	fclose(f);
	require(!annex_plan_parse(text, len, &q));
	same(p, q);
	annex_plan_free(q);
	free(text);
}

/* A trace of the plan's size, in which kernel k uses tensors k and 2 k. */
static struct annex_trace *make_trace(const struct annex_plan *p)
{
	struct annex_trace *t;

	require(!annex_trace_create(NULL, NULL, 0, &t));
	for (uint32_t i = 0; i < p->n_tensors; i++) {
		struct annex_tensor tensor = {.bytes = 1 + i * 1000,
					      .birth = ANNEX_KERNEL_NONE,
					      .death = ANNEX_KERNEL_NONE,
					      .global = i % 2};

		require(annex_trace_add_tensor(t, &tensor) == (int)i);
	}
	for (uint32_t k = 0; k < p->n_kernels; k++) {
		uint32_t in = k % p->n_tensors, out = k * 2 % p->n_tensors;

		require(!annex_trace_add_kernel(t, "k", 1, &in, 1, &out, 1));
	}
	require(!annex_trace_finish(t));
	return t;
}

static void simulate(const struct annex_plan *p, const struct annex_trace *t,
		     const struct annex_system *sys)
{
	struct annex_sim_options opts = {.iterations = 3};
	struct annex_sim_job job = {t, p};
	struct annex_sim_result r;
	int err = annex_simulate(&job, 1, sys, &opts, &r);

	require(!err || *annex_last_error());
	require(err || r.iteration >= r.ideal * (1 - 1e-9) - 1e-9);
}

static void check(struct annex_plan *p)
{
	struct annex_system sys;
	struct annex_trace *t;
	int err;

	if (p->n_kernels > SMALL || p->n_tensors > SMALL || !p->n_tensors)
		return;
	t = make_trace(p);
	annex_system_init(&sys);
	p->hash = annex_trace_hash(t);
	err = annex_plan_check(p, t, &sys);
	require(!err || (err == -EINVAL && *annex_last_error()));
	simulate(p, t, &sys);
	annex_trace_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct annex_plan *p;
	int err = annex_plan_parse(data, size, &p);

	if (err) {
		require(err == -EINVAL && !p && *annex_last_error());
		require(!strchr(annex_last_error(), '\n'));
		return 0;
	}
	require(!annex_plan_sound(p));
	write_and_read(p);
	check(p);
	annex_plan_free(p);
	return 0;
}
