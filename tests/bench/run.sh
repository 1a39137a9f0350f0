#!/bin/sh
# SPDX-License-Identifier: MIT
# Run the benchmarks of a build: run.sh OUT storage|plan|ndp|migrate [GROUP]...
# Writes OUT/bench/storage.json, plan.json and so on, and prints the same as a table, and
# which figures missed their targets.
set -eu
out=$1
what=$2
shift 2
mkdir -p "$out/bench/data"
"$out/bench/$what" "$out/bench/$what.json" "$out/annex" "$out/bench/data" "$@"
exec "$(dirname "$0")/met.py" "$out/bench/$what.json"
