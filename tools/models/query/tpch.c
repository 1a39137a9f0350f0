// SPDX-License-Identifier: GPL-2.0-or-later
#include <stddef.h>
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
