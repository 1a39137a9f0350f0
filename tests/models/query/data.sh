#!/bin/bash
# SPDX-License-Identifier: MIT
# TPC-H's tables as CSV files, and the engines that answers are compared with: data.sh BUILD SCALE
# Prints the folder of lineitem.csv, part.csv and orders.csv; BUILD/query/venv/bin/python has duckdb
# and polars. Existing files are used again. Exits with 3, and says so, if PyPI cannot be reached.
set -u

dir=$1/query
data=$dir/tpch-$2
packages=(tpchgen-cli duckdb polars)

die()
{
	echo "query data: $*" >&2
	exit 1
}

mkdir -p "$dir" || exit 1
exec 9>"$dir/lock" && flock 9 || exit 1
if [ ! -e "$dir/venv/whole" ]; then
	rm -rf "$dir/venv"
	python3 -m venv "$dir/venv" >"$dir/log" 2>&1 || die "no venv: $(tail -n 1 "$dir/log")"
	if ! "$dir/venv/bin/pip" --disable-pip-version-check --retries 1 --timeout 20 \
		install -q "${packages[@]}" >"$dir/log" 2>&1; then
		grep -qE 'Retrying|ConnectionError|ProxyError|Timeout|name resolution' "$dir/log" ||
			die "pip install ${packages[*]}: $(tail -n 1 "$dir/log")"
		echo "PyPI cannot be reached"
		exit 3
	fi
	touch "$dir/venv/whole"
fi
if [ ! -e "$data/whole" ]; then
	rm -rf "$data"
	"$dir/venv/bin/tpchgen-cli" csv -s "$2" --tables=lineitem,part,orders \
		--output-dir="$data" >"$dir/log" 2>&1 || die "tpchgen-cli: $(tail -n 1 "$dir/log")"
	touch "$data/whole"
fi
echo "$data"
