#!/bin/bash
# SPDX-License-Identifier: MIT
# TPC-H's and SSB's queries that filter, near the data and on the host, beside DuckDB and Polars on
# the same CSV files: query.sh OUT [SCALE [DEVICE]]
# Prints a table, and writes it to OUT/bench/query.json. Each answer must be that of both engines;
# times and ratios have no target. BUILD has the engines and the data; DEVICE is as in annex query
# run. All take THREADS threads (one a core), and RUNS runs each (11). SMOKE=1 asks for the smoke
# form.
set -eu

out=$(realpath "$1")
scale=${2:-1}
device=${3:-local}
json=$out/bench/query.json
# The smoke form has the data of the tool's tests.
[ -z "${SMOKE:-}" ] || scale=0.1 RUNS=1 json=$out/bench/smoke/query.json
tree=$(cd "$(dirname "$0")/../../.." && pwd)
threads=${THREADS:-$(nproc)}
runs=${RUNS:-11}
mkdir -p "$(dirname "$json")"
data=$("$tree/tests/models/query/data.sh" "${BUILD:-$out}" "$scale") || {
	rc=$?
	echo "query: $data" >&2
	# As in the tool's tests.
	[ $rc -ne 3 ] || [ -z "${SMOKE:-}" ] || { echo "0 passed, 0 failed, 1 skipped"; exit 0; }
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
answer = [str(r[key]) for key in ("passed", "revenue", "promo_revenue") if key in r]
print("scanned", r["query"], r["scanned_bytes"])
for side in "near", "host":
    print(side, r["query"], r[side + "_evaluate_s"], r[side + "_query_s"], *answer)'
done >"$times"
"${BUILD:-$out}/query/venv/bin/python" "$tree/tests/models/query/engines.py" times "$data" "$runs" \
	"$threads" >>"$times"
python3 - "$times" "$json" "$scale" "$threads" <<'END'
import json
import sys

names = {"near": "annex, near data", "host": "annex, host", "duckdb": "DuckDB", "polars": "Polars"}
rows = [line.split() for line in open(sys.argv[1])]
scanned = {row[1]: int(row[2]) for row in rows if row[0] == "scanned"}
times = {(row[0], row[1]): (float(row[2]), float(row[3])) for row in rows if row[0] in names}
answers = {(row[0], row[1]): row[4:] for row in rows if row[0] in names}
figures = []


def add(query, what, value, unit, target=None):
    figures.append(
        {
            "figure": f"{query}, scale {sys.argv[3]}: {what}",
            "value": value,
            "unit": unit,
            "target": target,
            "met": None if target is None else value >= target,
            "command": f"tests/models/bench/query.sh OUT {sys.argv[3]}",
        }
    )


print(f"scale {sys.argv[3]}, {sys.argv[4]} threads each; milliseconds, medians")
print(f"{'query':8} {'MB':>7}  {'':18} {'evaluate':>10} {'GB/s':>7} {'query':>10}")
for query in scanned:
    for engine, name in names.items():
        evaluate, whole = times[engine, query]
        rate = scanned[query] / evaluate / 1e9
        print(
            f"{query:8} {scanned[query] / 1e6:7.1f}  {name:18} "
            f"{evaluate * 1e3:10.3f} {rate:7.2f} {whole * 1e3:10.3f}"
        )
        add(query, f"evaluate, {name}", evaluate * 1e3, "ms")
        add(query, f"query, {name}", whole * 1e3, "ms")
    for engine in "duckdb", "polars":
        add(
            query,
            f"answer of {names[engine]}",
            int(answers["near", query] == answers[engine, query]),
            "equal",
            1,
        )
        add(
            query,
            f"evaluate, near data / {names[engine]}",
            times["near", query][0] / times[engine, query][0],
            "x",
        )
with open(sys.argv[2], "w", encoding="ascii") as file:
    json.dump(figures, file, indent=2)
if any(f["met"] is False for f in figures):
    sys.exit("query: the answers differ")
END
"$tree/tests/bench/met.py" "$json"
