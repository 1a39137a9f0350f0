// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One step of speckle reducing anisotropic diffusion (Yu, Acton 2002) on the region of interest of
 * an image. The work goes band by band, so that the second half of a step finds the results of the
 * first half in the cache. A row of each array is a page, of which the region has 57 %. Three of
 * the four arrays are written, so 43 % of the requests to memory are writes.
 */
#include <errno.h>
#include <stdlib.h>
#include "lane.h"
#include "sky.h"

#define ROWS 365u /* at scale 1 */
#define COLUMNS 1024u
#define LEFT 224u /* first column of the region; RIGHT: its end */
#define RIGHT 800u
#define BAND 4u       /* rows of a band */
#define PART 48u      /* columns of a lane's unit of work; divides RIGHT - LEFT */
#define PATCH_ROWS 8u /* patch without features, to estimate the speckle's strength */
#define PATCH_COLUMNS 64u
#define PARTS ((RIGHT - LEFT) / PART)
#define LAMBDA 0.25f

/*
 * struct srad - Layout in @data: arrays of floats, row by row.
 * @image: input.
 * @diffusion: coefficient of each pixel.
 * @upper: sum of the differences to the neighbors above and on the left.
 * @out: result.
 * @speckle: a float: the speckle's strength, squared.
 */
struct srad {
	uint32_t rows;
	uint64_t image;
	uint64_t diffusion;
	uint64_t upper;
	uint64_t out;
	uint64_t speckle;
};

static int make(struct work *w)
{
	struct srad *s = sky_own(w, sizeof(*s));
	uint64_t state = w->seed ^ 0x54ad, array;
	float *pixel;
	int err;

	if (!s)
		return -ENOMEM;
	s->rows = sky_scaled(w, ROWS, 2);
	array = s->rows * COLUMNS * 4ull;
	s->image = 0;
	s->diffusion = array;
	s->upper = 2 * array;
	s->out = 3 * array;
	s->speckle = 4 * array;
	err = work_alloc(w, s->speckle + SKY_LINE);
	if (err)
		return err;
	pixel = (float *)w->data;
	for (uint32_t i = 0; i < s->rows * COLUMNS; i++)
		pixel[i] = 0.5f + 0x1p-16f * sky_below(&state, 1 << 16);
	return 0;
}

static uint64_t at_pixel(uint32_t row, uint32_t column)
{
	return (row * COLUMNS + column) * 4ull;
}

/* The variance over the square of the mean of @n pixels. */
static float strength(float sum, float squares, uint32_t n)
{
	float mean = sum / n;

	return (squares / n - mean * mean) / (mean * mean);
}

/* The coefficient of a pixel, from the differences to its four neighbors. */
static float diffuse(float pixel, const float d[4], float speckle)
{
	float g2 = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + d[3] * d[3]) / (pixel * pixel);
	float lap = (d[0] + d[1] + d[2] + d[3]) / pixel;
	float num = 0.5f * g2 - 0.0625f * (lap * lap);
	float den = 1.0f + 0.25f * lap;
	float q = (num / (den * den) - speckle) / (speckle * (1.0f + speckle));
	float c = 1.0f / (1.0f + q);

	return c < 0.0f ? 0.0f : c > 1.0f ? 1.0f : c;
}

/* @c weighs @upper; the coefficients @next weigh the differences @d below and on the right. */
static float step(float pixel, float upper, float c, const float d[2], const float next[2])
{
	float divergence = c * upper + next[0] * d[0] + next[1] * d[1];

	return pixel + 0.25f * LAMBDA * divergence;
}

static void estimate(const struct srad *s, struct lane *l)
{
	uint32_t rows = s->rows < PATCH_ROWS ? s->rows : PATCH_ROWS;
	float sum = 0, squares = 0;

	for (uint32_t row = 0; row < rows; row++) {
		for (uint32_t i = LEFT; i < LEFT + PATCH_COLUMNS; i++) {
			float pixel = lane_loadf(l, s->image + at_pixel(row, i));

			sum += pixel;
			squares += pixel * pixel;
			lane_ops(l, 5);
		}
	}
	lane_storef(l, s->speckle, strength(sum, squares, rows * PATCH_COLUMNS));
	lane_ops(l, 8);
}

/* Beyond an edge of the region a pixel is its own neighbor. */
static void first_half(const struct srad *s, struct lane *l, uint32_t row, uint32_t from,
		       float speckle)
{
	uint32_t above = row ? row - 1 : row, below = row + 1 < s->rows ? row + 1 : row;
	float pixel = lane_loadf(l, s->image + at_pixel(row, from));
	float left = from > LEFT ? lane_loadf(l, s->image + at_pixel(row, from - 1)) : pixel;

	for (uint32_t i = from; i < from + PART; i++) {
		uint32_t next = i + 1 < RIGHT ? i + 1 : i;
		float right = lane_loadf(l, s->image + at_pixel(row, next));
		float d[4] = {lane_loadf(l, s->image + at_pixel(above, i)) - pixel,
			      lane_loadf(l, s->image + at_pixel(below, i)) - pixel, left - pixel,
			      right - pixel};

		lane_storef(l, s->diffusion + at_pixel(row, i), diffuse(pixel, d, speckle));
		lane_storef(l, s->upper + at_pixel(row, i), d[0] + d[2]);
		lane_ops(l, 38);
		left = pixel;
		pixel = right;
	}
}

