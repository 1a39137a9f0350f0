// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>
#include "each.h"
#include "kernels.h"

#define STRIPE 64u /* columns of a sum */

static void forward(void *ctx, uint32_t i, unsigned int worker)
{
	const struct embed *e = ctx;
	uint32_t first = i * KERNEL_ROWS, rows = each_size(e->rows, KERNEL_ROWS, i);

	(void)worker;
	for (uint32_t r = first; r < first + rows; r++) {
		const float *byte = e->bytes + (size_t)e->tokens[r] * e->width;
		const float *place = e->places + (size_t)(r % e->context) * e->width;
		float *out = e->out + (size_t)r * e->width;

		for (uint32_t c = 0; c < e->width; c++)
			out[c] = byte[c] + place[c];
	}
}

void kernel_embed(const struct kernels *k, const struct embed *e)
{
	each_run(k->pool, each_parts(e->rows, KERNEL_ROWS), forward, (void *)e);
}

/* Tokens one after the other: many go to the same row. */
static void backward(void *ctx, uint32_t i, unsigned int worker)
{
	const struct embed *e = ctx;
	uint32_t columns = each_size(e->width, STRIPE, i);
	float *bytes = e->d_bytes + (size_t)i * STRIPE, *places = e->d_places + (size_t)i * STRIPE;

	(void)worker;
	for (uint32_t r = 0; r < KERNEL_BYTES; r++)
		memset(bytes + (size_t)r * e->width, 0, columns * sizeof(*bytes));
	for (uint32_t r = 0; r < e->context; r++)
		memset(places + (size_t)r * e->width, 0, columns * sizeof(*places));
	for (uint32_t r = 0; r < e->rows; r++) {
		const float *d = e->d_out + (size_t)r * e->width + (size_t)i * STRIPE;
		float *byte = bytes + (size_t)e->tokens[r] * e->width;
		float *place = places + (size_t)(r % e->context) * e->width;

		for (uint32_t c = 0; c < columns; c++) {
			byte[c] += d[c];
			place[c] += d[c];
		}
	}
}

void kernel_embed_back(const struct kernels *k, const struct embed *e)
{
	each_run(k->pool, each_parts(e->width, STRIPE), backward, (void *)e);
}
