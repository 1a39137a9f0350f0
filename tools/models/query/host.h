/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The same as the device does, by the processor: bitmaps of conditions. Bits are as in
 * ANNEX_NDP_BITMAP(). Rows begin and end on multiples of 64 but for the last ones of a column.
 */
#ifndef TOOLS_QUERY_HOST_H
#define TOOLS_QUERY_HOST_H

#include <stddef.h>
#include <stdint.h>

void host_i32(const int32_t *column, size_t n, int32_t lo, int32_t hi, uint8_t *bits);
void host_i64(const int64_t *column, size_t n, int64_t lo, int64_t hi, uint8_t *bits);
void host_prefix(const char *column, size_t width, size_t n, const char *prefix, size_t length,
		 uint8_t *bits);
void host_and(const uint8_t *a, const uint8_t *b, uint8_t *c, size_t n);

/* host_count() - Rows of @n whose bit is set. */
uint64_t host_count(const uint8_t *bits, size_t n);

#endif
