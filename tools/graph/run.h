/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run of an algorithm over a graph, as a command: what all of them have in common.
 */
#ifndef TOOLS_GRAPH_RUN_H
#define TOOLS_GRAPH_RUN_H

#include <argp.h>
#include "../out.h"
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

/* The part of one algorithm. */
struct algorithm {
	const struct argp *argp;
	int (*run)(struct run *run, struct edges *e);
	int (*verify)(struct run *run);
	void (*report)(struct run *run, struct out *out);
	void (*free)(struct run *run);
	bool sourced;
};

/* Options that not all of them have; run_parse() knows them. */
enum { RUN_SOURCE = 's', RUN_ITERATIONS = 256, RUN_DELTA, RUN_GPU };

/* For the argp of an algorithm: its parser, its children, and a paragraph of its help. */
error_t run_parse(int key, char *arg, struct argp_state *state);
extern const struct argp_child run_children[];

#define RUN_DOC                                                                                    \
	"The row offsets and what is kept by vertex are in memory; the edges are read through a "  \
	"cache from FILE, or from devices that hold an image of it (annex copy). mem: devices "    \
	"are filled from FILE first."

/* run_graph() - Parse, open, run, report, verify; as struct cli_command's run. */
int run_graph(const struct algorithm *a, int argc, char **argv);

/* run_report_vertex() - A row with the name or number of @v. */
void run_report_vertex(struct run *run, struct out *out, const char *key, const char *label,
		       uint32_t v);

#endif
