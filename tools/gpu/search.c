// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>
#include "tools/common/error.h"
#include "tools/common/progress.h"
#include "search.h"

/* A search's data in GPU memory. */
struct there {
	struct runner *r;
	uint64_t vertices;
	uint64_t *offsets;
	uint32_t *depth, *parent, *now, *next;
	struct gpu_frontier *f;
};

static int put_all(struct there *t, const struct gpu_search *s)
{
	struct runner *r = t->r;
	uint64_t n = s->vertices, bytes = n * 4;
	uint32_t zero = 0;
	int err;

	t->vertices = n;
	t->offsets = runner_alloc(r, (n + 1) * 8, "row offsets");
	t->depth = runner_alloc(r, bytes, "depths");
	t->parent = runner_alloc(r, bytes, "parents");
	t->now = runner_alloc(r, bytes, "the frontier");
	t->next = runner_alloc(r, bytes, "the next frontier");
	t->f = runner_alloc(r, sizeof(*t->f), "the frontier's count");
	if (!t->offsets || !t->depth || !t->parent || !t->now || !t->next || !t->f)
		return -ENOMEM;
	err = runner_put(r, t->offsets, s->offsets, (n + 1) * 8);
	if (!err)
		err = r->memory->fill(r->memory->ctx, t->depth, 0xff, bytes) ||
				      r->memory->fill(r->memory->ctx, t->parent, 0xff, bytes)
			      ? err_lib(-EIO, "cannot fill GPU memory")
			      : 0;
	if (!err)
		err = runner_put(r, t->depth + s->source, &zero, 4);
	if (!err)
		err = runner_put(r, t->parent + s->source, &s->source, 4);
	return err ? err : runner_put(r, t->now, &s->source, 4);
}

static void free_all(struct there *t)
{
	struct runner *r = t->r;

	runner_free(r, t->f, sizeof(*t->f));
	runner_free(r, t->next, t->vertices * 4);
	runner_free(r, t->now, t->vertices * 4);
	runner_free(r, t->parent, t->vertices * 4);
	runner_free(r, t->depth, t->vertices * 4);
	runner_free(r, t->offsets, (t->vertices + 1) * 8);
}

/* One level; @f has its vertices, and then the vertices of the next level. */
static int level(struct there *t, struct annex_gpu_context *ctx, uint64_t threads,
		 const struct annex_gpu_array *edges, struct gpu_search *s, struct gpu_frontier *f)
{
	struct gpu_args_bfs args = {
		.g = {.edges = *edges, .offsets = t->offsets, .vertices = s->vertices},
		.depth = t->depth,
		.parent = t->parent,
		.now = t->now,
		.next = t->next,
		.f = t->f,
		.level = s->levels + 1,
	};
	uint64_t wanted = f->count * ANNEX_WARP_LANES;
	uint32_t *swap = t->now;
	double seconds = 0;
	int err = runner_put(t->r, t->f, f, sizeof(*f));

	if (!err)
		err = runner_check(t->r, ctx, GPU_KERNEL_bfs, wanted < threads ? wanted : threads,
				   &args, &seconds);
	if (!err)
		err = runner_get(t->r, f, t->f, sizeof(*f));
	t->now = t->next;
	t->next = swap;
	s->seconds += seconds;
	s->edges += f->edges;
	return err;
}

int gpu_search_run(struct runner *r, struct annex_gpu_context *ctx, uint64_t slots,
		   const struct annex_gpu_array *edges, struct gpu_search *s)
{
	uint64_t threads = runner_threads(r, slots, 2);
	struct gpu_frontier f = {.count = 1};
	struct there t = {.r = r};
	int err = put_all(&t, s);

	s->reached = 1;
	s->levels = 0;
	s->edges = 0;
	s->seconds = 0;
	progress_begin("searching");
	while (!err) {
		err = level(&t, ctx, threads, edges, s, &f);
		if (err || !f.found)
			break;
		s->levels++;
		s->reached += f.found;
		f = (struct gpu_frontier){.count = f.found};
		progress_update(s->reached, s->vertices, "vertices");
	}
	progress_end();
	if (!err)
		err = runner_get(r, s->depth, t.depth, s->vertices * 4);
	if (!err)
		err = runner_get(r, s->parent, t.parent, s->vertices * 4);
	free_all(&t);
	return err;
}
