// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <annex/provider.h>
#include "error.h"
#include "mem.h"

/* struct hierarchy - Where groups are mounted, and the file of each that has the limit. */
struct hierarchy {
	const char *mount, *file;
};

enum { V1 = 1, V2 = 2 };

static const struct hierarchy first = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes"};
static const struct hierarchy second[] = {
	{"/sys/fs/cgroup", "memory.max"},
	{"/sys/fs/cgroup/unified", "memory.max"},
};

/* "max" is no number. */
static uint64_t number_in(const char *path)
{
	FILE *f = fopen(path, "re");
	unsigned long long n;
	bool is = f && fscanf(f, "%llu", &n) == 1;

	if (f)
		fclose(f);
	return is ? n : UINT64_MAX;
}

/* Least of a group and its ancestors. A container may see a path relative to the host's root. */
static uint64_t least(const struct hierarchy *h, const char *group)
{
	char at[PATH_MAX], path[2 * PATH_MAX];
	uint64_t limit = UINT64_MAX;
	char *end;

	snprintf(at, sizeof(at), "%s", group);
	do {
		uint64_t n;

		end = strrchr(at, '/');
		snprintf(path, sizeof(path), "%s%s/%s", h->mount, at, h->file);
		n = number_in(path);
		limit = n < limit ? n : limit;
		if (end)
			*end = 0;
	} while (end);
	return limit;
}

/* Whether a list of controllers has that of memory. */
static bool has_memory(const char *list)
{
	const char *at = strstr(list, "memory");

	return at && (at == list || at[-1] == ',') && (!at[6] || at[6] == ',');
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* @versions: a bit for each that counts. */
static uint64_t least_of(unsigned int versions)
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	uint64_t limit = UINT64_MAX;
	char line[PATH_MAX + 256];

	while (f && fgets(line, sizeof(line), f)) {
		char *list = strchr(line, ':'), *group = list ? strchr(list + 1, ':') : NULL;

		if (!group)
			continue;
		*group++ = 0;
		group[strcspn(group, "\n")] = 0;
		if (has_memory(list + 1) && versions & V1)
			limit = less(limit, least(&first, group));
		else if (!list[1] && versions & V2)
			for (unsigned int i = 0; i < sizeof(second) / sizeof(second[0]); i++)
				limit = less(limit, least(&second[i], group));
	}
	if (f)
		fclose(f);
	return limit;
}

uint64_t mem_limit(void)
{
	const uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) *
				 (uint64_t)sysconf(_SC_PAGESIZE);

	return less(machine, least_of(V1 | V2));
}

uint64_t mem_limit_v1(void)
{
	return least_of(V1);
}

void *mem_take(const struct annex_provider *prov, uint64_t count, size_t size, const char *what)
{
	uint64_t bytes;
	void *p;

	if (!count)
		count = 1;
	if (__builtin_mul_overflow(count, size, &bytes) || bytes > mem_limit()) {
		err_set(-ENOMEM, "%s: %llu x %zu bytes are more than this machine's memory", what,
			(ull)count, size);
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
