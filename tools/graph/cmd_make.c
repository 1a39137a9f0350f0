// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex graph, and annex graph import, gen and info.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <annex/detail/clock.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "tools/common/error.h"
#include "tools/common/input.h"
#include "tools/common/mem.h"
#include "tools/common/out.h"
#include "tools/common/newfile.h"
#include "tools/common/pool.h"
#include "tools/common/progress.h"
#include "tools/common/uri.h"
#include "build.h"

struct make_opts {
	const char *args[2], *output; /* a format, and an input */
	struct gen gen;
	bool weights, undirected, overwrite, json;
	uint32_t ids, threads;
	uint64_t start;
};

static int check_output(const struct make_opts *o)
{
	if (!o->output)
		return err_set(-EINVAL, "no output: name the graph file with -o FILE");
	return newfile_regular(o->output, o->overwrite);
}

/* Rows, file and report of import and gen. */
static int finish(const struct make_opts *o, const struct build_source *src, bool both,
		  struct csr_data *d)
{
	struct pool *pool = NULL;
	struct stat st;
	struct out out;
	int err = pool_create(o->threads, &pool);

	d->id_bytes = o->ids;
	if (!err)
		err = build_csr(pool, src, both, d);
	pool_destroy(pool);
	if (!err)
		err = csr_write(o->output, o->overwrite, d);
	progress_end();
	if (!err && stat(o->output, &st))
		err = err_sys("cannot open %s", o->output);
	if (err)
		return err;
	out_init(&out, cli_name(), o->json);
	out_text(&out, "file", "graph file", o->output);
	out_count(&out, "vertices", "vertices", d->vertices);
	out_count(&out, "edges", "edges", d->edges);
	out_count(&out, "self_loops", "self loops left out", d->loops);
	out_count(&out, "duplicates", "duplicates left out", d->duplicates);
	out_bytes(&out, "bytes", "size", (uint64_t)st.st_size);
	out_seconds(&out, "time_s", "time", (double)(annex_now() - o->start) / 1e9);
	return out_end(&out);
}

static int read_input(const struct make_opts *o, struct list *l)
{
	FILE *f;
	int err;

	progress_begin("reading");
	if (!o->args[1])
		return err_set(-EINVAL, "no input: annex graph import snap INPUT -o FILE");
	f = input_stream(o->args[1]);
	if (!f)
		return -EINVAL;
	err = snap_read(f, o->args[1], o->weights, l);
	if (f != stdin)
		fclose(f);
	return err;
}

static int set_ids(void *opts, const char *opt, char *arg)
{
	static const char *const widths[] = {"4", "8", NULL};
	struct make_opts *o = opts;
	int choice = 0, err = cli_choice(opt, arg, widths, &choice);

	o->ids = choice ? 8 : 4;
	return err;
}

/* Of import and gen. */
static const struct cli_option make_options[] = {
	{"output", 'o', "FILE", 0, OPT_TEXT(struct make_opts, output), "The graph file to write"},
	{"overwrite", 0, NULL, 0, OPT_FLAG(struct make_opts, overwrite),
	 "Replace a graph file of that name"},
	{"ids", 0, "4|8", 0, OPT_CALL(set_ids), "Bytes per vertex id in the file (4)"},
	{"threads", 't', "N", 0, OPT_U32(struct make_opts, threads, 1, 1024),
	 "Worker threads (one per core)"},
	CLI_JSON(struct make_opts, json),
	{0}};

static const struct cli_option import_options[] = {
	CLI_ALSO(make_options),
	{"undirected", 0, NULL, 0, OPT_FLAG(struct make_opts, undirected),
	 "Add every edge in both directions"},
	{"weights", 0, NULL, 0, OPT_FLAG(struct make_opts, weights),
	 "Use the third column as weights, rounded"},
	{0}};

static const char *const formats[] = {"snap", NULL};

static const char *format_at(unsigned int i, char *summary)
{
	strcpy(summary, "two ids a line, # comments");
	return formats[i];
}

static const struct cli_list format_list = {.arg = "FORMAT", .at = format_at};

