// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include "tools/common/error.h"
#include "tools/common/progress.h"
#include "rank.h"
#include "whole.h"

#define HELD 2u /* lines that a warp has at once */

/* A graph's data in GPU memory; @values are components or ranks, @next ranks to come, or NULL. */
struct there {
	uint64_t *offsets, *hand, *next;
	void *values;
	struct gpu_result *result;
	uint64_t bytes; /* of @values */
	uint64_t next_bytes;
};

static int put_all(const struct gpu_whole *w, struct there *t, const void *values)
{
	struct runner *r = w->r;
	uint64_t bytes = (w->vertices + 1) * 8;
	int err;

	t->offsets = runner_alloc(r, bytes, "row offsets");
	t->hand = runner_alloc(r, 8, "a counter");
	t->values = runner_alloc(r, t->bytes, "values of vertices");
	t->result = runner_alloc(r, sizeof(*t->result), "a result");
	if (t->next_bytes)
		t->next = runner_alloc(r, t->next_bytes, "ranks to come");
	if (!t->offsets || !t->hand || !t->values || !t->result || (t->next_bytes && !t->next))
		return -ENOMEM;
	err = runner_put(r, t->offsets, w->offsets, bytes);
	return err ? err : runner_put(r, t->values, values, t->bytes);
}

static void free_all(const struct gpu_whole *w, struct there *t)
{
	runner_free(w->r, t->result, sizeof(*t->result));
	runner_free(w->r, t->next, t->next_bytes);
	runner_free(w->r, t->values, t->bytes);
	runner_free(w->r, t->hand, 8);
	runner_free(w->r, t->offsets, (w->vertices + 1) * 8);
}

/* Visit all edges once. */
static int sweep(struct gpu_whole *w, const struct there *t)
{
	struct gpu_args_sweep args = {
		.g = {.edges = w->edges, .offsets = t->offsets, .vertices = w->vertices},
		.hand = t->hand,
		.component = t->next ? NULL : t->values,
		.rank = t->next ? t->values : NULL,
		.next = t->next,
	};
	uint64_t threads = runner_threads(w->r, w->slots, HELD);
	uint64_t wanted = w->vertices * ANNEX_WARP_LANES;
	double seconds = 0;
	int err = runner_zero(w->r, t->hand, 8);

	if (!err)
		err = runner_check(w->r, w->ctx, GPU_KERNEL_sweep,
				   wanted < threads ? wanted : threads, &args, &seconds);
	w->seconds += seconds;
	return err;
}

int gpu_components(struct gpu_whole *w, uint32_t *component)
{
	struct there t = {.bytes = w->vertices * sizeof(*component)};
	int err;

	w->seconds = 0;
	for (uint64_t v = 0; v < w->vertices; v++)
		component[v] = (uint32_t)v;
	err = put_all(w, &t, component);
	progress_begin("joining");
	if (!err)
		err = sweep(w, &t);
	progress_end();
	if (!err)
		err = runner_get(w->r, component, t.values, t.bytes);
	free_all(w, &t);
	return err;
}

/* One iteration; *@loose is the rank of vertices without edges, before and after. */
static int iterate(struct gpu_whole *w, const struct there *t, uint64_t *loose, double *change)
{
	struct gpu_args_rank args = {
		.offsets = t->offsets,
		.rank = t->values,
		.next = t->next,
		.r = t->result,
		.vertices = w->vertices,
		.share = pagerank_common(*loose, w->vertices),
	};
	struct gpu_result sums;
	double seconds = 0;
	int err = sweep(w, t);

	if (!err)
		err = runner_zero(w->r, t->result, sizeof(*t->result));
	if (!err)
		err = runner_run(w->r, GPU_KERNEL_rank,
				 w->vertices < w->r->threads ? w->vertices : w->r->threads, &args,
				 &seconds);
	if (!err)
		err = runner_get(w->r, &sums, t->result, sizeof(sums));
	if (err)
		return err;
	w->seconds += seconds;
	*loose = sums.done;
	*change = (double)sums.sum / (double)PAGERANK_ONE;
	return 0;
}

int gpu_ranks(struct gpu_whole *w, uint32_t most, uint64_t *rank, uint32_t *iterations,
	      double *change)
{
	struct there t = {.bytes = w->vertices * sizeof(*rank), .next_bytes = w->vertices * 8};
	uint64_t loose = 0;
	int err;

	w->seconds = 0;
	*iterations = 0;
	*change = 1;
	for (uint64_t v = 0; v < w->vertices; v++) {
		rank[v] = PAGERANK_ONE / w->vertices;
		loose += w->offsets[v] == w->offsets[v + 1] ? rank[v] : 0;
	}
	err = put_all(w, &t, rank);
	progress_begin("iterating");
	while (!err && *iterations<most && * change> PAGERANK_TOLERANCE) {
		err = iterate(w, &t, &loose, change);
		*iterations += !err;
		progress_update(*iterations, 0, "iterations");
	}
	progress_end();
	if (!err)
		err = runner_get(w->r, rank, t.values, t.bytes);
	free_all(w, &t);
	return err;
}
