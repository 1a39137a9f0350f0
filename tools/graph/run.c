// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <annex/detail/clock.h>
#include "../cli.h"
#include "../error.h"
#include "../mem.h"
#include "../progress.h"
#include "on_gpu.h"
#include "run.h"

enum { OPT_ACCESS = 300, OPT_ADVISE, OPT_COLD, OPT_VERIFY };

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
		if (run->store.cache_in && run->edges.access != EDGES_ARRAY)
			return -err_set(-EINVAL, "--cache-in is for --access array only");
		return run->on_gpu ? -gpu_check(run) : 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp common_argp = {common_options, parse_common, NULL, NULL, NULL, NULL, NULL};

error_t run_parse(int key, char *arg, struct argp_state *state)
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
	case RUN_SOURCE:
		run->source_name = arg;
		return 0;
	case RUN_ITERATIONS:
		return -cli_u32("--iterations", arg, 1, 1000000, &run->iterations);
	case RUN_GPU:
		run->on_gpu = true;
		return arg ? -cli_u32("--gpu", arg, 0, 1023, &run->gpu) : 0;
	case RUN_DELTA:
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

const struct argp_child run_children[] = {
	{&storage_device_argp, 0, NULL, 0}, {&storage_layout_argp, 0, NULL, 0},
	{&storage_cache_argp, 0, NULL, 0},  {&common_argp, 0, NULL, 0},
	{&cli_json_argp, 0, NULL, 0},       {0},
};

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
	int err = run->on_gpu ? gpu_search(run, out) : search_host(run, a, pool, out);

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
		if (!err)
			err = csr_unchanged(&run.g);
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

void run_report_vertex(struct run *run, struct out *out, const char *key, const char *label,
		       uint32_t v)
{
	char buf[16];

	out_row(out, label, "%s", csr_label(&run->g, v, buf, sizeof(buf)));
	out_json(out, key, run->g.names ? json_string(run->g.names[v]) : json_integer(v));
}
