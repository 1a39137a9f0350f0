/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run of an algorithm over a graph, as a command: what all of them have in common.
 */
#ifndef TOOLS_GRAPH_RUN_H
#define TOOLS_GRAPH_RUN_H

#include "tools/common/cli.h"
#include "tools/common/device.h"
#include "tools/common/out.h"
#include "../gpu/whole.h"
#include "algo.h"

struct run {
	struct storage_opts store;
	struct edges_opts edges;
	bool json, verify, advised, on_gpu;
	uint32_t gpu; /* which, with @on_gpu */
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

/*
 * The part of one algorithm. @on_gpu: by GPU threads, over the edges of @w; *@edges: how many it
 * visited.
 */
struct algorithm {
	const struct cli_option *options; /* NULL: run_options */
	const char *doc;
	int (*run)(struct run *run, struct edges *e);
	int (*on_gpu)(struct run *run, struct gpu_whole *w, uint64_t *edges);
	int (*verify)(struct run *run);
	void (*report)(struct run *run, struct out *out);
	void (*free)(struct run *run);
	bool sourced;
};

/* The options of all of them, and of algorithms with @on_gpu. */
extern const struct cli_option run_options[], run_gpu_options[];

#define RUN_DOC                                                                                    \
	"Row offsets and results of vertices are in memory; the edges are read through a "         \
	"cache from FILE, or from devices that hold an image of it (annex copy). mem: devices "    \
	"are filled from FILE first."

/* run_graph() - Parse, open, run, report, verify; as struct cli_command's run. */
int run_graph(const struct algorithm *a, int argc, char **argv);

/* run_report_vertex() - A row with the name or number of @v. */
void run_report_vertex(struct run *run, struct out *out, const char *key, const char *label,
		       uint32_t v);

/* on_gpu.c: gpu_check() - -EINVAL for options that do not apply to a GPU. */
int gpu_check(const struct run *run);

/* gpu_run() - The algorithm and its rows; the result is in run->r, to be freed in any case. */
int gpu_run(struct run *run, const struct algorithm *a, struct out *out);

#endif
