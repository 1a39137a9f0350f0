/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of columns, as CSV files have them: whole numbers, decimals, dates, short texts.
 */
#ifndef TOOLS_QUERY_VALUE_H
#define TOOLS_QUERY_VALUE_H

#include <stddef.h>
#include <stdint.h>

/*
 * How a column keeps them: int32_t; int32_t, days since 1970-01-01; int64_t, hundredths;
 * characters, as many as the column is wide, NULs behind them.
 */
enum value_type { VALUE_I32, VALUE_DATE, VALUE_DECIMAL, VALUE_CHARS };

/* The most of hundredths: DECIMAL(15,2) of TPC-H. */
#define VALUE_DECIMAL_MAX 999999999999999ll

/*
 * Each reads @n bytes at @s, all of them. NULL, or what is wrong with them: the words that go
 * behind the name and the text.
 */
const char *value_i32(const char *s, size_t n, int32_t *out);
const char *value_date(const char *s, size_t n, int32_t *out);
const char *value_decimal(const char *s, size_t n, int64_t *out);
const char *value_chars(const char *s, size_t n, char *out, size_t width);

/* date_days() - Days from 1970-01-01 to a day of the Gregorian calendar; month and day from 1 on.
 */
int32_t date_days(int year, int month, int day);

/* date_split() - The other way round, for years 1 to 9999; days of a year count from 1. */
void date_split(int32_t days, int *year, int *month, int *yday);

#endif
