/* SPDX-License-Identifier: MIT */
/*
 * Ranges of device addresses in an array, sorted and apart.
 */
#ifndef ANNEX_CORE_RANGE_H
#define ANNEX_CORE_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* struct range - The first member of a structure about one. */
struct range {
	uint64_t addr, len;
};

/* range_search() - Index of the first of @n elements of @size bytes that ends behind @addr. */
static inline unsigned int range_search(const void *array, unsigned int n, size_t size,
					uint64_t addr)
{
	unsigned int lo = 0, hi = n;

	while (lo < hi) {
		unsigned int mid = (lo + hi) / 2;
		const struct range *r = (const struct range *)((const char *)array + mid * size);

		if (r->addr + r->len > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* range_holds() - Whether all of [@addr, @addr + @len) is in it. */
static inline bool range_holds(const struct range *r, uint64_t addr, uint64_t len)
{
	return addr >= r->addr && len <= r->len && addr - r->addr <= r->len - len;
}

#endif
