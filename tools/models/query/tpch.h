/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stored part of TPC-H's tables: the columns that the queries read (TPC-H clause 1.4), and
 * those of the Star Schema Benchmark's lineorder and date that follow from them.
 */
#ifndef TOOLS_QUERY_TPCH_H
#define TOOLS_QUERY_TPCH_H

#include <stdbool.h>
#include <stdint.h>
#include "value.h"

#define TPCH_COLUMNS 16u

/* Where the columns are in the tables below. */
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

/* How a column comes to be: read and stored; read only; made of others. */
enum tpch_origin { TPCH_STORED, TPCH_READ, TPCH_MADE };

struct tpch_column {
	const char *name;
	enum value_type type;
	enum tpch_origin origin;
	uint32_t width; /* bytes of an element */
};

/* struct tpch_table - Its columns end with one without a name. */
struct tpch_table {
	const char *name;
	struct tpch_column column[TPCH_COLUMNS];
};

extern const struct tpch_table tpch_lineitem, tpch_part, tpch_orders;

/* All of them, ending with NULL, in the order in which they are to be read. */
extern const struct tpch_table *const tpch_tables[];

/* tpch_index() - The column of that name; -1: there is none. */
int tpch_index(const struct tpch_table *t, const char *name, size_t n);

#endif
