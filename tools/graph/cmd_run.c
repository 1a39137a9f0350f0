// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex graph bfs, cc, pagerank and sssp.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <annex/clock.h>
#include "../cli.h"
#include "../error.h"
#include "../mem.h"
#include "../out.h"
#include "../progress.h"
#include "algo.h"
#include "graph.h"

#define TOP 5 /* vertices that pagerank names */

struct run {
	struct storage_opts store;
	struct edges_opts edges;
	bool json, verify, advised;
	const char *file, *source_name;
	uint32_t source, iterations;
	uint64_t delta;
	struct csr g;
	union {
		struct bfs bfs;
		struct cc cc;
		struct pagerank pagerank;
		struct sssp sssp;
	} r;
};

/* What one algorithm adds to the others. */
struct algorithm {
	const struct argp *argp;
	int (*run)(struct run *run, struct edges *e);
	int (*verify)(struct run *run);
	void (*report)(struct run *run, struct out *out);
	void (*free)(struct run *run);
	bool sourced;
};

enum { OPT_ACCESS = 300, OPT_ADVISE, OPT_COLD, OPT_VERIFY, OPT_ITERATIONS, OPT_DELTA };

static const struct argp_option common_options[] = {
	{"access", OPT_ACCESS, "array|mmap|memory", 0,
	 "Edges by an array over the cache (array), mapped, or in memory, to compare", 3},
	{"advise", OPT_ADVISE, "normal|random", 0,
	 "What to tell the kernel about the mapping (normal)", 3},
	{"cold", OPT_COLD, NULL, 0, "Have the page cache drop the file first", 3},
	{"verify", OPT_VERIFY, NULL, 0, "Compare the result with that of a serial in-memory run",
	 3},
	{0}};

