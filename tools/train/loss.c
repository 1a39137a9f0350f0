// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include "each.h"
#include "exp.h"
#include "kernels.h"

struct loss {
	float *logits;
	const uint8_t *next;
	double *losses;
	uint32_t rows;
};

/* Returns the loss of one token, and leaves the mean's gradient by the row. */
static double one_row(float *row, uint8_t next, uint32_t rows)
{
	float most = row[0], wanted, sum = 0;

	for (uint32_t c = 1; c < KERNEL_BYTES; c++)
		most = row[c] > most ? row[c] : most;
	wanted = row[next] - most;
	for (uint32_t c = 0; c < KERNEL_BYTES; c++)
		row[c] = exp_of(row[c] - most);
	for (uint32_t c = 0; c < KERNEL_BYTES; c++)
		sum += row[c];
	for (uint32_t c = 0; c < KERNEL_BYTES; c++)
		row[c] = row[c] / sum / (float)rows;
	row[next] -= 1 / (float)rows;
	return log((double)sum) - (double)wanted;
}

static void part(void *ctx, uint32_t i, unsigned int worker)
{
	const struct loss *l = ctx;
	uint32_t first = i * KERNEL_ROWS, rows = each_size(l->rows, KERNEL_ROWS, i);

	(void)worker;
	for (uint32_t r = first; r < first + rows; r++)
		l->losses[r] = one_row(l->logits + (size_t)r * KERNEL_BYTES, l->next[r], l->rows);
}

double kernel_loss(const struct kernels *k, float *logits, const uint8_t *next, uint32_t rows)
{
	struct loss l = {logits, next, k->losses, rows};
	double sum = 0;

	each_run(k->pool, each_parts(rows, KERNEL_ROWS), part, &l);
	for (uint32_t r = 0; r < rows; r++)
		sum += k->losses[r];
	return sum / rows;
}
