// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdbool.h>
#include <string.h>
#include "tpch.h"

const struct tpch_table tpch_lineitem = {
	"lineitem",
	{[L_ORDERKEY] = {"l_orderkey", VALUE_I32, TPCH_READ, 4},
	 [L_PARTKEY] = {"l_partkey", VALUE_I32, TPCH_STORED, 4},
	 [L_QUANTITY] = {"l_quantity", VALUE_DECIMAL, TPCH_STORED, 8},
	 [L_EXTENDEDPRICE] = {"l_extendedprice", VALUE_DECIMAL, TPCH_STORED, 8},
	 [L_DISCOUNT] = {"l_discount", VALUE_DECIMAL, TPCH_STORED, 8},
	 [L_SHIPDATE] = {"l_shipdate", VALUE_DATE, TPCH_STORED, 4},
	 [LO_QUANTITY] = {"lo_quantity", VALUE_I32, TPCH_MADE, 4},
	 [LO_DISCOUNT] = {"lo_discount", VALUE_I32, TPCH_MADE, 4},
	 [D_YEAR] = {"d_year", VALUE_I32, TPCH_MADE, 4},
	 [D_YEARMONTHNUM] = {"d_yearmonthnum", VALUE_I32, TPCH_MADE, 4},
	 [D_WEEKNUMINYEAR] = {"d_weeknuminyear", VALUE_I32, TPCH_MADE, 4}}};

const struct tpch_table tpch_part = {"part",
				     {[P_PARTKEY] = {"p_partkey", VALUE_I32, TPCH_STORED, 4},
				      [P_TYPE] = {"p_type", VALUE_CHARS, TPCH_STORED, 25}}};

const struct tpch_table tpch_orders = {"orders",
				       {[O_ORDERKEY] = {"o_orderkey", VALUE_I32, TPCH_READ, 4},
					[O_ORDERDATE] = {"o_orderdate", VALUE_DATE, TPCH_READ, 4}}};

const struct tpch_table *const tpch_tables[] = {&tpch_orders, &tpch_part, &tpch_lineitem, NULL};

int tpch_index(const struct tpch_table *t, const char *name, size_t n)
{
	for (int i = 0; t->column[i].name; i++)
		if (strlen(t->column[i].name) == n && !memcmp(t->column[i].name, name, n))
			return i;
	return -1;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Count digits at @s, at most @n. *@out: their value, if there are 18 or fewer. */
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
		return "is not a whole number";
	v = minus ? -v : v;
	if (have > 18 || v < INT32_MIN || v > INT32_MAX)
		return "does not fit in 32 bits";
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
			return "is not a decimal number";
		n -= after + 1;
	}
	if (!whole || whole < n)
		return "is not a decimal number";
	if (after > 2)
		return "has more than two digits after the point";
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
	/* A year has at most 366 days, so the guess is never too late. */
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
		return "is not a date like 1994-12-31";
	if (!year || month < 1 || month > 12 || day < 1 ||
	    day > month_start((int)year, (int)month + 1) - month_start((int)year, (int)month))
		return "is not a day of the calendar";
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
