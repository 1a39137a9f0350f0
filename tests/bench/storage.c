// SPDX-License-Identifier: MIT
/*
 * The storage benchmarks: storage OUTPUT.json TOOL DIR [queue|file|array|bfs]...
 */
#include <stdio.h>
#include <string.h>
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
	struct bench_ctx ctx;
	unsigned int ran = 0;

	if (argc < 4)
		bench_fail("usage: storage OUTPUT.json TOOL DIR [queue|file|array|bfs]...");
	ctx = (struct bench_ctx){.dir = argv[3], .tool = argv[2]};
	annex_set_log(print_log, NULL);
	bench_begin();
	bench_command("make bench");
	for (unsigned int i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		if (!wanted(groups[i].name, argc, argv))
			continue;
		groups[i].run(&ctx);
		ran++;
	}
	if (!ran)
		bench_fail("no such benchmark: there are queue, file, array, bfs");
	bench_end(argv[1]);
	return 0;
}
