// SPDX-License-Identifier: MIT
/*
 * The storage benchmarks: storage OUTPUT.json TOOL DIR [queue|file|array|peak|graph|
 * mechanisms|range]...
 */
#include <stdio.h>
#include <string.h>
#include "bench.h"

static const struct bench_group groups[] = {
	{"queue", bench_queue}, {"file", bench_file},   {"array", bench_array},
	{"peak", bench_peak},   {"graph", bench_graph}, {"mechanisms", bench_mechanisms},
	{"range", bench_range}, {NULL, NULL},
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

int main(int argc, char **argv)
{
	bench_command("make bench");
	bench_groups(groups, argc, argv);
	return 0;
}
