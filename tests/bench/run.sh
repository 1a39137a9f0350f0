#!/bin/sh
# SPDX-License-Identifier: MIT
# Run the benchmarks of a build: run.sh OUT storage|plan|ndp|migrate [GROUP]...
# Writes OUT/bench/storage.json, plan.json and so on (OUT/bench/smoke/..., if SMOKE=1 asks for the
# smoke form), and prints the same as a table, and which figures missed their targets.
set -eu
out=$1
what=$2
shift 2
json=$out/bench${SMOKE:+/smoke}/$what.json
mkdir -p "$out/bench/data" "${json%/*}"
"$out/bench/$what" "$json" "$out/annex" "$out/bench/data" "$@"
exec "$(dirname "$0")/met.py" "$json"
