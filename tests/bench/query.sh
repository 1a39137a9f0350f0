#!/bin/bash
# SPDX-License-Identifier: MIT
# TPC-H's and SSB's queries that filter, near the data and on the host, beside DuckDB and Polars on
# the same CSV files: query.sh OUT [SCALE [DEVICE]]
# Prints a table, and writes it to OUT/bench/query.json. BUILD has the engines and the data; DEVICE
# is as in annex query run. All take THREADS threads (one a core), and RUNS runs each (11).
set -eu

out=$(realpath "$1")
scale=${2:-1}
device=${3:-local}
tree=$(cd "$(dirname "$0")/../.." && pwd)
threads=${THREADS:-$(nproc)}
runs=${RUNS:-11}
mkdir -p "$out/bench"
data=$("$tree/tests/query/data.sh" "${BUILD:-$out}" "$scale") || {
	echo "query: $data" >&2
	exit 1
}
range=$(mktemp /dev/shm/annex-query.XXXXXX)
times=$(mktemp)
trap 'rm -f "$range" "$times"' EXIT

# 52 bytes of columns for each line, and as much again for bitmaps and what else there is.
size=$(($(wc -l <"$data/lineitem.csv") / 10000 + 16))M
rm "$range"
"$out/annex" query load --range "shm:$range?size=$size" "$data"/*.csv
for query in q6 q14 ssb1.1 ssb1.2 ssb1.3; do
	"$out/annex" query run --range "shm:$range" --device "$device" --threads "$threads" \
		--runs "$runs" $query --json |
		python3 -c '
import json, sys
r = json.load(sys.stdin)
for side in "near", "host":
    print(side, r["query"], r[side + "_evaluate_s"], r[side + "_query_s"], r["scanned_bytes"])'
done >"$times"
"${BUILD:-$out}/query/venv/bin/python" "$tree/tests/query/engines.py" times "$data" "$runs" \
	"$threads" >>"$times"
python3 - "$times" "$out/bench/query.json" "$scale" "$threads" <<'END'
import json
import sys

names = {"near": "annex, near data", "host": "annex, host", "duckdb": "DuckDB", "polars": "Polars"}
rows = [line.split() for line in open(sys.argv[1])]
scanned = {row[1]: int(row[4]) for row in rows if len(row) > 4}
figures = []
print(f"scale {sys.argv[3]}, {sys.argv[4]} threads each; milliseconds, medians")
print(f"{'query':8} {'MB':>7}  {'':18} {'evaluate':>10} {'GB/s':>7} {'query':>10}")
for query in scanned:
    for engine, _, evaluate, whole, *_ in (row for row in rows if row[1] == query):
        rate = scanned[query] / float(evaluate) / 1e9
        print(
            f"{query:8} {scanned[query] / 1e6:7.1f}  {names[engine]:18} "
            f"{float(evaluate) * 1e3:10.3f} {rate:7.2f} {float(whole) * 1e3:10.3f}"
        )
        for what, value in ("evaluate", evaluate), ("query", whole):
            figures.append(
                {
                    "figure": f"{query}, scale {sys.argv[3]}: {what}, {names[engine]}",
                    "value": float(value) * 1e3,
                    "unit": "ms",
                    "target": None,
                    "met": None,
                    "command": f"tests/bench/query.sh OUT {sys.argv[3]}",
                }
            )
with open(sys.argv[2], "w", encoding="ascii") as file:
    json.dump(figures, file, indent=2)
END
