// SPDX-License-Identifier: MIT
/*
 * The storage benchmarks: storage OUTPUT.json TOOL DIR [queue|file|array|bfs]...
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <jansson.h>
#include <annex/log.h>
#include "bench.h"

static const struct {
	const char *name;
	void (*run)(const struct bench_ctx *ctx);
} groups[] = {
	{"queue", bench_queue},
	{"file", bench_file},
	{"array", bench_array},
	{"bfs", bench_bfs},
};

static struct bench_ctx ctx;
static json_t *figures;

void bench_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("bench: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(1);
}

void bench_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("  ", stdout);
	vprintf(fmt, ap);
	putchar('\n');
	fflush(stdout);
	va_end(ap);
}

void bench_figure(const char *name, double value, const char *unit, double target, int at_most)
{
	int met = at_most ? value <= target : value >= target;
	json_t *f = json_pack("{s:s, s:f, s:s, s:s}", "figure", name, "value", value, "unit", unit,
			      "command", ctx.command);

	if (!f)
		bench_fail("out of memory");
	json_object_set_new(f, "target", target > 0 ? json_real(target) : json_null());
	json_object_set_new(f, "met", target > 0 ? json_boolean(met) : json_null());
	json_array_append_new(figures, f);
	if (target > 0)
		printf("%-66s %10.3f %-10s %s %-6g %s\n", name, value, unit,
		       at_most ? "<=" : ">=", target, met ? "met" : "MISSED");
	else
		printf("%-66s %10.3f %s\n", name, value, unit);
	fflush(stdout);
}

double bench_seconds(void)
{
	return (double)annex_now() / 1e9;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_median(double *values, unsigned int n)
{
	qsort(values, n, sizeof(*values), by_value);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* xorshift64*: three cycles, so that the yardstick is measured and not the generator */
uint64_t bench_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1dull;
}

struct annex_dev *bench_open(const char *uri, const struct annex_dev_opts *opts)
{
	struct annex_dev *dev;

	if (annex_dev_open(uri, opts, &dev))
		bench_fail("%s", annex_last_error());
	return dev;
}

void *bench_map(struct annex_dev *dev, size_t len, uint64_t *addr)
{
	const struct annex_provider *p = annex_provider_huge();
	void *buf = p->alloc(p->ctx, len, 4096);

	if (!buf)
		bench_fail("no %zu bytes of memory", len);
	memset(buf, 0, len);
	if (annex_dev_map(dev, buf, len, addr))
		bench_fail("%s", annex_last_error());
	return buf;
}

void bench_unmap(struct annex_dev *dev, void *buf, size_t len, uint64_t addr)
{
	const struct annex_provider *p = annex_provider_huge();

	if (annex_dev_unmap(dev, addr, len))
		bench_fail("%s", annex_last_error());
	p->free(p->ctx, buf, len);
}

static void print_log(void *unused, enum annex_log_level level, const char *line)
{
	(void)unused;
	if (level != ANNEX_LOG_INFO)
		fprintf(stderr, "  annex: %s\n", line);
}

static int wanted(const char *name, int argc, char **argv)
{
	for (int i = 4; i < argc; i++)
		if (!strcmp(argv[i], name))
			return 1;
	return argc == 4;
}

int main(int argc, char **argv)
{
	unsigned int ran = 0;

	if (argc < 4)
		bench_fail("usage: storage OUTPUT.json TOOL DIR [queue|file|array|bfs]...");
	ctx = (struct bench_ctx){.dir = argv[3], .tool = argv[2], .command = "make bench"};
	annex_set_log(print_log, NULL);
	figures = json_array();
	for (unsigned int i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		if (!wanted(groups[i].name, argc, argv))
			continue;
		groups[i].run(&ctx);
		ran++;
	}
	if (!ran)
		bench_fail("no such benchmark: there are queue, file, array, bfs");
	if (json_dump_file(figures, argv[1], JSON_INDENT(2) | JSON_REAL_PRECISION(6)))
		bench_fail("cannot write %s: %s", argv[1], strerror(errno));
	json_decref(figures);
	return 0;
}
