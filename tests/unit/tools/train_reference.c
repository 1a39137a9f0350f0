// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "train_reference.h"

void reference_linear(size_t rows, size_t from, size_t to, const double *in, const double *w,
		      const double *bias, double *out)
{
	for (size_t r = 0; r < rows; r++) {
		for (size_t c = 0; c < to; c++) {
			double sum = bias[c];

			for (size_t i = 0; i < from; i++)
				sum += in[r * from + i] * w[i * to + c];
			out[r * to + c] = sum;
		}
	}
}

void reference_norm(size_t rows, size_t width, const double *in, const double *gain,
		    const double *bias, double *out)
{
	for (size_t r = 0; r < rows; r++) {
		const double *x = in + r * width;
		double mean = 0, square = 0;

		for (size_t c = 0; c < width; c++)
			mean += x[c] / (double)width;
		for (size_t c = 0; c < width; c++)
			square += (x[c] - mean) * (x[c] - mean) / (double)width;
		for (size_t c = 0; c < width; c++)
			out[r * width + c] = (x[c] - mean) / sqrt(square + 1e-5) * gain[c] +
					     bias[c];
	}
}

/* What token @t of one head sees. */
static void look(const struct attention *a, const double *qkv, size_t t, double *out)
{
	size_t width = a->width, size = width / a->heads;
	double *share = calloc(t + 1, sizeof(*share)), sum = 0;

	for (size_t s = 0; s <= t; s++) {
		for (size_t i = 0; i < size; i++)
			share[s] += qkv[t * 3 * width + i] * qkv[s * 3 * width + width + i];
		share[s] = exp(share[s] / sqrt((double)size));
		sum += share[s];
	}
	for (size_t i = 0; i < size; i++) {
		double seen = 0;

		for (size_t s = 0; s <= t; s++)
			seen += share[s] / sum * qkv[s * 3 * width + 2 * width + i];
		out[t * width + i] = seen;
	}
	free(share);
}

void reference_attention(const struct attention *a, const double *qkv, double *out)
{
	for (size_t b = 0; b < a->batch; b++)
		for (size_t h = 0; h < a->heads; h++)
			for (size_t t = 0; t < a->context; t++) {
				size_t row = b * a->context, column = h * (a->width / a->heads);

				look(a, qkv + row * 3 * a->width + column, t,
				     out + row * a->width + column);
			}
}

double reference_gelu(double x)
{
	return x / 2 * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

double reference_loss(size_t rows, const double *logits, const uint8_t *next)
{
	double loss = 0;

	for (size_t r = 0; r < rows; r++) {
		const double *row = logits + r * KERNEL_BYTES;
		double sum = 0;

		for (size_t c = 0; c < KERNEL_BYTES; c++)
			sum += exp(row[c]);
		loss += (log(sum) - row[next[r]]) / (double)rows;
	}
	return loss;
}

static double *copy(const struct param *p)
{
	double *to = calloc(p->n, sizeof(*to));

	for (size_t i = 0; i < p->n; i++)
		to[i] = (double)p->w[i];
	return to;
}

void reference_open(struct reference *r, const struct model *m)
{
	r->shape = m->shape;
	r->bytes = copy(&m->bytes);
	r->places = copy(&m->places);
	r->end = copy(&m->end);
	r->head = copy(&m->head);
	r->layers = calloc(m->shape.layers, sizeof(*r->layers));
	for (uint32_t l = 0; l < m->shape.layers; l++) {
		const struct layer *y = &m->layers[l];

		r->layers[l] = (struct reference_layer){copy(&y->qkv), copy(&y->mix), copy(&y->up),
							copy(&y->down), copy(&y->small)};
	}
}

void reference_close(struct reference *r)
{
	for (uint32_t l = 0; l < r->shape.layers; l++) {
		free(r->layers[l].qkv);
		free(r->layers[l].mix);
		free(r->layers[l].up);
		free(r->layers[l].down);
		free(r->layers[l].small);
	}
	free(r->layers);
	free(r->bytes);
	free(r->places);
	free(r->end);
	free(r->head);
}

/* @x goes through a layer; @h and @g: room for 4 widths of a row each. */
static void layer(const struct reference *r, const struct reference_layer *y, double *x, double *h,
		  double *g)
{
	size_t width = r->shape.width, rows = (size_t)r->shape.batch * r->shape.context;
	struct attention a = {.batch = r->shape.batch,
			      .context = r->shape.context,
			      .width = r->shape.width,
			      .heads = r->shape.heads};

	reference_norm(rows, width, x, y->small, y->small + width, h);
	reference_linear(rows, width, 3 * width, h, y->qkv, y->small + 2 * width, g);
	reference_attention(&a, g, h);
	reference_linear(rows, width, width, h, y->mix, y->small + 5 * width, g);
	for (size_t i = 0; i < rows * width; i++)
		x[i] += g[i];
	reference_norm(rows, width, x, y->small + 6 * width, y->small + 7 * width, h);
	reference_linear(rows, width, 4 * width, h, y->up, y->small + 8 * width, g);
	for (size_t i = 0; i < rows * 4 * width; i++)
		g[i] = reference_gelu(g[i]);
	reference_linear(rows, 4 * width, width, g, y->down, y->small + 12 * width, h);
	for (size_t i = 0; i < rows * width; i++)
		x[i] += h[i];
}

double reference_model(const struct reference *r, const uint8_t *tokens, const uint8_t *next)
{
	size_t width = r->shape.width, rows = (size_t)r->shape.batch * r->shape.context;
	double *x = calloc(rows * width, sizeof(*x));
	double *h = calloc(rows * 4 * width, sizeof(*h)), *g = calloc(rows * 4 * width, sizeof(*g));
	double *logits = calloc(rows * KERNEL_BYTES, sizeof(*logits)), loss;

	for (size_t t = 0; t < rows; t++)
		for (size_t c = 0; c < width; c++)
			x[t * width + c] = r->bytes[tokens[t] * width + c] +
					   r->places[t % r->shape.context * width + c];
	for (uint32_t l = 0; l < r->shape.layers; l++)
		layer(r, &r->layers[l], x, h, g);
	reference_norm(rows, width, x, r->end, r->end + width, h);
	reference_linear(rows, width, KERNEL_BYTES, h, r->head, r->end + 2 * width, logits);
	loss = reference_loss(rows, logits, next);
	free(x);
	free(h);
	free(g);
	free(logits);
	return loss;
}
