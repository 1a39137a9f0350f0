// SPDX-License-Identifier: MIT
/*
 * Areas of a program's memory.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "space.h"

/* The first area that ends behind @va; n: there is none. */
static unsigned int behind(const struct rv_space *s, uint64_t va)
{
	unsigned int i = 0;

	while (i < s->n && s->area[i].va + s->area[i].bytes <= va)
		i++;
	return i;
}

static int insert(struct rv_space *s, unsigned int at, const struct rv_span *area)
{
	if (s->n == SPACE_AREAS)
		return -ENOMEM;
	memmove(&s->area[at + 1], &s->area[at], (s->n++ - at) * sizeof(s->area[0]));
	s->area[at] = *area;
	return 0;
}

int rv_space_add(struct rv_space *s, uint64_t va, uint64_t bytes, unsigned int prot)
{
	struct rv_span area = {va, bytes, NULL, prot};
	unsigned int at = behind(s, va);
	void *p;

	if (bytes > SPACE_MOST - s->bytes || s->n == SPACE_AREAS)
		return -ENOMEM;
	if (at < s->n && s->area[at].va < va + bytes)
		return -EEXIST;
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	area.host = p;
	s->bytes += bytes;
	return insert(s, at, &area);
}

/* An area ends and another begins at @va, if one has it inside. */
static int split(struct rv_space *s, uint64_t va)
{
	unsigned int at = behind(s, va);
	struct rv_span upper;
	uint64_t lower;

	if (at == s->n || s->area[at].va >= va)
		return 0;
	upper = s->area[at];
	lower = va - upper.va;
	upper = (struct rv_span){va, upper.bytes - lower, upper.host + lower, upper.prot};
	if (insert(s, at + 1, &upper))
		return -ENOMEM;
	s->area[at].bytes = lower;
	return 0;
}

int rv_space_remove(struct rv_space *s, uint64_t va, uint64_t bytes)
{
	unsigned int from, to;

	if (split(s, va) || split(s, va + bytes))
		return -ENOMEM;
	from = behind(s, va);
	for (to = from; to < s->n && s->area[to].va < va + bytes; to++) {
		munmap(s->area[to].host, s->area[to].bytes);
		s->bytes -= s->area[to].bytes;
	}
	memmove(&s->area[from], &s->area[to], (s->n - to) * sizeof(s->area[0]));
	s->n -= to - from;
	return 0;
}

int rv_space_protect(struct rv_space *s, uint64_t va, uint64_t bytes, unsigned int prot)
{
	uint64_t at = va;

	for (unsigned int i = behind(s, va); i < s->n && s->area[i].va <= at && at < va + bytes;
	     i++)
		at = s->area[i].va + s->area[i].bytes;
	if (at < va + bytes || split(s, va) || split(s, va + bytes))
		return -ENOMEM;
	for (unsigned int i = behind(s, va); i < s->n && s->area[i].va < va + bytes; i++)
		s->area[i].prot = prot;
	return 0;
}

uint64_t rv_space_free(const struct rv_space *s, uint64_t from, uint64_t to, uint64_t bytes)
{
	for (unsigned int i = behind(s, from); i < s->n; i++) {
		if (s->area[i].va >= from && s->area[i].va - from >= bytes)
			break;
		from = s->area[i].va + s->area[i].bytes;
	}
	return from < to && to - from >= bytes ? from : 0;
}

int rv_space_find(void *ctx, uint64_t va, struct rv_span *span)
{
	const struct rv_space *s = ctx;
	unsigned int at = behind(s, va);

	if (at == s->n || s->area[at].va > va)
		return -EFAULT;
	*span = s->area[at];
	return 0;
}

/* Where @va is, and how much of @bytes there is from there on. */
static char *reach(const struct rv_space *s, uint64_t va, uint64_t *bytes, unsigned int prot)
{
	unsigned int at = behind(s, va);
	const struct rv_span *area = &s->area[at];

	if (at == s->n || area->va > va || !(area->prot & prot))
		return NULL;
	if (*bytes > area->bytes - (va - area->va))
		*bytes = area->bytes - (va - area->va);
	return area->host + (va - area->va);
}

int rv_space_read(const struct rv_space *s, uint64_t va, void *to, uint64_t bytes)
{
	for (uint64_t n; bytes; va += n, to = (char *)to + n, bytes -= n) {
		const char *from;

		n = bytes;
		from = reach(s, va, &n, RV_READ);
		if (!from)
			return -EFAULT;
		memcpy(to, from, n);
	}
	return 0;
}

int rv_space_write(const struct rv_space *s, uint64_t va, const void *from, uint64_t bytes)
{
	for (uint64_t n; bytes; va += n, from = (const char *)from + n, bytes -= n) {
		char *to;

		n = bytes;
		to = reach(s, va, &n, RV_WRITE);
		if (!to)
			return -EFAULT;
		memcpy(to, from, n);
	}
	return 0;
}

void rv_space_destroy(struct rv_space *s)
{
	for (unsigned int i = 0; i < s->n; i++)
		munmap(s->area[i].host, s->area[i].bytes);
	s->n = 0;
}
