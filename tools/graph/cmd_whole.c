// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex graph cc and pagerank: over the whole graph.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include "tools/common/commands.h"
#include "tools/common/mem.h"
#include "run.h"

#define TOP 5 /* vertices that pagerank names */

static int cc_do(struct run *run, struct edges *e)
{
	return cc_run(e, &run->r.cc);
}

static int cc_on_gpu(struct run *run, struct gpu_whole *w, uint64_t *edges)
{
	struct cc *r = &run->r.cc;
	int err = cc_start(r, w->vertices);

	if (!err)
		err = gpu_components(w, r->component);
	*edges = run->g.h.edges;
	return err ? err : cc_summarise(r);
}

static int cc_judge(struct run *run)
{
	return verify_cc(&run->g, &run->r.cc);
}

static void cc_report(struct run *run, struct out *out)
{
	out_count(out, "components", "components", run->r.cc.components);
	out_count(out, "largest", "vertices of the largest", run->r.cc.largest);
	run_report_vertex(run, out, "largest_member", "first of the largest", run->r.cc.largest_id);
}

static void cc_done(struct run *run)
{
	cc_free(&run->r.cc);
}

static const struct cli_option cc_options[] = {
	CLI_ALSO(run_gpu_options), CLI_ALSO(run_options), {0}};

static const char cc_doc[] =
	"Connected components; of a directed graph, the weakly connected ones.\n\n" RUN_DOC
	"\vExamples:\n"
	"  annex graph cc lj.csr --cache 256K --verify\n"
	"  annex graph cc kron27.csr --gpu --cache 8G --device pci:0000:01:00.0 --device "
	"pci:0000:02:00.0";

int graph_cc(int argc, char **argv)
{
	static const struct algorithm a = {cc_options, cc_doc,    cc_do,   cc_on_gpu,
					   cc_judge,   cc_report, cc_done, false};

	return run_graph(&a, argc, argv);
}

static int pagerank_do(struct run *run, struct edges *e)
{
	return pagerank_run(e, run->iterations, &run->r.pagerank);
}

static int pagerank_on_gpu(struct run *run, struct gpu_whole *w, uint64_t *edges)
{
	struct pagerank *r = &run->r.pagerank;
	int err;

	memset(r, 0, sizeof(*r));
	r->vertices = w->vertices;
	r->rank = mem_alloc(r->vertices, sizeof(*r->rank), "ranks");
	if (!r->rank)
		return -ENOMEM;
	err = gpu_ranks(w, run->iterations, r->rank, &r->iterations, &r->change);
	*edges = run->g.h.edges * r->iterations;
	return err;
}

static int pagerank_judge(struct run *run)
{
	return verify_pagerank(&run->g, &run->r.pagerank);
}

/* The best TOP vertices, the first one first. */
static unsigned int find_top(const struct pagerank *r, uint32_t *top)
{
	unsigned int n = 0;

	for (uint64_t v = 0; v < r->vertices; v++) {
		unsigned int k = n < TOP ? n++ : TOP;

		for (; k && r->rank[v] > r->rank[top[k - 1]]; k--)
			if (k < TOP)
				top[k] = top[k - 1];
		if (k < TOP)
			top[k] = (uint32_t)v;
	}
	return n;
}

static void pagerank_report(struct run *run, struct out *out)
{
	static const char *const places[TOP] = {"ranked first", "second", "third", "fourth",
						"fifth"};
	const struct pagerank *r = &run->r.pagerank;
	json_t *list = json_array();
	uint32_t top[TOP];
	unsigned int n = find_top(r, top);

	out_count(out, "iterations", "iterations", r->iterations);
	out_json(out, "change", json_real(r->change));
	out_row(out, "change in the last", "%.2g", r->change);
	for (unsigned int i = 0; i < n; i++) {
		double rank = (double)r->rank[top[i]] / (double)PAGERANK_ONE;
		char buf[16];
		const char *name = csr_label(&run->g, top[i], buf, sizeof(buf));
		json_t *one = json_object();

		json_object_set_new(one, "vertex",
				    run->g.names ? json_string(name) : json_integer(top[i]));
		json_object_set_new(one, "rank", json_real(rank));
		json_array_append_new(list, one);
		out_row(out, places[i], "%s (%.3g)", name, rank);
	}
	out_json(out, "top", list);
}

static void pagerank_done(struct run *run)
{
	pagerank_free(&run->r.pagerank);
}

static const struct cli_option pagerank_options[] = {{"iterations", 0, "N", 0,
						      OPT_U32(struct run, iterations, 1, 1000000),
						      "Stop after N iterations at most (100)"},
						     CLI_ALSO(run_gpu_options),
						     CLI_ALSO(run_options),
						     {0}};

static const char pagerank_doc[] = "PageRank with a damping of 0.85, until the ranks change by "
				   "less than 1e-6 in sum.\n\n" RUN_DOC "\vExample:\n"
				   "  annex graph pagerank lj.csr --cache 256K --iterations 50";

int graph_pagerank(int argc, char **argv)
{
	static const struct algorithm a = {pagerank_options, pagerank_doc,   pagerank_do,
					   pagerank_on_gpu,  pagerank_judge, pagerank_report,
					   pagerank_done,    false};

	return run_graph(&a, argc, argv);
}
