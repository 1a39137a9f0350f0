// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include <annex/provider.h>
#include "error.h"
#include "mem.h"

uint64_t mem_limit(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

void *mem_alloc(uint64_t count, size_t size, const char *what)
{
	const struct annex_provider *prov = annex_provider_huge();
	uint64_t bytes;
	void *p;

	if (!count)
		count = 1;
	if (__builtin_mul_overflow(count, size, &bytes) || bytes > mem_limit()) {
		err_set(-ENOMEM, "%s: %llu x %zu bytes are more than this machine's memory", what,
			(unsigned long long)count, size);
		return NULL;
	}
	p = prov->alloc(prov->ctx, bytes, 64);
	if (!p)
		err_set(-ENOMEM, "%s: no memory for %llu x %zu bytes", what,
			(unsigned long long)count, size);
	return p;
}

void mem_free(void *p, uint64_t count, size_t size)
{
	const struct annex_provider *prov = annex_provider_huge();

	if (p)
		prov->free(prov->ctx, p, (count ? count : 1) * size);
}

uint64_t mem_anonymous(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long long kib = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "RssAnon: %llu kB", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib * 1024;
}
