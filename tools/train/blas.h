/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Products of matrices by OpenBLAS, which is looked for when somebody trains: no other command
 * needs it.
 */
#ifndef TOOLS_TRAIN_BLAS_H
#define TOOLS_TRAIN_BLAS_H

#include <stdbool.h>

/*
 * struct product - C = @scale A B + @keep C, row by row. A is @rows by @inner, B @inner by
 * @columns.
 * @turn_a: A is stored transposed.
 * @turn_b: B is stored transposed.
 * @da: leading dimension of A: numbers from a row to the next.
 * @db: leading dimension of B.
 * @dc: leading dimension of C.
 */
struct product {
	bool turn_a, turn_b;
	int rows, columns, inner;
	float scale, keep;
	const float *a, *b;
	float *c;
	int da, db, dc;
};

/* blas_open() - Load it. 0, or -ENOENT with a line that tells what to install. */
int blas_open(void);

/* blas_name() - Which one it is, and for which processor. */
const char *blas_name(void);

/*
 * blas_multiply() - In the thread that calls; several may. The same numbers give the same result,
 * whichever thread it is.
 */
void blas_multiply(const struct product *p);

#endif
