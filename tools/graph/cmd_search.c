// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex graph bfs and sssp: from one vertex.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include "../gpu/search.h"
#include "tools/common/commands.h"
#include "tools/common/mem.h"
#include "run.h"

static int bfs_do(struct run *run, struct edges *e)
{
	return bfs_run(e, run->source, &run->r.bfs);
}

static int bfs_judge(struct run *run)
{
	return verify_bfs(&run->g, run->source, &run->r.bfs);
}

static void bfs_report(struct run *run, struct out *out)
{
	run_report_vertex(run, out, "source", "source", run->source);
	out_count(out, "reached", "vertices reached", run->r.bfs.reached);
	out_count(out, "levels", "levels", run->r.bfs.levels);
}

static void bfs_done(struct run *run)
{
	bfs_free(&run->r.bfs);
}

static int bfs_on_gpu(struct run *run, struct gpu_whole *w, uint64_t *edges)
{
	struct bfs *b = &run->r.bfs;
	struct gpu_search s = {
		.offsets = w->offsets, .vertices = w->vertices, .source = run->source};
	int err;

	memset(b, 0, sizeof(*b));
	b->vertices = w->vertices;
	b->depth = s.depth = mem_alloc(b->vertices, sizeof(*b->depth), "depths");
	b->parent = s.parent = mem_alloc(b->vertices, sizeof(*b->parent), "parents");
	if (!b->depth || !b->parent)
		return -ENOMEM;
	err = gpu_search_run(w->r, w->ctx, w->slots, &w->edges, &s);
	b->reached = s.reached;
	b->levels = s.levels;
	w->seconds = s.seconds;
	*edges = s.edges;
	return err;
}

static const struct cli_option bfs_options[] = {
	{"source", 's', "VERTEX", 0, OPT_TEXT(struct run, source_name),
	 "Name or number of the vertex to start from (highest degree)"},
	CLI_ALSO(run_gpu_options),
	CLI_ALSO(run_options),
	{0}};

static const char bfs_doc[] =
	"Breadth-first search: the number of edges to every vertex.\n\n" RUN_DOC "\vExamples:\n"
	"  annex graph bfs lj.csr --source 4847 --cache 256K --verify\n"
	"  annex graph bfs kron22.csr --cache 64M --line 4096\n"
	"  annex graph bfs kron22.csr --device file:/mnt/a/k.img --device file:/mnt/b/k.img\n"
	"  annex graph bfs kron27.csr --gpu --cache 8G --verify";

int graph_bfs(int argc, char **argv)
{
	static const struct algorithm a = {bfs_options, bfs_doc,    bfs_do,   bfs_on_gpu,
					   bfs_judge,   bfs_report, bfs_done, true};

	return run_graph(&a, argc, argv);
}

static int sssp_do(struct run *run, struct edges *e)
{
	return sssp_run(e, run->source, run->delta, &run->r.sssp);
}

static int sssp_judge(struct run *run)
{
	return verify_sssp(&run->g, run->source, &run->r.sssp);
}

static void sssp_report(struct run *run, struct out *out)
{
	run_report_vertex(run, out, "source", "source", run->source);
	out_count(out, "reached", "vertices reached", run->r.sssp.reached);
	out_count(out, "farthest", "distance of the farthest", run->r.sssp.farthest);
	out_count(out, "rounds", "rounds", run->r.sssp.rounds);
}

static void sssp_done(struct run *run)
{
	sssp_free(&run->r.sssp);
}

static const struct cli_option sssp_options[] = {
	{"source", 's', "VERTEX", 0, OPT_TEXT(struct run, source_name),
	 "Name or number of the vertex to start from (highest degree)"},
	{"delta", 0, "N", 0, OPT_SIZE(struct run, delta, 1, UINT64_MAX),
	 "Work on all vertices up to N farther than the nearest together (64)"},
	CLI_ALSO(run_options),
	{0}};

static const char sssp_doc[] = "Shortest paths by the weights of the file; without weights every "
			       "edge has weight 1.\n\n" RUN_DOC "\vExample:\n"
			       "  annex graph sssp road.csr --source 0 --cache 64M --delta 1000";

int graph_sssp(int argc, char **argv)
{
	static const struct algorithm a = {sssp_options, sssp_doc,    sssp_do,   NULL,
					   sssp_judge,   sssp_report, sssp_done, true};

	return run_graph(&a, argc, argv);
}
