#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The queries of `annex query run` by DuckDB and Polars, on the same CSV files.

engines.py answers DIR            a line each: ENGINE QUERY[,OPTION...] ROWS REVENUE [PROMO]
engines.py times DIR RUNS THREADS a line each: ENGINE QUERY EVALUATE-S QUERY-S, medians, and ROWS
                                  REVENUE [PROMO]

Sums are exact: DuckDB has decimals, Polars gets integers of hundredths, as the columns of annex
are. Evaluate is what stops at the rows: Polars makes the boolean mask; DuckDB, which never has one,
counts.
"""
import datetime
import os
import statistics
import sys
import time

if sys.argv[1] == "times":
    os.environ["POLARS_MAX_THREADS"] = sys.argv[4]

import duckdb
import polars as pl

QUERIES = ["q6", "q14", "ssb1.1", "ssb1.2", "ssb1.3"]

WHERE = {
    "q6": "l_shipdate >= date '1994-01-01' and l_shipdate < date '1995-01-01'"
    " and l_discount between 0.05 and 0.07 and l_quantity < 24",
    "q14": "l_shipdate >= date '1995-09-01' and l_shipdate < date '1995-10-01'",
    "ssb1.1": "d_year = 1993 and lo_discount between 1 and 3 and lo_quantity < 25",
    "ssb1.2": "d_yearmonthnum = 199401 and lo_discount between 4 and 6"
    " and lo_quantity between 26 and 35",
    "ssb1.3": "d_weeknuminyear = 6 and d_year = 1994 and lo_discount between 5 and 7"
    " and lo_quantity between 26 and 35",
}

# Asked otherwise: by DuckDB only.
OTHERWISE = {
    "q6,--year=1995,--discount=2..4,--quantity=10..30": "year(l_shipdate) = 1995"
    " and l_discount between 0.02 and 0.04 and l_quantity between 10 and 30",
    "q14,--year=1992,--month=2": "year(l_shipdate) = 1992 and month(l_shipdate) = 2",
    "ssb1.1,--year=1998,--discount=0,--quantity=100": "d_year = 1998 and lo_discount = 0"
    " and lo_quantity < 100",
    "ssb1.2,--month=12,--quantity=1..2": "d_yearmonthnum = 199412"
    " and lo_discount between 4 and 6 and lo_quantity between 1 and 2",
    "ssb1.3,--year=1996,--week=53,--quantity=1..50": "d_weeknuminyear = 53 and d_year = 1996"
    " and lo_discount between 5 and 7 and lo_quantity between 1 and 50",
    "q6,--year=2024": "l_shipdate > date '2024-01-01'",
}
WHERE.update(OTHERWISE)


def money(units):
    """Units of 1/10000 as annex prints them."""
    return f"{units // 10000}.{units % 10000:04d}"


class Duck:
    """DuckDB with tables in memory."""

    name = "duckdb"

    def __init__(self, path, threads):
        self.db = duckdb.connect()
        if threads:
            self.db.execute(f"set threads = {threads}")
        decimal = "'DECIMAL(15,2)'"
        self.db.execute(
            f"""create table lineorder as select l_partkey, l_quantity, l_extendedprice,
            l_discount, l_shipdate, l_quantity::int as lo_quantity,
            (l_discount * 100)::int as lo_discount, year(o_orderdate)::int as d_year,
            (year(o_orderdate) * 100 + month(o_orderdate))::int as d_yearmonthnum,
            (dayofyear(o_orderdate) // 7 + 1)::int as d_weeknuminyear
            from read_csv('{path}/lineitem.csv', types = {{'l_quantity': {decimal},
            'l_extendedprice': {decimal}, 'l_discount': {decimal}, 'l_shipdate': 'DATE'}})
            join read_csv('{path}/orders.csv') on l_orderkey = o_orderkey"""
        )
        self.db.execute(f"create table part as select * from read_csv('{path}/part.csv')")

    def one(self, sql):
        return self.db.execute(sql).fetchone()

    def evaluate(self, query):
        return self.one(f"select count(*) from lineorder where {WHERE[query]}")[0]

    def answer(self, query):
        where, kind = WHERE[query], query.split(",")[0]
        if kind == "q14":
            rows, promo, all_of_it = self.one(
                f"""select count(*), sum(case when p_type like 'PROMO%'
                then l_extendedprice * (1 - l_discount) else 0 end),
                sum(l_extendedprice * (1 - l_discount))
                from lineorder join part on l_partkey = p_partkey where {where}"""
            )
            return rows, money(int(all_of_it * 10000)), money(int(promo * 10000))
        if kind == "q6":
            rows, revenue = self.one(
                f"select count(*), coalesce(sum(l_extendedprice * l_discount), 0)"
                f" from lineorder where {where}"
            )
            return rows, money(int(revenue * 10000))
        rows, revenue = self.one(
            "select count(*), sum(l_extendedprice * 100 * lo_discount) from lineorder"
            f" where {where}"
        )
        return rows, str(int(revenue))


class Polars:
    """Polars with frames in memory."""

    name = "polars"

    def __init__(self, path, _threads):
        def hundredths(column):
            return (pl.col(column) * 100).round().cast(pl.Int64)

        orders = pl.read_csv(f"{path}/orders.csv", try_parse_dates=True)
        lines = pl.read_csv(f"{path}/lineitem.csv", try_parse_dates=True)
        date = pl.col("o_orderdate")
        self.lines = lines.join(
            orders, left_on="l_orderkey", right_on="o_orderkey", maintain_order="left"
        ).select(
            pl.col("l_partkey").cast(pl.Int32),
            hundredths("l_quantity"),
            hundredths("l_extendedprice"),
            hundredths("l_discount"),
            "l_shipdate",
            pl.col("l_quantity").cast(pl.Int32).alias("lo_quantity"),
            hundredths("l_discount").cast(pl.Int32).alias("lo_discount"),
            date.dt.year().cast(pl.Int32).alias("d_year"),
            (date.dt.year() * 100 + date.dt.month()).cast(pl.Int32).alias("d_yearmonthnum"),
            (date.dt.ordinal_day() // 7 + 1).cast(pl.Int32).alias("d_weeknuminyear"),
        ).rechunk()
        self.part = pl.read_csv(f"{path}/part.csv").select(
            pl.col("p_partkey").cast(pl.Int32), "p_type"
        )

    @staticmethod
    def mask(query):
        col = pl.col
        if query == "q6":
            return (
                (col("l_shipdate") >= datetime.date(1994, 1, 1))
                & (col("l_shipdate") < datetime.date(1995, 1, 1))
                & col("l_discount").is_between(5, 7)
                & (col("l_quantity") < 2400)
            )
        if query == "q14":
            return (col("l_shipdate") >= datetime.date(1995, 9, 1)) & (
                col("l_shipdate") < datetime.date(1995, 10, 1)
            )
        if query == "ssb1.1":
            return (
                (col("d_year") == 1993)
                & col("lo_discount").is_between(1, 3)
                & (col("lo_quantity") < 25)
            )
        low = 4 if query == "ssb1.2" else 5
        when = (
            col("d_yearmonthnum") == 199401
            if query == "ssb1.2"
            else (col("d_year") == 1994) & (col("d_weeknuminyear") == 6)
        )
        return (
            when
            & col("lo_discount").is_between(low, low + 2)
            & col("lo_quantity").is_between(26, 35)
        )

    def evaluate(self, query):
        masks = [self.lines.select(self.mask(query))]
        if query == "q14":
            masks.append(self.part.select(pl.col("p_type").str.starts_with("PROMO")))
        return masks

    def answer(self, query):
        price, rows = pl.col("l_extendedprice"), self.lines.lazy().filter(self.mask(query))
        if query == "q14":
            kept = price * (100 - pl.col("l_discount"))
            got = (
                rows.join(self.part.lazy(), left_on="l_partkey", right_on="p_partkey")
                .select(
                    pl.len(),
                    kept.sum().alias("all"),
                    kept.filter(pl.col("p_type").str.starts_with("PROMO")).sum().alias("promo"),
                )
                .collect()
                .row(0)
            )
            return got[0], money(got[1]), money(got[2])
        by = pl.col("l_discount" if query == "q6" else "lo_discount")
        count, revenue = rows.select(pl.len(), (price * by.cast(pl.Int64)).sum()).collect().row(0)
        return count, money(revenue) if query == "q6" else str(revenue)


def median_of(runs, call, query):
    call(query)
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        call(query)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main():
    mode, path = sys.argv[1:3]
    threads = int(sys.argv[4]) if mode == "times" else 0
    for engine in (Duck(path, threads), Polars(path, threads)):
        more = list(OTHERWISE) if mode == "answers" and engine.name == "duckdb" else []
        for query in QUERIES + more:
            if mode == "answers":
                print(engine.name, query, *engine.answer(query))
                continue
            runs = int(sys.argv[3])
            evaluate = median_of(runs, engine.evaluate, query)
            whole = median_of(runs, engine.answer, query)
            print(engine.name, query, evaluate, whole, *engine.answer(query))


main()
