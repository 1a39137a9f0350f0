#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether a RocksDB has all keys that db_bench fillseq --sync had written: rocksdb.py DIR KEYS.

The keys are the numbers from 0 on, big-endian, then zeroes in ASCII. KEYS of them were written at
least; a few more may be there, but none without those before it.
"""
import subprocess
import sys

at, least = sys.argv[1], int(sys.argv[2])
scan = subprocess.run(
    ["ldb", f"--db={at}", "--hex", "scan"], capture_output=True, text=True, check=False
)
if scan.returncode:
    sys.exit(f"rocksdb: ldb scan: {(scan.stdout + scan.stderr).strip()[:200]}")
found = 0
for line in scan.stdout.splitlines():
    key, _, value = line.partition(" : ")
    if key != f"0x{found:016X}{'30' * 8}" or len(value) < 200:
        sys.exit(f"rocksdb: line {found} of the scan is {line[:60]}")
    found += 1
if found < least:
    sys.exit(f"rocksdb: {least} keys were written and synced, {found} are there")
print(f"{found} keys")
