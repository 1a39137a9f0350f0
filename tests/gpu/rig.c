// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/unit/random.h"
#include "rig.h"
#include "tools/common/error.h"

#define FEW 32u        /* slots */
#define AT_ONCE 65536u /* threads */
#define ADDED 13u      /* elements that additions meet in */
#define MORE 3u        /* devices beyond the first, at most */

static uint64_t count_of(const struct rig *g)
{
	return RIG_BYTES >> g->a.elem_shift;
}

static uint64_t ref_get(const struct rig *g, uint64_t i)
{
	uint64_t value = 0;

	memcpy(&value, g->ref + (i << g->a.elem_shift), (size_t)1 << g->a.elem_shift);
	return value;
}

static void ref_set(struct rig *g, uint64_t i, uint64_t value)
{
	memcpy(g->ref + (i << g->a.elem_shift), &value, (size_t)1 << g->a.elem_shift);
}

static int open_context(struct rig *g, const struct rig_opts *o)
{
	char uri[256];
	const char *const more[MORE] = {uri, uri, uri};
	struct annex_gpu_opts opts = {
		.bytes = (uint64_t)o->slots * o->line,
		.line = o->line,
		.queues = o->queues,
		.depth = o->depth,
		.timeout_ms = o->timeout_ms,
		.direct = o->direct,
		.gpu_rings = o->gpu_rings,
		.size = RIG_BYTES,
		.more = more,
		.nmore = o->more,
		.layout = o->layout,
	};
	int err;

	snprintf(uri, sizeof(uri), "mem:%" PRIu64 "%s%s", (uint64_t)RIG_BYTES,
		 o->fault ? "?fault=" : "", o->fault ? o->fault : "");
	err = annex_gpu_open(o->drive ? o->drive : uri, &opts, g->r->memory, &g->ctx);
	return err ? err_lib(err, "cannot open %s", o->drive ? o->drive : uri) : 0;
}

int rig_open(struct rig *g, struct runner *r, const struct rig_opts *o)
{
	struct annex_gpu_array words;
	int err;

	memset(g, 0, sizeof(*g));
	g->r = r;
	g->random = tests_seed();
	g->room = RIG_BYTES / o->elem;
	g->slots = o->slots;
	g->more = o->more;
	g->ref = malloc(RIG_BYTES);
	g->ops = calloc(g->room, sizeof(*g->ops));
	g->there = runner_alloc(r, g->room * sizeof(*g->ops), "operations");
	if (!g->ref || !g->ops || !g->there)
		return err_set(-ENOMEM, "out of memory");
	for (uint64_t i = 0; i < RIG_BYTES; i += 8) {
		uint64_t word = random_next(&g->random);

		memcpy(g->ref + i, &word, 8);
	}
	err = open_context(g, o);
	if (err)
		return err;
	err = annex_gpu_array_init(&g->a, g->ctx, 0, o->elem, RIG_BYTES / o->elem);
	if (!err)
		err = annex_gpu_array_init(&words, g->ctx, 0, 8, RIG_BYTES / 8);
	if (err)
		return err_lib(err, "cannot make an array");
	return runner_upload(r, g->ctx, &words, g->ref, RIG_BYTES);
}

int rig_close(struct rig *g, int err)
{
	int closed = annex_gpu_close(g->ctx);

	if (!err && closed)
		err = err_lib(closed, "cannot close the context");
	runner_free(g->r, g->there, g->room * sizeof(*g->ops));
	free(g->ops);
	free(g->ref);
	return err;
}

int rig_inject(struct rig *g, const char *text)
{
	struct annex_fault fault;
	int err = annex_fault_parse(text, &fault);

	if (!err)
		err = annex_dev_inject(annex_gpu_dev_at(g->ctx, g->more), &fault);
	return err ? err_lib(err, "cannot inject %s", text) : 0;
}

/* Elements 0 modulo 4 are set, once each; the first few of 1 modulo 4 are added to. */
static void mix_one(struct rig *g, struct test_op *op, char *set)
{
	uint64_t quarter = count_of(g) / 4, i = random_next(&g->random) % quarter;

	op->kind = (uint32_t)(random_next(&g->random) % TEST_KINDS);
	op->value = random_next(&g->random);
	op->err = 1; /* nothing returns that */
	if (op->kind == TEST_SET && set[i])
		op->kind = TEST_GET;
	if (op->kind == TEST_SET) {
		set[i] = 1;
		op->i = 4 * i;
		ref_set(g, op->i, op->value);
	} else if (op->kind == TEST_ADD) {
		op->i = 4 * (i % ADDED * (quarter / ADDED)) + 1;
		ref_set(g, op->i, ref_get(g, op->i) + op->value);
	} else {
		op->i = 4 * i + 2 + random_next(&g->random) % 2;
	}
}

