// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Training steps of a recommendation model (DLRM): each sample adds up rows of embedding tables,
 * drawn by Zipf's law, a small dense layer follows, and a few of the rows are updated. Numbers are
 * integers, so updates of the same row can come in any order.
 *
 * The artifact's footprint is not known. It writes 185,067 pages of flash without any of
 * SkyByte's means, a sixteenth of which is 45 MiB; these tables have 46 MiB. Rows are a line each,
 * and those drawn often lie far apart, so the updates write single lines of most pages.
 */
#include <errno.h>
#include <stdlib.h>
#include "lane.h"
#include "sky.h"

#define TABLES 8u
#define ROWS 94000u   /* of each table at scale 1 */
#define SAMPLES 1920u /* at scale 1 */
#define BATCH 96u
#define BAG 16u    /* rows of a table that a sample adds up */
#define UPDATES 2u /* of them that it updates */
#define WIDTH 16u  /* numbers of a row */
#define OUTPUTS 4u
#define INPUTS (TABLES * WIDTH)

/*
 * struct dlrm - Where it lies in @data: arrays of u32.
 * @rows: of each table.
 * @table: rows of WIDTH numbers, table by table.
 * @weight: INPUTS of each output.
 * @index: BAG rows of each sample and table.
 * @out: OUTPUTS of each sample.
 */
struct dlrm {
	uint32_t rows;
	uint32_t samples;
	uint64_t table;
	uint64_t weight;
	uint64_t index;
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
		index[i] = sky_place(sky_zipf_next(z, &state), d->rows);
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
	d->out = d->index + (uint64_t)d->samples * TABLES * BAG * 4;
	err = sky_zipf_init(&z, d->rows, 0.75);
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

static void pool(const struct dlrm *d, struct lane *l, uint32_t sample, uint32_t *input)
{
	for (uint32_t t = 0; t < TABLES; t++) {
		for (uint32_t n = 0; n < BAG; n++) {
			uint64_t at = at_row(d, l, sample, t, n);

			for (uint32_t i = 0; i < WIDTH; i += 2) {
				uint64_t two = lane_load64(l, at + i * 4);

				input[t * WIDTH + i] += two;
				input[t * WIDTH + i + 1] += two >> 32;
			}
			lane_ops(l, WIDTH + 4);
		}
	}
}

static void dense(const struct dlrm *d, struct lane *l, uint32_t sample, const uint32_t *input)
{
	for (uint32_t o = 0; o < OUTPUTS; o++) {
		uint32_t sum = 0;

		for (uint32_t i = 0; i < INPUTS; i += 2) {
			uint64_t two = lane_load64(l, d->weight + (o * INPUTS + i) * 4ull);

			sum += input[i] * (uint32_t)two + input[i + 1] * (uint32_t)(two >> 32);
			lane_ops(l, 5);
		}
		lane_store32(l, d->out + (sample * OUTPUTS + o) * 4ull, sum);
		lane_ops(l, 4);
	}
}

static void update(const struct dlrm *d, struct lane *l, uint32_t sample)
{
	uint32_t out[OUTPUTS];

	for (uint32_t o = 0; o < OUTPUTS; o++)
		out[o] = lane_load32(l, d->out + (sample * OUTPUTS + o) * 4ull);
	for (uint32_t t = 0; t < TABLES; t++) {
		for (uint32_t n = 0; n < UPDATES; n++) {
			uint64_t at = at_row(d, l, sample, t, n);

			for (uint32_t i = 0; i < WIDTH; i++)
				lane_add32(l, at + i * 4, out[i % OUTPUTS] >> 8);
			lane_ops(l, 2 * WIDTH);
		}
	}
}

static void run(struct work *w, struct lane *l, unsigned int id)
{
	const struct dlrm *d = w->own;

	for (uint32_t from = 0; from < d->samples; from += BATCH) {
		uint32_t to = from + BATCH < d->samples ? from + BATCH : d->samples;

		for (uint32_t sample = from + id; sample < to; sample += w->lanes) {
			uint32_t input[INPUTS] = {0};

			pool(d, l, sample, input);
			dense(d, l, sample, input);
		}
		lane_barrier(l);
		for (uint32_t sample = from + id; sample < to; sample += w->lanes)
			update(d, l, sample);
		lane_barrier(l);
	}
}

static uint32_t *plain_row(const struct dlrm *d, char *data, uint32_t bag, uint32_t n)
{
	const uint32_t *index = (const uint32_t *)(data + d->index);
	uint64_t row = (uint64_t)(bag % TABLES) * d->rows + index[bag * BAG + n];

	return (uint32_t *)(data + d->table) + row * WIDTH;
}

static void plain_out(const struct dlrm *d, char *data, uint32_t sample)
{
	const uint32_t *weight = (const uint32_t *)(data + d->weight);
	uint32_t *out = (uint32_t *)(data + d->out) + sample * OUTPUTS;

	for (uint32_t t = 0; t < TABLES; t++) {
		for (uint32_t n = 0; n < BAG; n++) {
			const uint32_t *row = plain_row(d, data, sample * TABLES + t, n);

			for (uint32_t i = 0; i < WIDTH; i++)
				for (uint32_t o = 0; o < OUTPUTS; o++)
					out[o] += row[i] * weight[o * INPUTS + t * WIDTH + i];
		}
	}
}

static void plain_update(const struct dlrm *d, char *data, uint32_t sample)
{
	const uint32_t *out = (const uint32_t *)(data + d->out) + sample * OUTPUTS;

	for (uint32_t t = 0; t < TABLES; t++) {
		for (uint32_t n = 0; n < UPDATES; n++) {
			uint32_t *row = plain_row(d, data, sample * TABLES + t, n);

			for (uint32_t i = 0; i < WIDTH; i++)
				row[i] += out[i % OUTPUTS] >> 8;
		}
	}
}

static bool check(const struct work *w)
{
	const struct dlrm *d = w->own;
	char *data = sky_copy(w);
	bool same;

	if (!data)
		return false;
	for (uint32_t from = 0; from < d->samples; from += BATCH) {
		uint32_t to = from + BATCH < d->samples ? from + BATCH : d->samples;

		for (uint32_t sample = from; sample < to; sample++)
			plain_out(d, data, sample);
		for (uint32_t sample = from; sample < to; sample++)
			plain_update(d, data, sample);
	}
	same = sky_same(w, 0, data, w->bytes);
	free(data);
	return same;
}

/* At scale 1: 46.9 MiB, 213,000 lines are missed, 10 % of the requests to memory write. */
const struct work_kind work_dlrm = {
	.name = "dlrm",
	.summary = "recommendation: skewed lookups, sparse updates",
	.set = "skybyte",
	.work = 1.8,
	.group = "",
	.make = make,
	.run = run,
	.check = check,
};
