// SPDX-License-Identifier: MIT
/*
 * Areas of a program's memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "core/array.h"
#include "space.h"

int rv_space_create(struct rv_space *s)
{
	void *p = mmap(NULL, SPACE_TOP, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		       0);

	*s = (struct rv_space){0};
	if (p == MAP_FAILED)
		return -ENOMEM;
	s->base = p;
	return 0;
}

void rv_space_destroy(struct rv_space *s)
{
	if (s->base)
		munmap(s->base, SPACE_TOP);
	free(s->area);
	*s = (struct rv_space){0};
}

static uint64_t end_of(const struct rv_span *area)
{
	return area->va + area->bytes;
}

/* The first area that ends behind @va; n: there is none. */
static unsigned int behind(const struct rv_space *s, uint64_t va)
{
	unsigned int low = 0, high = s->n;

	while (low < high) {
		unsigned int at = low + (high - low) / 2;

		if (end_of(&s->area[at]) <= va)
			low = at + 1;
		else
			high = at;
	}
	return low;
}

/* Memory for two more areas: a range in the middle of one makes three of it. */
static int make_room(struct rv_space *s)
{
	return s->n + 2 <= SPACE_AREAS && array_grow(s->area, s->n + 1, s->room) ? 0 : -ENOMEM;
}

static void insert(struct rv_space *s, unsigned int at, const struct rv_span *area)
{
	memmove(&s->area[at + 1], &s->area[at], (s->n++ - at) * sizeof(s->area[0]));
	s->area[at] = *area;
}

static void drop(struct rv_space *s, unsigned int from, unsigned int to)
{
	memmove(&s->area[from], &s->area[to], (s->n - to) * sizeof(s->area[0]));
	s->n -= to - from;
}

/* Areas @from to @to, and those beside them, become one where they are alike. */
static void join(struct rv_space *s, unsigned int from, unsigned int to)
{
	unsigned int last = from ? from - 1 : 0, at = last + 1;

	for (; at < s->n && at <= to + 1; at++) {
		struct rv_span *low = &s->area[last], *high = &s->area[at];

		if (end_of(low) == high->va && low->prot == high->prot)
			low->bytes += high->bytes;
		else
			s->area[++last] = *high;
	}
	if (last + 1 < at)
		drop(s, last + 1, at);
}

/* The host can always read and write what harts can do either with: it loads the program. */
static int allow(struct rv_space *s, uint64_t va, uint64_t bytes, unsigned int prot)
{
	return mprotect(s->base + va, bytes, prot ? PROT_READ | PROT_WRITE : PROT_NONE) ? -ENOMEM
											: 0;
}

bool rv_space_is_free(const struct rv_space *s, uint64_t va, uint64_t bytes)
{
	unsigned int at = behind(s, va);

	return va <= SPACE_TOP && bytes <= SPACE_TOP - va &&
	       (at == s->n || s->area[at].va >= va + bytes);
}

int rv_space_add(struct rv_space *s, uint64_t va, uint64_t bytes, unsigned int prot)
{
	struct rv_span area = {va, bytes, s->base + va, prot};
	unsigned int at = behind(s, va);

	if (!rv_space_is_free(s, va, bytes))
		return -EEXIST;
	if ((prot && bytes > SPACE_MOST - s->bytes) || make_room(s))
		return -ENOMEM;
	if (allow(s, va, bytes, prot))
		return -ENOMEM;
	s->bytes += prot ? bytes : 0;
	insert(s, at, &area);
	join(s, at, at);
	return 0;
}

/* An area ends and another begins at @va, if one has it inside. */
static void split(struct rv_space *s, uint64_t va)
{
	unsigned int at = behind(s, va);
	struct rv_span upper;
	uint64_t lower;

	if (at == s->n || s->area[at].va >= va)
		return;
	upper = s->area[at];
	lower = va - upper.va;
	upper = (struct rv_span){va, upper.bytes - lower, upper.host + lower, upper.prot};
	insert(s, at + 1, &upper);
	s->area[at].bytes = lower;
}

/* Of a range that areas neither begin before nor end behind. */
static uint64_t usable(const struct rv_space *s, unsigned int from, unsigned int to)
{
	uint64_t bytes = 0;

	for (; from < to; from++)
		bytes += s->area[from].prot ? s->area[from].bytes : 0;
	return bytes;
}

int rv_space_remove(struct rv_space *s, uint64_t va, uint64_t bytes)
{
	unsigned int from, to;

	if (rv_space_is_free(s, va, bytes))
		return 0;
	if (make_room(s))
		return -ENOMEM;
	if (mmap(s->base + va, bytes, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		return -ENOMEM;
	split(s, va);
	split(s, va + bytes);
	from = behind(s, va);
	to = behind(s, va + bytes - 1);
	to += to < s->n && s->area[to].va < va + bytes;
	s->bytes -= usable(s, from, to);
	drop(s, from, to);
	return 0;
}

bool rv_space_covers(const struct rv_space *s, uint64_t va, uint64_t bytes)
{
	uint64_t at = va;

	for (unsigned int i = behind(s, va); i < s->n && s->area[i].va <= at && at < va + bytes;
	     i++)
		at = end_of(&s->area[i]);
	return at >= va + bytes;
}

int rv_space_protect(struct rv_space *s, uint64_t va, uint64_t bytes, unsigned int prot)
{
	uint64_t now = 0, want = prot ? bytes : 0;
	unsigned int from, to;

	if (!rv_space_covers(s, va, bytes) || make_room(s))
		return -ENOMEM;
	split(s, va);
	split(s, va + bytes);
	from = behind(s, va);
	to = behind(s, va + bytes - 1) + 1;
	now = usable(s, from, to);
	if ((want > now && want - now > SPACE_MOST - s->bytes) || allow(s, va, bytes, prot)) {
		join(s, from, to);
		return -ENOMEM;
	}
	s->bytes += want - now;
	for (unsigned int i = from; i < to; i++)
		s->area[i].prot = prot;
	join(s, from, to);
	return 0;
}

int rv_space_zero(struct rv_space *s, uint64_t va, uint64_t bytes)
{
	if (!rv_space_covers(s, va, bytes))
		return -ENOMEM;
	return madvise(s->base + va, bytes, MADV_DONTNEED) ? -errno : 0;
}

uint64_t rv_space_free(const struct rv_space *s, uint64_t from, uint64_t to, uint64_t bytes)
{
	for (unsigned int i = behind(s, from); i < s->n; i++) {
		if (s->area[i].va >= from && s->area[i].va - from >= bytes)
			break;
		from = end_of(&s->area[i]);
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
