#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The end of a benchmark: how many of its figures met their targets, and which did not.

  tests/bench/met.py FIGURES.json
"""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    figures = [f for f in json.load(file) if f["target"] is not None]
missed = [f for f in figures if not f["met"]]
print(f"\n{len(figures) - len(missed)} of {len(figures)} figures met")
for f in missed:
    print(f"  missed: {f['figure']}: {f['value']:.3f} {f['unit']}, target {f['target']:g}")
