// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <annex/detail/clock.h>
#include <annex/simulate.h>
#include "../error.h"
#include "../mem.h"
#include "../out.h"
#include "../progress.h"
#include "blas.h"
#include "memory.h"
#include "text.h"
#include "train.h"

static uint64_t to_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * ANNEX_NSEC_PER_SEC + (uint64_t)t.tv_usec * 1000;
}

/* Nanoseconds that all threads have computed, and in the kernel. */
static void usage_busy(uint64_t *user, uint64_t *kernel)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	*user = to_ns(u.ru_utime);
	*kernel = to_ns(u.ru_stime);
}

/* struct run - What there is while it goes on. @bytes: of the tokens, and those that follow. */
struct run {
	struct train *t;
	struct text text;
	struct pool *pool;
	struct memory memory;
	struct model model;
	uint8_t *bytes;
};

static uint64_t rows_of(const struct shape *s)
{
	return (uint64_t)s->batch * s->context;
}

/* Memory that is not there would be the end of this program, or of others too. */
static int check_memory(const struct train_opts *o, uint64_t size)
{
	uint64_t has = mem_limit();
	uint64_t wants = (o->device ? o->device : size) + o->host;
	char text[2][OUT_SIZE];

	if (wants <= has)
		return 0;
	return err_set(-ENOMEM, "%s of memory for tensors, and there are %s: say %s",
		       out_size((double)wants, text[0]), out_size((double)has, text[1]),
		       o->device ? "less" : "--device-memory and --storage, or train less");
}

static int open_all(struct run *r, const struct train_opts *o)
{
	struct memory_opts opts = {
		.size = shape_bytes(&o->shape),
		.device = o->device,
		.host = o->host,
		.stores = o->stores,
		.n_stores = o->n_stores,
		.policy = o->policy,
		.rate = (double)o->link_rate,
		.checksum = o->checksum,
		.plain = o->plain,
	};
	int err = check_memory(o, opts.size);

	if (!err)
		err = blas_open();
	if (!err)
		err = text_open(&r->text, o->text, o->shape.context + 1ull);
	if (err)
		return err;
	r->t->base = mem_resident();
	r->t->text_bytes = r->text.n;
	r->bytes = calloc(2, rows_of(&o->shape));
	if (!r->bytes)
		return err_set(-ENOMEM, "out of memory");
	err = pool_create(o->threads, &r->pool);
	if (!err)
		err = memory_open(&r->memory, &opts);
	if (!err) /* the first weights are drawn outside of kernels */
		lost_watch(o->plain ? NULL : &r->memory);
	if (!err)
		err = model_open(&r->model, &o->shape, &r->memory, r->pool, o->seed, o->rate);
	return err;
}

static int close_all(struct run *r)
{
	int err;

	lost_watch(NULL);
	model_close(&r->model);
	err = memory_close(&r->memory);
	pool_destroy(r->pool);
	text_close(&r->text);
	free(r->bytes);
	return err;
}

static void look(struct run *r, struct train_step *s)
{
	struct annex_space_stats st;

	memory_stats(&r->memory, &st);
	s->device = st.device;
	s->host = st.host;
	s->stored = st.stored;
	s->resident = mem_resident();
	r->t->resident = s->resident > r->t->resident ? s->resident : r->t->resident;
}

static int compute(struct run *r, uint32_t step, struct train_step *s)
{
	const struct train_opts *o = r->t->opts;
	uint8_t *tokens = r->bytes, *next = r->bytes + rows_of(&o->shape);
	int err;

	text_batch(&r->text, o->seed, step, o->shape.batch, o->shape.context, tokens, next);
	err = memory_begin(&r->memory);
	if (err)
		return err;
	err = model_forward(&r->model, tokens);
	if (!err)
		look(r, s);
	if (!err)
		err = model_backward(&r->model, tokens, next, &s->loss);
	return err ? err : memory_end(&r->memory, &r->t->exec);
}

static void tell(const struct run *r, uint32_t step, const struct train_step *s)
{
	const struct train_opts *o = r->t->opts;

	progress_note("loss %.4f, %.0f tokens/s, stalled %.1f %%", s->loss,
		      (double)rows_of(&o->shape) * 1e9 / (double)s->ns,
		      100 * (double)s->stall_ns / (double)s->ns);
	progress_update(step + 1, o->steps, "steps");
}

/* Iterations that are reported together begin with @first. */
static void begin_part(struct run *r, uint32_t first)
{
	r->t->first = first;
	memory_stats(&r->memory, &r->t->before);
	memset(r->model.times, 0, sizeof(r->model.times));
	usage_busy(&r->t->user_ns, &r->t->kernel_ns);
}

static void end_part(struct run *r)
{
	struct train *t = r->t;
	uint64_t user, kernel;

	memory_stats(&r->memory, &t->stats);
	memcpy(t->times, r->model.times, sizeof(t->times));
	usage_busy(&user, &kernel);
	t->user_ns = user - t->user_ns;
	t->kernel_ns = kernel - t->kernel_ns;
}

/* Predict the time of an iteration from the plan, the recorded iteration and the links' rates. */
static int predict(struct run *r)
{
	const struct annex_system *sys;
	struct annex_sim_result result;
	struct annex_sim_job job;
	int err;

	job.plan = r->memory.exec ? annex_exec_plan(r->memory.exec, &job.trace, &sys) : NULL;
	if (!job.plan)
		return 0;
	err = annex_simulate(&job, 1, sys, NULL, &result);
	if (err)
		return err_lib(err, "cannot simulate the plan");
	r->t->predicted = result.iteration;
	return 0;
}

static int diverged(const struct train *t, uint32_t iteration)
{
	bool unchecked = t->opts->device && !t->opts->checksum;

	return err_set(-EDOM, "iteration %u: the loss is no number: give a lower --learning-rate%s",
		       iteration,
		       unchecked ? ", or --checksum to see whether the storage damages data" : "");
}

static int iterate(struct run *r)
{
	struct train *t = r->t;
	int err = 0;

	for (uint32_t i = 0; i < t->opts->steps && !err; i++) {
		struct train_step *s = &t->steps[i];

		if (!i || i == t->opts->steps / 2)
			begin_part(r, i);
		err = compute(r, i, s);
		if (err)
			break;
		t->done++;
		s->ns = t->exec.ns;
		s->stall_ns = t->exec.stall_ns;
		s->planned = t->exec.planned;
		tell(r, i, s);
		if (!isfinite(s->loss))
			err = diverged(t, i + 1);
	}
	return err;
}

int train_run(struct train *t, const struct train_opts *o)
{
	struct run r = {.t = t};
	int err;

	memset(t, 0, sizeof(*t));
	t->opts = o;
	t->steps = calloc(o->steps, sizeof(*t->steps));
	if (!t->steps)
		return err_set(-ENOMEM, "out of memory");
	progress_begin("training");
	err = open_all(&r, o);
	if (!err)
		err = iterate(&r);
	if (!err || err == -EDOM) {
		int predicted = predict(&r);

		end_part(&r);
		err = err ? err : predicted;
		t->params = r.model.params;
		t->tensors = r.memory.peak;
	}
	if (!err && o->pages)
		err = memory_pages(&r.memory, o->pages, o->overwrite);
	progress_end();
	t->left = close_all(&r);
	if (err && err != -EDOM)
		train_free(t);
	return err;
}

void train_free(struct train *t)
{
	free(t->steps);
	t->steps = NULL;
}
