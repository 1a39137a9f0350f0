/* SPDX-License-Identifier: MIT */
/*
 * A transformer once more: in double precision, one number after the other, forward only. Gradients
 * are found by differences of its result.
 */
#ifndef ANNEX_TESTS_TRAIN_REFERENCE_H
#define ANNEX_TESTS_TRAIN_REFERENCE_H

#include <stddef.h>
#include <stdint.h>
#include "tools/train/model.h"

/* As the kernels' (tools/train/kernels.h); @in and others may be @out. */
void reference_linear(size_t rows, size_t from, size_t to, const double *in, const double *w,
		      const double *bias, double *out);
void reference_norm(size_t rows, size_t width, const double *in, const double *gain,
		    const double *bias, double *out);
void reference_attention(const struct attention *a, const double *qkv, double *out);
double reference_gelu(double x);
double reference_loss(size_t rows, const double *logits, const uint8_t *next);

/* The parameters of a model, one layer after the other, in their order there. */
struct reference {
	struct shape shape;
	double *bytes, *places, *end, *head;
	struct reference_layer {
		double *qkv, *mix, *up, *down, *small;
	} * layers;
};

void reference_open(struct reference *r, const struct model *m);
void reference_close(struct reference *r);
double reference_model(const struct reference *r, const uint8_t *tokens, const uint8_t *next);

#endif