static const char import_doc[] =
	"Read a graph and write it as a graph file. Self loops and duplicates are left out. INPUT "
	"- is standard input."
	"\vExamples:\n"
	"  annex graph import snap soc-LiveJournal1.txt -o lj.csr\n"
	"  awk '!/^%/ && n++' road.mtx | annex graph import snap - --undirected --weights -o "
	"road.csr";

int graph_import(int argc, char **argv)
{
	static const struct cli_line line = {import_options, "FORMAT INPUT", import_doc,
					     CLI_ARG_2(struct make_opts, args),
					     .list = &format_list};
	char names[CLI_SUMMARY];
	struct make_opts o = {.ids = 4, .start = annex_now()};
	struct build_source src;
	struct csr_data d = {0};
	struct list l = {0};
	int err = cli_parse(&line, argc, argv, &o), format;

	if (err)
		return err;
	if (!o.args[0])
		return err_set(-EINVAL, "no format: name one of %s",
			       cli_names(&format_list, names, sizeof(names)));
	err = cli_choice("format", o.args[0], formats, &format);
	if (!err)
		err = check_output(&o);
	if (!err && o.args[1])
		err = same_spares(o.output, o.args[1]);
	if (!err)
		err = read_input(&o, &l);
	if (!err) {
		d.vertices = l.vertices;
		d.flags = (o.undirected ? 0 : CSR_DIRECTED) | (l.weighted ? CSR_WEIGHTED : 0) |
			  (l.names ? CSR_NAMED : 0);
		d.names = l.names;
		d.names_len = l.names_len;
		build_list_source(&l, &src);
		err = finish(&o, &src, o.undirected, &d);
	}
	build_free(&d);
	list_free(&l);
	return err;
}

static const struct cli_option gen_options[] = {
	CLI_ALSO(make_options),
	{"scale", 0, "N", 0, OPT_U32(struct make_opts, gen.scale, 1, 31),
	 "2^N vertices, N from 1 to 31 (16)"},
	{"degree", 0, "N", 0, OPT_U32(struct make_opts, gen.degree, 1, 65536),
	 "N edges per vertex, each in both directions (16)"},
	{"seed", 0, "N", 0, OPT_SIZE(struct make_opts, gen.seed, 0, UINT64_MAX),
	 "Seed of the random graph (1)"},
	{"weights", 0, NULL, 0, OPT_FLAG(struct make_opts, weights),
	 "Give the edges weights from 1 to 255"},
	{0}};

static const char *const kinds[] = {"kron", "urand", NULL};

static const char *kind_at(unsigned int i, char *summary)
{
	static const char *const about[] = {
		"Kronecker, A = 0.57, B = C = 0.19, as in the GAP benchmark suite",
		"uniform random", ""};

	strcpy(summary, about[i]);
	return kinds[i];
}

static const struct cli_list kind_list = {.arg = "KIND", .at = kind_at};

static const char gen_doc[] =
	"Make a graph and write it as a graph file. Every edge goes in both directions; self "
	"loops and duplicates are left out. The graph depends on the seed, not on the number of "
	"threads."
	"\vExamples:\n"
	"  annex graph gen kron --scale 22 -o kron22.csr\n"
	"  annex graph gen urand --scale 20 --degree 8 --weights -o urand20.csr";

/*
 * Check memory and storage for the sizes that are certain: edges both ways, row offsets, degrees,
 * the permutation; and of the file the row offsets, with half of the edges where so few are
 * possible duplicates.
 */
static int check_fit(const struct make_opts *o)
{
	uint64_t vertices = 1ull << o->gen.scale, edges = 2ull * o->gen.degree << o->gen.scale;
	uint64_t memory = edges * 8 + vertices * 20, available = mem_available();
	uint64_t file = vertices * 8;

	if (o->gen.degree <= vertices / 128)
		file += edges / 2 * (o->ids + (o->weights ? 4 : 0));
	if (available && memory > available)
		return err_set(-ENOMEM, "this graph needs %llu bytes of memory, and %llu are free",
			       (ull)memory, (ull)available);
	return newfile_room(o->output, file);
}

