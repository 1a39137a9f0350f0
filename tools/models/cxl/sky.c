// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Common parts of SkyByte's workloads.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "tools/common/error.h"
#include "sky.h"

int sky_zipf_init(struct sky_zipf *z, uint32_t n, double theta)
{
	uint64_t sum = 0;

	z->n = n;
	z->sum = calloc(n, sizeof(*z->sum));
	if (!z->sum)
		return err_set(-ENOMEM, "out of memory");
	for (uint32_t i = 0; i < n; i++) {
		sum += (uint64_t)(0x1p32 * pow(i + 1.0, -theta));
		z->sum[i] = sum;
	}
	return 0;
}

uint32_t sky_zipf_next(const struct sky_zipf *z, uint64_t *state)
{
	uint64_t x = annex_random(state) % z->sum[z->n - 1];
	uint32_t low = 0, high = z->n - 1;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (x < z->sum[mid])
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

void sky_zipf_free(struct sky_zipf *z)
{
	free(z->sum);
}

void *sky_own(struct work *w, uint64_t size)
{
	w->own = calloc(1, size);
	if (!w->own)
		err_set(-ENOMEM, "out of memory");
	return w->own;
}

char *sky_copy(const struct work *w)
{
	char *copy = malloc(w->bytes);

	if (copy)
		memcpy(copy, w->first, w->bytes);
	return copy;
}

bool sky_same(const struct work *w, uint64_t at, const void *want, uint64_t bytes)
{
	return !memcmp(w->data + at, want, bytes);
}

uint32_t sky_scaled(const struct work *w, uint32_t n, uint32_t least)
{
	double x = n * w->scale + 0.5;

	return x < least ? least : (uint32_t)x;
}

/* Each step is invertible within @mask; skip places from @n on. */
uint32_t sky_place(uint32_t i, uint32_t n)
{
	unsigned int bits = 0;
	uint32_t mask;

	while (bits < 32 && (n - 1) >> bits)
		bits++;
	mask = bits ? UINT32_MAX >> (32 - bits) : 0;
	do {
		i = (i * 0x9e3779b1u) & mask;
		i ^= i >> (bits + 1) / 2;
		i = (i * 0x85ebca77u) & mask;
		i ^= i >> (bits + 1) / 2;
	} while (i >= n);
	return i;
}

bool sky_is(const struct work *w, void (*plain)(const void *own, char *data))
{
	char *data = sky_copy(w);
	bool same = false;

	if (data) {
		plain(w->own, data);
		same = sky_same(w, 0, data, w->bytes);
	}
	free(data);
	return same;
}
