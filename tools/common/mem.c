// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <annex/provider.h>
#include "cgroup.h"
#include "error.h"
#include "mem.h"

uint64_t mem_limit(void)
{
	const uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) *
				 (uint64_t)sysconf(_SC_PAGESIZE);
	const uint64_t groups = cgroup_memory();

	return machine < groups ? machine : groups;
}

void *mem_take(const struct annex_provider *prov, uint64_t count, size_t size, const char *what)
{
	uint64_t bytes;
	void *p;

	if (!count)
		count = 1;
	if (__builtin_mul_overflow(count, size, &bytes) || bytes > mem_limit()) {
		err_set(-ENOMEM, "%s: %llu x %zu bytes are more than the memory that there is",
			what, (ull)count, size);
		return NULL;
	}
	p = prov->alloc(prov->ctx, bytes, 64);
	if (!p)
		err_set(-ENOMEM, "%s: no memory for %llu x %zu bytes", what, (ull)count, size);
	return p;
}

void mem_give(const struct annex_provider *prov, void *p, uint64_t count, size_t size)
{
	if (p)
		prov->free(prov->ctx, p, (count ? count : 1) * size);
}

void *mem_alloc(uint64_t count, size_t size, const char *what)
{
	return mem_take(annex_provider_huge(), count, size, what);
}

void mem_free(void *p, uint64_t count, size_t size)
{
	mem_give(annex_provider_huge(), p, count, size);
}

/* The number behind @key in a file of the kernel's, in KiB there; 0: not told. */
static uint64_t kib_of(const char *path, const char *key)
{
	FILE *f = fopen(path, "re");
	unsigned long long kib = 0;
	size_t len = strlen(key);
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, len) && sscanf(line + len, ": %llu kB", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib * 1024;
}

uint64_t mem_available(void)
{
	return kib_of("/proc/meminfo", "MemAvailable");
}

uint64_t mem_anonymous(void)
{
	return kib_of("/proc/self/status", "RssAnon");
}
