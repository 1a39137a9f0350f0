// SPDX-License-Identifier: MIT
/*
 * Tests and figures of the GPU path as one program, for machines that have little else: main
 * RESULTS GROUP. RESULTS gets a line for each test and figure, a JSON object each. With the word
 * "small" behind the group everything is small, for tools that make a kernel slow.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <annex/detail/clock.h>
#include "tests.h"
#include "tools/common/error.h"
#include "tools/gpu/bench.h"

#define NO_GPU 77 /* what this returns then, as test runners take it */

struct group {
	const char *name;
	const struct gpu_test *tests;
	int (*bench)(struct gpu_bench *b);
};

static const struct group groups[] = {
	{"arrays", array_tests, NULL},
	{"faults", fault_tests, NULL},
	/* Where there is one (run.sh). */
	{"drive", drive_tests, NULL},
	{"programs", program_tests, NULL},
	{"tiers", tier_tests, NULL},
	{"queues", NULL, bench_queues},
	{"cold", NULL, bench_cold},
	{"hot", NULL, bench_hot},
	{NULL, NULL, NULL},
};

static bool small;

bool tests_small(void)
{
	return small;
}

uint64_t tests_seed(void)
{
	const char *given = getenv("ANNEX_SEED");

	return given ? strtoull(given, NULL, 0) : 1;
}

/* Text between quotes: what JSON wants hidden is made plain. */
static void print_text(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++)
		fputc(*text == '"' || *text == '\\' || (unsigned char)*text < ' ' ? '\'' : *text,
		      out);
	fputc('"', out);
}

static unsigned int run_tests(struct runner *r, const struct gpu_test *t, FILE *out)
{
	unsigned int failed = 0;

	for (; t->name; t++) {
		uint64_t start = annex_now();
		double s;
		int err;

		err_clear();
		err = t->run(r);
		s = (double)(annex_now() - start) / 1e9;
		failed += err != 0;
		fprintf(out, "{\"test\": ");
		print_text(out, t->name);
		fprintf(out, ", \"passed\": %s, \"time_s\": %.3f", err ? "false" : "true", s);
		if (err) {
			fprintf(out, ", \"error\": ");
			print_text(out, err_text());
		}
		fprintf(out, "}\n");
		printf("%s %s (%.1f s)%s%s\n", err ? "not ok" : "ok", t->name, s, err ? ": " : "",
		       err ? err_text() : "");
		fflush(stdout);
	}
	return failed;
}

/* The sizes of the issue on a GPU; on the host as little as shows that all of it works. */
static struct gpu_bench sizes(struct runner *r)
{
	struct gpu_bench big = {.r = r, BENCH_SIZES, .seed = tests_seed()};
	struct gpu_bench little = {
		.r = r,
		.bytes = 256u << 10,
		.cold = 256u << 10,
		.gathers = 4096,
		.threads = 256,
		.each = 4,
		.queues = 2,
		.depth = 64,
		.seed = tests_seed(),
	};

	return small ? little : big;
}

static unsigned int run_bench(struct runner *r, const struct group *g, FILE *out)
{
	struct gpu_bench b = sizes(r);
	uint64_t start = annex_now();
	int err;

	err_clear();
	err = g->bench(&b);
	/* That it ran, with all of its data right, is a test of its own. */
	fprintf(out, "{\"test\": \"benchmark: %s\", \"passed\": %s, \"time_s\": %.3f", g->name,
		err ? "false" : "true", (double)(annex_now() - start) / 1e9);
	if (err) {
		fprintf(out, ", \"error\": ");
		print_text(out, err_text());
	}
	fprintf(out, "}\n");
	printf("%s benchmark: %s%s%s\n", err ? "not ok" : "ok", g->name, err ? ": " : "",
	       err ? err_text() : "");
	/* On the host, or at a size that says nothing, there is nothing to report. */
	for (unsigned int i = 0; !small && i < b.n; i++) {
		const struct figure *f = &b.figure[i];

		fprintf(out, "{\"figure\": ");
		print_text(out, f->label);
		fprintf(out, ", \"key\": \"%s\", \"value\": %.6g, \"unit\": \"%s\", ", f->key,
			f->value, f->unit);
		if (f->target > 0)
			fprintf(out, "\"target\": %.6g, \"met\": %s}\n", f->target,
				f->value >= f->target ? "true" : "false");
		else
			fprintf(out, "\"target\": null, \"met\": null}\n");
		printf("  %-46s %12.4g %-4s", f->label, f->value, f->unit);
		if (f->target > 0)
			printf(" >= %-6g %s", f->target, f->value >= f->target ? "met" : "MISSED");
		putchar('\n');
	}
	return err != 0;
}

int main(int argc, char **argv)
{
	const struct group *g = groups;
	unsigned int failed;
	struct runner *r;
	FILE *out;
	int err;

	while (argc > 2 && g->name && strcmp(g->name, argv[2]))
		g++;
	if (argc < 3 || !g->name) {
		fprintf(stderr, "usage: %s RESULTS GROUP [small]; there are", argv[0]);
		for (g = groups; g->name; g++)
			fprintf(stderr, " %s", g->name);
		fputc('\n', stderr);
		return 1;
	}
	out = fopen(argv[1], "w");
	if (!out) {
		fprintf(stderr, "cannot write %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	/* Line-buffered: results so far survive a kill. */
	setvbuf(out, NULL, _IOLBF, 0);
	err = tests_runner(0, &r);
	if (err) {
		fprintf(stderr, "%s\n", err_text());
		fclose(out);
		return err == -ENODEV ? NO_GPU : 1;
	}
	small = !r->gpu || (argc > 3 && !strcmp(argv[3], "small"));
	printf("%s, %s, ANNEX_SEED=%llu\n", g->name, r->name, (unsigned long long)tests_seed());
	failed = g->tests ? run_tests(r, g->tests, out) : run_bench(r, g, out);
	runner_close(r);
	if (fclose(out)) {
		fprintf(stderr, "cannot write %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	return failed ? 1 : 0;
}