static void second_half(const struct srad *s, struct lane *l, uint32_t row, uint32_t from)
{
	uint32_t below = row + 1 < s->rows ? row + 1 : row;
	float pixel = lane_loadf(l, s->image + at_pixel(row, from));
	float c = lane_loadf(l, s->diffusion + at_pixel(row, from));

	for (uint32_t i = from; i < from + PART; i++) {
		uint32_t side = i + 1 < RIGHT ? i + 1 : i;
		float right = lane_loadf(l, s->image + at_pixel(row, side));
		float d[2] = {lane_loadf(l, s->image + at_pixel(below, i)) - pixel, right - pixel};
		float next[2] = {lane_loadf(l, s->diffusion + at_pixel(below, i)),
				 lane_loadf(l, s->diffusion + at_pixel(row, side))};
		float upper = lane_loadf(l, s->upper + at_pixel(row, i));

		lane_storef(l, s->out + at_pixel(row, i), step(pixel, upper, c, d, next));
		lane_ops(l, 18);
		pixel = right;
		c = next[1];
	}
}

/* The second half of a band's last row needs the first half of the band below. */
static void run(struct work *w, struct lane *l, unsigned int id)
{
	const struct srad *s = w->own;
	float speckle;

	if (!id)
		estimate(s, l);
	lane_barrier(l);
	speckle = lane_loadf(l, s->speckle);
	for (uint32_t from = 0, done = 0; done < s->rows; from += BAND) {
		uint32_t to = from + BAND < s->rows ? from + BAND : s->rows;
		uint32_t end = to < s->rows ? to - 1 : to;

		for (uint32_t i = id; i < (to - from) * PARTS; i += w->lanes)
			first_half(s, l, from + i / PARTS, LEFT + i % PARTS * PART, speckle);
		lane_barrier(l);
		for (uint32_t i = id; i < (end - done) * PARTS; i += w->lanes)
			second_half(s, l, done + i / PARTS, LEFT + i % PARTS * PART);
		done = end;
	}
}

/* The neighbor @rows below and @columns to the right of pixel @i, or the pixel itself. */
static uint32_t beside(const struct srad *s, uint32_t i, int rows, int columns)
{
	int row = (int)(i / COLUMNS) + rows, column = (int)(i % COLUMNS) + columns;

	if (row < 0 || row >= (int)s->rows || column < (int)LEFT || column >= (int)RIGHT)
		return i;
	return row * COLUMNS + column;
}

static float plain_speckle(const struct srad *s, const float *image)
{
	uint32_t n = (s->rows < PATCH_ROWS ? s->rows : PATCH_ROWS) * PATCH_COLUMNS;
	float sum = 0, squares = 0;

	for (uint32_t i = 0; i < n; i++) {
		float pixel = image[i / PATCH_COLUMNS * COLUMNS + LEFT + i % PATCH_COLUMNS];

		sum += pixel;
		squares += pixel * pixel;
	}
	return strength(sum, squares, n);
}

/* The reference result, in a copy of the input. */
static void plain(const void *own, char *data)
{
	const struct srad *s = own;
	const float *image = (const float *)data;
	float *c = (float *)(data + s->diffusion), *upper = (float *)(data + s->upper);
	float *out = (float *)(data + s->out), *speckle = (float *)(data + s->speckle);

	*speckle = plain_speckle(s, image);
	for (uint32_t i = 0; i < s->rows * COLUMNS; i++) {
		float d[4] = {image[beside(s, i, -1, 0)] - image[i],
			      image[beside(s, i, 1, 0)] - image[i],
			      image[beside(s, i, 0, -1)] - image[i],
			      image[beside(s, i, 0, 1)] - image[i]};

		if (i % COLUMNS < LEFT || i % COLUMNS >= RIGHT)
			continue;
		c[i] = diffuse(image[i], d, *speckle);
		upper[i] = d[0] + d[2];
	}
	for (uint32_t i = 0; i < s->rows * COLUMNS; i++) {
		uint32_t below = beside(s, i, 1, 0), right = beside(s, i, 0, 1);
		float d[2] = {image[below] - image[i], image[right] - image[i]};
		float next[2] = {c[below], c[right]};

		if (i % COLUMNS >= LEFT && i % COLUMNS < RIGHT)
			out[i] = step(image[i], upper[i], c[i], d, next);
	}
}

static bool check(const struct work *w)
{
	return sky_is(w, plain);
}

/* At scale 1: 5.7 MiB, 55,000 lines are missed, 41 % of the requests to memory write. */
const struct work_kind work_srad = {
	.name = "srad",
	.summary = "speckle-reducing diffusion on an image",
	.set = "skybyte",
	.work = 14.05,
	.group = "",
	.make = make,
	.run = run,
	.check = check,
};
