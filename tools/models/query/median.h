/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Of several measurements the one in the middle: what a busy machine adds to some is not in it.
 */
#ifndef TOOLS_MEDIAN_H
#define TOOLS_MEDIAN_H

#include <stdint.h>

/* median() - Of @n values, at least one; sorts them. */
double median(double *value, uint32_t n);

#endif
