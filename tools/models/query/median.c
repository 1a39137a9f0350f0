// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include "median.h"

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

double median(double *value, uint32_t n)
{
	qsort(value, n, sizeof(*value), by_value);
	return (value[(n - 1) / 2] + value[n / 2]) / 2;
}