void rig_mix(struct rig *g)
{
	uint64_t quarter = count_of(g) / 4;
	char *set = calloc(quarter, 1);

	/* Where a few lines are all there is, each operation is a miss. */
	g->n = tests_small() || g->slots < FEW ? g->room / 32 : g->room;
	for (uint64_t k = 0; set && k < g->n; k++)
		mix_one(g, &g->ops[k], set);
	if (!set)
		g->n = 0;
	free(set);
}

void rig_reads(struct rig *g)
{
	g->n = g->room;
	for (uint64_t i = 0; i < g->n; i++)
		g->ops[i] = (struct test_op){.i = i, .kind = TEST_GET, .err = 1};
}

int rig_run(struct rig *g, enum test_kernel kernel, int *recorded)
{
	struct gpu_args_ops args = {.a = g->a, .ops = g->there, .n = g->n};
	struct annex_gpu_error e = {0};
	uint64_t most = g->n < AT_ONCE ? g->n : AT_ONCE;
	double s;
	int err = runner_put(g->r, g->there, g->ops, g->n * sizeof(*g->ops));

	if (!err) {
		err = g->r->start(g->r, 0, (unsigned int)kernel,
				  most < g->r->threads ? most : g->r->threads, &args);
		if (!err)
			err = g->r->wait(g->r, 0, &s);
		if (err)
			return err_lib(err, "a kernel did not run");
	}
	if (!err)
		err = runner_get(g->r, g->ops, g->there, g->n * sizeof(*g->ops));
	if (!err && annex_gpu_get_error(g->ctx, &e))
		err = err_set(-EIO, "cannot read the error record");
	if (recorded)
		*recorded = e.code;
	else if (!err && e.code)
		err = err_set(e.code, "the context has error %d at line %" PRIu64, e.code, e.line);
	return err;
}

/* Whether an operation's value is one that can be told. */
static bool reads(const struct test_op *op)
{
	return op->kind == TEST_GET || op->kind == TEST_TICKET || op->kind == TEST_SPAN;
}

int rig_judge(struct rig *g)
{
	uint64_t per_line = annex_gpu_line(g->ctx) >> g->a.elem_shift;

	if (!g->n)
		return err_set(-ENOMEM, "no operations");
	for (uint64_t k = 0; k < g->n; k++) {
		const struct test_op *op = &g->ops[k];
		uint64_t i = op->kind == TEST_SPAN ? (op->i | (per_line - 1)) : op->i;

		if (op->err)
			return err_set(-EBADMSG, "operation %u on element %" PRIu64 " returned %d",
				       op->kind, op->i, op->err);
		if (reads(op) && op->value != ref_get(g, i))
			return err_set(-EBADMSG, "element %" PRIu64 " is %" PRIx64 ", not %" PRIx64,
				       i, op->value, ref_get(g, i));
	}
	return 0;
}

int rig_compare(struct rig *g)
{
	int err;

	rig_reads(g);
	err = rig_run(g, TEST_KERNEL_ops, NULL);
	return err ? err : rig_judge(g);
}

int rig_read_all(struct runner *r, struct annex_gpu_context *ctx, const struct annex_gpu_array *a,
		 char *to)
{
	struct rig g = {.r = r, .ctx = ctx, .a = *a, .room = a->count};
	size_t size = (size_t)1 << a->elem_shift;
	int err = -ENOMEM;

	g.ops = calloc(g.room, sizeof(*g.ops));
	g.there = runner_alloc(r, g.room * sizeof(*g.ops), "operations");
	if (g.ops && g.there) {
		rig_reads(&g);
		err = rig_run(&g, TEST_KERNEL_ops, NULL);
	}
	for (uint64_t i = 0; !err && i < g.n; i++) {
		if (g.ops[i].err)
			err = err_set(-EBADMSG, "element %" PRIu64 ": %d", i, g.ops[i].err);
		memcpy(to + i * size, &g.ops[i].value, size);
	}
	runner_free(r, g.there, g.room * sizeof(*g.ops));
	free(g.ops);
	return err;
}

int rig_flush(struct rig *g)
{
	int err = annex_gpu_flush(g->ctx, 0, UINT64_MAX);

	return err ? err_lib(err, "cannot flush") : rig_compare(g);
}