static error_t parse_common(int key, char *arg, struct argp_state *state)
{
	static const char *const access[] = {"array", "mmap", "memory", NULL};
	static const char *const advice[] = {"normal", "random", NULL};
	struct run *run = state->input;
	int choice = 0, err;

	switch (key) {
	case OPT_ACCESS:
		return -cli_choice("--access", arg, access, &run->edges.access);
	case OPT_ADVISE:
		err = cli_choice("--advise", arg, advice, &choice);
		run->edges.random = choice;
		run->advised = true;
		return -err;
	case OPT_COLD:
		run->edges.cold = true;
		return 0;
	case OPT_VERIFY:
		run->verify = true;
		return 0;
	case ARGP_KEY_END:
		if (run->advised && run->edges.access != EDGES_MMAP)
			return -err_set(-EINVAL, "--advise is for --access mmap only");
		if (run->store.nuris && run->edges.access != EDGES_ARRAY)
			return -err_set(-EINVAL, "--device is for --access array only");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp common_argp = {common_options, parse_common, NULL, NULL, NULL, NULL, NULL};

static error_t parse_run(int key, char *arg, struct argp_state *state)
{
	struct run *run = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &run->store;
		state->child_inputs[1] = &run->store;
		state->child_inputs[2] = &run->store;
		state->child_inputs[3] = run;
		state->child_inputs[4] = &run->json;
		return 0;
	case 's':
		run->source_name = arg;
		return 0;
	case OPT_ITERATIONS:
		return -cli_u32("--iterations", arg, 1, 1000000, &run->iterations);
	case OPT_DELTA:
		return -cli_size("--delta", arg, 1, UINT64_MAX, &run->delta);
	case ARGP_KEY_ARG:
		if (run->file)
			return -err_set(-EINVAL, "\"%s\" is one argument too many", arg);
		run->file = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{&storage_device_argp, 0, NULL, 0}, {&storage_layout_argp, 0, NULL, 0},
	{&storage_cache_argp, 0, NULL, 0},  {&common_argp, 0, NULL, 0},
	{&cli_json_argp, 0, NULL, 0},       {0},
};

#define DEVICES_DOC                                                                                \
	"The row offsets and what is kept by vertex are in memory; the edges are read through a "  \
	"cache from FILE, or from devices that hold an image of it (annex copy). mem: devices "    \
	"are filled from FILE first."

/* The vertex of the highest degree is a fair place to start from when none is named. */
static int find_source(struct run *run)
{
	const struct csr *g = &run->g;

	if (run->source_name)
		return csr_find(g, run->source_name, &run->source);
	for (uint64_t v = 1; v < g->h.vertices; v++)
		if (g->offsets[v + 1] - g->offsets[v] >
		    g->offsets[run->source + 1ull] - g->offsets[run->source])
			run->source = (uint32_t)v;
	return 0;
}

static void report_head(const struct run *run, double s, const struct edges *e, struct out *out)
{
	static const char *const access[] = {"array", "mmap", "memory"};

	out_text(out, "file", "graph file", run->file);
	out_count(out, "vertices", "vertices", run->g.h.vertices);
	out_count(out, "edges", "edges", run->g.h.edges);
	out_text(out, "access", "access", access[e->access]);
	out_count(out, "threads", "threads", run->store.threads);
	if (e->access == EDGES_ARRAY) {
		out_bytes(out, "cache_bytes", "cache", run->store.cache);
		out_bytes(out, "line_bytes", "line", run->store.line);
	}
	out_bytes(out, "anon_bytes", "anonymous memory", mem_anonymous());
	out_seconds(out, "time_s", "time", s);
	out_count(out, "edges_traversed", "edges traversed", edges_count(e));
	out_rate(out, "edges_per_s", "speed", (double)edges_count(e) / s, " edges");
	if (e->access == EDGES_ARRAY)
		storage_report(&e->store, edges_asked(e), out);
}

static int run_open(struct run *run, const struct algorithm *a, struct pool *pool, struct out *out)
{
	struct edges e;
	uint64_t start;
	double s;
	int err = edges_open(&e, &run->g, pool, &run->edges, &run->store), closed;

	if (err)
		return err;
	start = annex_now();
	err = a->run(run, &e);
	s = (double)(annex_now() - start) / 1e9;
	progress_end();
	if (!err)
		report_head(run, s, &e, out);
	closed = edges_close(&e);
	if (!err)
		err = closed;
	if (!err)
		a->report(run, out);
	if (!err && run->verify) {
		err = a->verify(run);
		progress_end();
		out_bool(out, "verified", "verified", !err);
	}
	a->free(run);
	return err;
}

static int run_graph(const struct algorithm *a, int argc, char **argv)
{
	struct run run = {.iterations = 100, .delta = 64};
	struct pool *pool = NULL;
	struct out out;
	int err = cli_parse(a->argp, argc, argv, &run);

	if (err)
		return err;
	if (!run.file)
		return err_set(-EINVAL,
			       "which graph? Name a file made by annex graph import or gen");
	err = csr_open(run.file, &run.g);
	if (err)
		return err;
	if (a->sourced)
		err = find_source(&run);
	if (!err)
		err = pool_create(run.store.threads, &pool);
	if (!err) {
		out_init(&out, argv[0], run.json);
		err = run_open(&run, a, pool, &out);
		/* A result that was found wrong is shown, and then complained about. */
		if (!err || err == -EBADMSG) {
			int printed = out_end(&out);

			err = err ? err : printed;
		} else {
			out_drop(&out);
		}
	}
	pool_destroy(pool);
	csr_close(&run.g);
	return err;
}

static void report_vertex(struct run *run, struct out *out, const char *key, const char *label,
			  uint32_t v)
{
	char buf[16];

	out_row(out, label, "%s", csr_label(&run->g, v, buf, sizeof(buf)));
	out_json(out, key, run->g.names ? json_string(run->g.names[v]) : json_integer(v));
}

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
	report_vertex(run, out, "source", "source", run->source);
	out_count(out, "reached", "vertices reached", run->r.bfs.reached);
	out_count(out, "levels", "levels", run->r.bfs.levels);
}

static void bfs_done(struct run *run)
{
	bfs_free(&run->r.bfs);
}

static const struct argp_option source_options[] = {
	{"source", 's', "VERTEX", 0, "Name or number of the vertex to start from (highest degree)",
	 0},
	{0}};

static const char bfs_doc[] =
	"Breadth-first search: how many edges away every vertex is.\n\n" DEVICES_DOC "\vExamples:\n"
	"  annex graph bfs debian.csr --source apt --cache 256K --verify\n"
	"  annex graph bfs kron22.csr --cache 64M --line 4096\n"
	"  annex graph bfs kron22.csr --device file:/mnt/a/k.img --device file:/mnt/b/k.img";

int graph_bfs(int argc, char **argv)
{
	static const struct argp argp = {source_options, parse_run, "FILE", bfs_doc,
					 children,       NULL,      NULL};
	static const struct algorithm a = {&argp, bfs_do, bfs_judge, bfs_report, bfs_done, true};

	return run_graph(&a, argc, argv);
}

static int cc_do(struct run *run, struct edges *e)
{
	return cc_run(e, &run->r.cc);
}

static int cc_judge(struct run *run)
{
	return verify_cc(&run->g, &run->r.cc);
}

static void cc_report(struct run *run, struct out *out)
{
	out_count(out, "components", "components", run->r.cc.components);
	out_count(out, "largest", "vertices of the largest", run->r.cc.largest);
	report_vertex(run, out, "largest_member", "first of the largest", run->r.cc.largest_id);
}

static void cc_done(struct run *run)
{
	cc_free(&run->r.cc);
}

static const char cc_doc[] =
	"Connected components; of a directed graph, the weakly connected ones.\n\n" DEVICES_DOC
	"\vExample:\n"
	"  annex graph cc debian.csr --cache 256K --verify";

int graph_cc(int argc, char **argv)
{
	static const struct argp argp = {NULL, parse_run, "FILE", cc_doc, children, NULL, NULL};
	static const struct algorithm a = {&argp, cc_do, cc_judge, cc_report, cc_done, false};

	return run_graph(&a, argc, argv);
}

static int pagerank_do(struct run *run, struct edges *e)
{
	return pagerank_run(e, run->iterations, &run->r.pagerank);
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

static const struct argp_option pagerank_options[] = {
	{"iterations", OPT_ITERATIONS, "N", 0, "Stop after N at the latest (100)", 0}, {0}};

static const char pagerank_doc[] = "PageRank with a damping of 0.85, until all ranks together "
				   "change by less than 1e-6.\n\n" DEVICES_DOC "\vExample:\n"
				   "  annex graph pagerank debian.csr --cache 256K --iterations 50";

int graph_pagerank(int argc, char **argv)
{
	static const struct argp argp = {pagerank_options, parse_run, "FILE", pagerank_doc,
					 children,         NULL,      NULL};
	static const struct algorithm a = {&argp,           pagerank_do,   pagerank_judge,
					   pagerank_report, pagerank_done, false};

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
	report_vertex(run, out, "source", "source", run->source);
	out_count(out, "reached", "vertices reached", run->r.sssp.reached);
	out_count(out, "farthest", "distance of the farthest", run->r.sssp.farthest);
	out_count(out, "rounds", "rounds", run->r.sssp.rounds);
}

static void sssp_done(struct run *run)
{
	sssp_free(&run->r.sssp);
}

static const struct argp_option sssp_options[] = {
	{"source", 's', "VERTEX", 0, "Name or number of the vertex to start from (highest degree)",
	 0},
	{"delta", OPT_DELTA, "N", 0,
	 "Work on vertices up to N farther than the nearest at once (64)", 0},
	{0}};

static const char sssp_doc[] = "Shortest paths by the weights of the file; without weights every "
			       "edge counts 1.\n\n" DEVICES_DOC "\vExample:\n"
			       "  annex graph sssp road.csr --source 0 --cache 64M --delta 1000";

int graph_sssp(int argc, char **argv)
{
	static const struct argp argp = {sssp_options, parse_run, "FILE", sssp_doc,
					 children,     NULL,      NULL};
	static const struct algorithm a = {&argp,       sssp_do,   sssp_judge,
					   sssp_report, sssp_done, true};

	return run_graph(&a, argc, argv);
}
