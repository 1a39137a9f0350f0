/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TPC-H's tables: the columns that the queries read (TPC-H clause 1.4), columns of the Star Schema
 * Benchmark's lineorder and date that are computed from them, and their values in CSV files.
 */
#ifndef TOOLS_QUERY_TPCH_H
#define TOOLS_QUERY_TPCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TPCH_COLUMNS 16u

/* Indexes of columns in the tables below. */
enum {
	L_ORDERKEY,
	L_PARTKEY,
	L_QUANTITY,
	L_EXTENDEDPRICE,
	L_DISCOUNT,
	L_SHIPDATE,
	LO_QUANTITY,
	LO_DISCOUNT,
	D_YEAR,
	D_YEARMONTHNUM,
	D_WEEKNUMINYEAR
};
enum { P_PARTKEY, P_TYPE };
enum { O_ORDERKEY, O_ORDERDATE };

/* The origin of a column: read and stored; read only; computed from others. */
enum tpch_origin { TPCH_STORED, TPCH_READ, TPCH_MADE };

/* The stored form of a value. */
enum value_type {
	VALUE_I32,     /* int32_t */
	VALUE_DATE,    /* int32_t, days since 1970-01-01 */
	VALUE_DECIMAL, /* int64_t, hundredths */
	VALUE_CHARS,   /* as many characters as the column is wide, padded with NUL */
};

struct tpch_column {
	const char *name;
	enum value_type type;
	enum tpch_origin origin;
	uint32_t width; /* bytes of an element */
};

/* struct tpch_table - A column without a name ends the columns. */
struct tpch_table {
	const char *name;
	struct tpch_column column[TPCH_COLUMNS];
};

extern const struct tpch_table tpch_lineitem, tpch_part, tpch_orders;

/* All tables in the order of loading; NULL ends the list. */
extern const struct tpch_table *const tpch_tables[];

/* tpch_index() - The index of the column of that name, or -1. */
int tpch_index(const struct tpch_table *t, const char *name, size_t n);

/*
 * Each reads exactly @n bytes at @s. Return: NULL, or the reason for a refusal, as words that
 * follow the column's name and the text.
 */
const char *value_i32(const char *s, size_t n, int32_t *out);
const char *value_date(const char *s, size_t n, int32_t *out);
const char *value_decimal(const char *s, size_t n, int64_t *out);
const char *value_chars(const char *s, size_t n, char *out, size_t width);

/* date_days() - Days from 1970-01-01 to a Gregorian date; month and day count from 1. */
int32_t date_days(int year, int month, int day);

/* date_split() - The inverse, for years 1 to 9999; days of a year count from 1. */
void date_split(int32_t days, int *year, int *month, int *yday);

#endif
