// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Inference by a recommendation model (DLRM): each sample adds up rows of embedding tables and
 * stores the sums, the input of a small dense layer. Rows are drawn by Zipf's law. Frequent rows
 * come first in their table, as identifiers are assigned in the order of first use. Numbers are
 * integers, and a row is a line.
 *
 * The artifact's footprint is unknown. Without SkyByte's mechanisms it writes 185,067 pages of
 * flash, a sixteenth of which is 45 MiB; these tables have 46 MiB.
 */
#include <errno.h>
#include <stdlib.h>
#include "lane.h"
#include "sky.h"

#define TABLES 8u
#define ROWS 94000u   /* of each table at scale 1 */
#define SAMPLES 1920u /* at scale 1 */
#define BAG 16u       /* rows of a table that a sample adds up */
#define WIDTH 16u     /* numbers of a row */
#define OUTPUTS 4u
#define INPUTS (TABLES * WIDTH)

/*
 * struct dlrm - Layout in @data: arrays of u32.
 * @rows: of each table.
 * @table: rows of WIDTH numbers, table by table.
 * @weight: INPUTS of each output.
 * @index: BAG rows of each sample and table.
 * @input: INPUTS of each sample: the sums.
 * @out: OUTPUTS of each sample.
 */
struct dlrm {
	uint32_t rows;
	uint32_t samples;
	uint64_t table;
	uint64_t weight;
	uint64_t index;
	uint64_t input;
	uint64_t out;
};

static void fill(const struct dlrm *d, struct work *w, const struct sky_zipf *z)
{
	uint64_t state = w->seed ^ 0xd1;
	uint64_t *rows = (uint64_t *)(w->data + d->table);
	uint32_t *weight = (uint32_t *)(w->data + d->weight);
	uint32_t *index = (uint32_t *)(w->data + d->index);

	for (uint64_t i = 0; i < (uint64_t)TABLES * d->rows * WIDTH / 2; i++)
		rows[i] = annex_random(&state);
	for (uint32_t i = 0; i < OUTPUTS * INPUTS; i++)
		weight[i] = sky_below(&state, 256);
	for (uint32_t i = 0; i < d->samples * TABLES * BAG; i++)
		index[i] = sky_zipf_next(z, &state);
}

static int make(struct work *w)
{
	struct dlrm *d = sky_own(w, sizeof(*d));
	struct sky_zipf z;
	int err;

	if (!d)
		return -ENOMEM;
	d->rows = sky_scaled(w, ROWS, 16);
	d->samples = sky_scaled(w, SAMPLES, 1);
	d->weight = (uint64_t)TABLES * d->rows * WIDTH * 4;
	d->index = d->weight + OUTPUTS * INPUTS * 4;
	d->input = d->index + (uint64_t)d->samples * TABLES * BAG * 4;
	d->out = d->input + (uint64_t)d->samples * INPUTS * 4;
	err = sky_zipf_init(&z, d->rows, 1.05);
	if (err)
		return err;
	err = work_alloc(w, d->out + (uint64_t)d->samples * OUTPUTS * 4);
	if (!err)
		fill(d, w, &z);
	sky_zipf_free(&z);
	return err;
}

/* Row @n of a bag. */
static uint64_t at_row(const struct dlrm *d, struct lane *l, uint32_t sample, uint32_t table,
		       uint32_t n)
{
	uint64_t at = d->index + ((sample * TABLES + table) * BAG + n) * 4ull;

	lane_ops(l, 4);
	return d->table + ((uint64_t)table * d->rows + lane_load32(l, at)) * WIDTH * 4;
}

static void pool(const struct dlrm *d, struct lane *l, uint32_t sample, uint32_t table)
{
	uint64_t to = d->input + (sample * INPUTS + table * WIDTH) * 4ull;
	uint32_t sum[WIDTH] = {0};

	for (uint32_t n = 0; n < BAG; n++) {
		uint64_t at = at_row(d, l, sample, table, n);

		for (uint32_t i = 0; i < WIDTH; i += 2) {
			uint64_t two = lane_load64(l, at + i * 4);

			sum[i] += (uint32_t)two;
			sum[i + 1] += two >> 32;
		}
		lane_ops(l, WIDTH + 4);
	}
	for (uint32_t i = 0; i < WIDTH; i++)
		lane_store32(l, to + i * 4, sum[i]);
	lane_ops(l, WIDTH);
}

static void dense(const struct dlrm *d, struct lane *l, uint32_t sample)
{
	uint64_t input = d->input + sample * INPUTS * 4ull;

	for (uint32_t o = 0; o < OUTPUTS; o++) {
		uint32_t sum = 0;

		for (uint32_t i = 0; i < INPUTS; i += 2) {
			uint64_t a = lane_load64(l, d->weight + (o * INPUTS + i) * 4ull);
			uint64_t b = lane_load64(l, input + i * 4);

			sum += (uint32_t)a * (uint32_t)b +
			       (uint32_t)(a >> 32) * (uint32_t)(b >> 32);
			lane_ops(l, 6);
		}
		lane_store32(l, d->out + (sample * OUTPUTS + o) * 4ull, sum);
		lane_ops(l, 4);
	}
}

static void run(struct work *w, struct lane *l, unsigned int id)
{
	const struct dlrm *d = w->own;

	for (uint32_t sample = id; sample < d->samples; sample += w->lanes) {
		for (uint32_t table = 0; table < TABLES; table++)
			pool(d, l, sample, table);
		dense(d, l, sample);
	}
}

/* The reference result, in a copy of the input. */
static void plain(const void *own, char *data)
{
	const struct dlrm *d = own;
	const uint32_t *index = (const uint32_t *)(data + d->index);
	const uint32_t *weight = (const uint32_t *)(data + d->weight);

	for (uint32_t bag = 0; bag < d->samples * TABLES; bag++) {
		uint32_t *to = (uint32_t *)(data + d->input) + (uint64_t)bag * WIDTH;
		uint32_t *out = (uint32_t *)(data + d->out) + bag / TABLES * OUTPUTS;
		const uint32_t from = bag % TABLES * WIDTH;

		for (uint32_t n = 0; n < BAG; n++) {
			const uint32_t *row =
				(const uint32_t *)(data + d->table) +
				((uint64_t)(bag % TABLES) * d->rows + index[bag * BAG + n]) * WIDTH;

			for (uint32_t i = 0; i < WIDTH; i++)
				to[i] += row[i];
		}
		for (uint32_t o = 0; o < OUTPUTS; o++)
			for (uint32_t i = 0; i < WIDTH; i++)
				out[o] += to[i] * weight[o * INPUTS + from + i];
	}
}

static bool check(const struct work *w)
{
	return sky_is(w, plain);
}

/* At scale 1: 47.8 MiB, 188,000 lines are missed, 8 % of the requests to memory write. */
const struct work_kind work_dlrm = {
	.name = "dlrm",
	.summary = "recommendation: skewed lookups, sums, a dense layer",
	.set = "skybyte",
	.work = 3.351,
	.group = "",
	.make = make,
	.run = run,
	.check = check,
};
