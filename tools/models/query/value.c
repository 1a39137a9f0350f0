// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdbool.h>
#include <string.h>
#include "value.h"

#define YEAR_MAX 9999

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits from @s on, at most @n: how many there are; *@out: their number if they are 18 or less. */
static size_t digits(const char *s, size_t n, int64_t *out)
{
	size_t i;

	*out = 0;
	for (i = 0; i < n && is_digit(s[i]); i++)
		if (i < 18)
			*out = *out * 10 + (s[i] - '0');
	return i;
}

const char *value_i32(const char *s, size_t n, int32_t *out)
{
	bool minus = n && s[0] == '-';
	size_t have;
	int64_t v;

	s += minus;
	n -= minus;
	have = digits(s, n, &v);
	if (!have || have < n)
		return "is no whole number";
	v = minus ? -v : v;
	if (have > 18 || v < INT32_MIN || v > INT32_MAX)
		return "does not fit 32 bits";
	*out = (int32_t)v;
	return NULL;
}

const char *value_decimal(const char *s, size_t n, int64_t *out)
{
	bool minus = n && s[0] == '-';
	size_t whole, after = 0;
	int64_t v, cents = 0;

	s += minus;
	n -= minus;
	whole = digits(s, n, &v);
	if (whole < n && s[whole] == '.') {
		after = digits(s + whole + 1, n - whole - 1, &cents);
		if (!after)
			return "is no decimal number";
		n -= after + 1;
	}
	if (!whole || whole < n)
		return "is no decimal number";
	if (after > 2)
		return "has more than two digits behind the point";
	if (whole > 13)
		return "has more than 13 digits before the point";
	v = v * 100 + (after == 1 ? cents * 10 : cents);
	*out = minus ? -v : v;
	return NULL;
}

static bool is_leap(int year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* Days of the year before a month, from 1 to 13. */
static int month_start(int year, int month)
{
	static const short start[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};

	return start[month - 1] + (month > 2 && is_leap(year));
}

/* Leap years before @year, counted from year 1. */
static int leaps(int year)
{
	return (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400;
}

static int32_t year_start(int year)
{
	return 365 * (year - 1970) + leaps(year) - leaps(1970);
}

int32_t date_days(int year, int month, int day)
{
	return year_start(year) + month_start(year, month) + day - 1;
}

void date_split(int32_t days, int *year, int *month, int *yday)
{
	/* No year is longer than that: the guess is never too late. */
	int y = 1970 + days / 366 - (days < 0);
	int m = 1;

	while (year_start(y + 1) <= days)
		y++;
	days -= year_start(y);
	while (month_start(y, m + 1) <= days)
		m++;
	*year = y;
	*month = m;
	*yday = days + 1;
}

const char *value_date(const char *s, size_t n, int32_t *out)
{
	int64_t year, month, day;

	if (n != 10 || digits(s, 4, &year) != 4 || s[4] != '-' || digits(s + 5, 2, &month) != 2 ||
	    s[7] != '-' || digits(s + 8, 2, &day) != 2)
		return "is no date as 1994-12-31";
	if (!year || month < 1 || month > 12 || day < 1 ||
	    day > month_start((int)year, (int)month + 1) - month_start((int)year, (int)month))
		return "is no day of the calendar";
	*out = date_days((int)year, (int)month, (int)day);
	return NULL;
}

const char *value_chars(const char *s, size_t n, char *out, size_t width)
{
	if (n > width)
		return "is longer than its column is wide";
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)s[i] < ' ' || s[i] == 0x7f)
			return "has a control character";
	memcpy(out, s, n);
	memset(out + n, 0, width - n);
	return NULL;
}
