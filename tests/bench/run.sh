#!/bin/sh
# SPDX-License-Identifier: MIT
# Run the storage benchmarks of a build: run.sh OUT [queue|file|array|bfs]...
# Writes OUT/bench/storage.json and prints the same as a table.
set -eu
out=$1
shift
mkdir -p "$out/bench/data"
exec "$out/bench/storage" "$out/bench/storage.json" "$out/annex" "$out/bench/data" "$@"
