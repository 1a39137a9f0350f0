// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <annex/detail/clock.h>
#include "tools/common/cli.h"
#include "tools/common/error.h"
#include "tools/common/mem.h"
#include "tools/common/progress.h"
#include "run.h"

static const char *const access_names[] = {"array", "mmap", "memory", NULL};

static const char *const mechanism_names[] = {
	[EDGES_NONE] = "none",   [EDGES_CACHE] = "cache", [EDGES_COALESCE] = "coalesce",
	[EDGES_REUSE] = "reuse", [EDGES_AHEAD] = "ahead", NULL};

static int set_advice(void *o, const char *opt, char *arg)
{
	static const char *const advice[] = {"normal", "random", NULL};
	struct run *run = o;
	int choice = 0, err = cli_choice(opt, arg, advice, &choice);

	run->edges.random = choice;
	run->advised = true;
	return err;
}

const struct cli_option run_options[] = {
	CLI_TABLE(struct run, store, storage_device_options),
	CLI_TABLE(struct run, store, storage_layout_options),
	CLI_TABLE(struct run, store, storage_cache_options),
	{"access", 0, NULL, 3, OPT_CHOICE(struct run, edges.access, access_names),
	 "Read edges through an array over the cache (array); mapped or all in memory, for "
	 "comparison"},
	{"advise", 0, "normal|random", 3, OPT_CALL(set_advice),
	 "Advice to the kernel about the mapping (normal)"},
	{"mechanisms", 0, NULL, 3, OPT_CHOICE(struct run, edges.mechanisms, mechanism_names),
	 "How the array reads elements, each step added to the steps before: a read per element "
	 "(none), a cache, one probe for all elements of 32 that share a line, a line held for all "
	 "of its elements, lines read ahead (ahead)"},
	{"warm", 0, NULL, 3, OPT_FLAG(struct run, edges.warm),
	 "Load all edges into the cache first, which must be large enough"},
	{"cold", 0, NULL, 3, OPT_FLAG(struct run, edges.cold),
	 "Drop the file from the page cache first"},
	{"verify", 0, NULL, 3, OPT_FLAG(struct run, verify),
	 "Compare the result with that of a serial in-memory run"},
	CLI_JSON(struct run, json),
	{0}};

static int check_opts(struct run *run)
{
	int err = 0;

	if (run->advised && run->edges.access != EDGES_MMAP)
		return err_set(-EINVAL, "--advise is for --access mmap only");
	if ((run->edges.warm || run->edges.mechanisms != EDGES_AHEAD) &&
	    (run->edges.access != EDGES_ARRAY || run->on_gpu))
		return err_set(-EINVAL, "%s is for --access array only, and not for --gpu",
			       run->edges.warm ? "--warm" : "--mechanisms");
	if (run->store.nuris && run->edges.access != EDGES_ARRAY)
		return err_set(-EINVAL, "--device is for --access array only");
	if (run->store.cache_in && run->edges.access != EDGES_ARRAY)
		return err_set(-EINVAL, "--cache-in is for --access array only");
	if (run->on_gpu)
		err = gpu_check(run);
	return err;
}

/* The default source is the vertex of the highest degree. */
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
	out_text(out, "file", "graph file", run->file);
	out_count(out, "vertices", "vertices", run->g.h.vertices);
	out_count(out, "edges", "edges", run->g.h.edges);
	out_text(out, "access", "access", access_names[e->access]);
	out_count(out, "threads", "threads", run->store.threads);
	if (e->access == EDGES_ARRAY) {
		out_text(out, "mechanisms", "mechanisms", mechanism_names[e->mechanisms]);
		out_bytes(out, "cache_bytes", "cache", e->store.bytes);
		out_bytes(out, "line_bytes", "line", run->store.line);
	}
	out_bytes(out, "anon_bytes", "anonymous memory", mem_anonymous());
	out_seconds(out, "time_s", "time", s);
	out_count(out, "edges_traversed", "edges traversed", edges_count(e));
	out_rate(out, "edges_per_s", "speed", (double)edges_count(e) / s, " edges");
	if (e->access == EDGES_ARRAY)
		storage_report(&e->store, edges_asked(e), out);
}

static int search_host(struct run *run, const struct algorithm *a, struct pool *pool,
		       struct out *out)
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
	return err ? err : closed;
}

static int run_open(struct run *run, const struct algorithm *a, struct pool *pool, struct out *out)
{
	int err = run->on_gpu ? gpu_run(run, a, out) : search_host(run, a, pool, out);

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

int run_graph(const struct algorithm *a, int argc, char **argv)
{
	const struct cli_line line = {a->options ? a->options : run_options, "FILE", a->doc,
				      CLI_ARG(struct run, file)};
	struct run run = {.edges = {.mechanisms = EDGES_AHEAD}, .iterations = 100, .delta = 64};
	struct pool *pool = NULL;
	struct out out;
	int err = cli_parse(&line, argc, argv, &run);

	if (!err)
		err = storage_settle(&run.store);
	if (!err)
		err = check_opts(&run);
	if (err)
		return err;
	if (!run.file)
		return err_set(-EINVAL, "no graph: name a file made by annex graph import or gen");
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
		if (!err)
			err = csr_unchanged(&run.g);
		err = out_close(&out, err);
	}
	pool_destroy(pool);
	csr_close(&run.g);
	return err;
}

void run_report_vertex(struct run *run, struct out *out, const char *key, const char *label,
		       uint32_t v)
{
	char buf[16];

	out_row(out, label, "%s", csr_label(&run->g, v, buf, sizeof(buf)));
	out_json(out, key, run->g.names ? json_string(run->g.names[v]) : json_integer(v));
}
