// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>
#include <annex/provider.h>

#define HUGE_PAGE (2ul << 20)

/* mmap of size + align, then trimmed, so that any alignment is met without a header. */
static void *map_aligned(size_t size, size_t align)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t head, total;
	uintptr_t raw, start;
	char *p;

	size = (size + page - 1) & ~(page - 1);
	if (align < page)
		align = page;
	if (!size || size > SIZE_MAX / 2 || align > SIZE_MAX / 4)
		return NULL;
	total = size + align - page;
	p = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	raw = (uintptr_t)p;
	start = (raw + align - 1) & ~(uintptr_t)(align - 1);
	head = start - raw;
	if (head)
		munmap(p, head);
	if (total - head > size)
		munmap(p + head + size, total - head - size);
	return p + head;
}

static void *pages_alloc(void *ctx, size_t size, size_t align)
{
	(void)ctx;
	return map_aligned(size, align);
}

static void *huge_alloc(void *ctx, size_t size, size_t align)
{
	void *p;

	(void)ctx;
	if (size < HUGE_PAGE)
		return map_aligned(size, align);
	p = map_aligned(size, align > HUGE_PAGE ? align : HUGE_PAGE);
	if (p)
		madvise(p, size, MADV_HUGEPAGE); /* a wish: ordinary pages serve as well */
	return p;
}

static void unmap_pages(void *ctx, void *ptr, size_t size)
{
	(void)ctx;
	if (ptr)
		munmap(ptr, size);
}

const struct annex_provider *annex_provider_pages(void)
{
	static const struct annex_provider pages = {
		.name = "pages",
		.alloc = pages_alloc,
		.free = unmap_pages,
	};

	return &pages;
}

const struct annex_provider *annex_provider_huge(void)
{
	static const struct annex_provider huge = {
		.name = "huge",
		.alloc = huge_alloc,
		.free = unmap_pages,
	};

	return &huge;
}