int graph_gen(int argc, char **argv)
{
	static const struct cli_line line = {gen_options, "KIND", gen_doc,
					     CLI_ARG_2(struct make_opts, args), .list = &kind_list};
	struct make_opts o = {
		.ids = 4, .gen = {.scale = 16, .degree = 16, .seed = 1}, .start = annex_now()};
	struct build_source src;
	char names[CLI_SUMMARY];
	struct csr_data d = {0};
	int err = cli_parse(&line, argc, argv, &o), kind;

	if (err)
		return err;
	if (!o.args[0])
		return err_set(-EINVAL, "no kind: name one of %s",
			       cli_names(&kind_list, names, sizeof(names)));
	if (o.args[1])
		return err_set(-EINVAL, "\"%s\" is one argument too many", o.args[1]);
	err = cli_choice("kind", o.args[0], kinds, &kind);
	if (!err)
		err = check_output(&o);
	if (!err)
		err = check_fit(&o);
	if (err)
		return err;
	o.gen.kron = kind == 0;
	o.gen.weights = o.weights;
	d.vertices = 1ull << o.gen.scale;
	d.flags = o.weights ? CSR_WEIGHTED : 0;
	err = gen_init(&o.gen, &src);
	if (!err)
		err = finish(&o, &src, true, &d);
	gen_free(&o.gen);
	build_free(&d);
	return err;
}

static void report_info(const struct csr *g, struct out *out)
{
	uint64_t most = 0, at = 0, alone = 0;
	char buf[16];

	for (uint64_t v = 0; v < g->h.vertices; v++) {
		uint64_t degree = g->offsets[v + 1] - g->offsets[v];

		alone += !degree;
		if (degree > most) {
			most = degree;
			at = v;
		}
	}
	out_text(out, "file", "graph file", g->path);
	out_count(out, "vertices", "vertices", g->h.vertices);
	out_count(out, "edges", "edges", g->h.edges);
	out_bool(out, "directed", "directed", g->h.flags & CSR_DIRECTED);
	out_bool(out, "weighted", "weighted", g->h.flags & CSR_WEIGHTED);
	out_bool(out, "named", "named", g->h.flags & CSR_NAMED);
	out_bytes(out, "id_bytes", "vertex id", g->h.id_bytes);
	out_bytes(out, "edge_bytes", "edges and weights", csr_edge_bytes(g));
	out_bytes(out, "bytes", "size", g->size);
	out_ratio(out, "degree_mean", "mean degree", (double)g->h.edges / (double)g->h.vertices,
		  "");
	out_count(out, "degree_max", "highest degree", most);
	out_text(out, "degree_max_vertex", "of vertex",
		 csr_label(g, (uint32_t)at, buf, sizeof(buf)));
	out_count(out, "edgeless", "vertices without edges", alone);
}

static const char info_doc[] = "Check a graph file and describe it."
			       "\vExample:\n  annex graph info kron22.csr";

static const struct cli_option info_options[] = {CLI_JSON(struct make_opts, json), {0}};

int graph_info(int argc, char **argv)
{
	static const struct cli_line line = {info_options, "FILE", info_doc,
					     CLI_ARG_2(struct make_opts, args)};
	struct make_opts o = {0};
	struct csr g;
	struct out out;
	int err = cli_parse(&line, argc, argv, &o);

	if (err)
		return err;
	if (!o.args[0] || o.args[1])
		return err_set(-EINVAL, "name one graph file");
	err = csr_open(o.args[0], &g);
	if (err)
		return err;
	out_init(&out, cli_name(), o.json);
	report_info(&g, &out);
	csr_close(&g);
	return out_end(&out);
}

static const struct cli_command commands[] = {
	{"import", graph_import, "read a graph from an edge list"},
	{"gen", graph_gen, "make a Kronecker or uniform random graph"},
	{"info", graph_info, "describe a graph file"},
	{"bfs", graph_bfs, "breadth-first search from a vertex"},
	{"cc", graph_cc, "connected components"},
	{"pagerank", graph_pagerank, "rank vertices by the links to them"},
	{"sssp", graph_sssp, "shortest paths from a vertex"},
	{NULL, NULL, NULL}};

int cmd_graph(int argc, char **argv)
{
	return cli_dispatch(commands, "Graphs whose edges stay on storage.", argc, argv);
}
