#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The end of a benchmark: how many of its figures met their targets, and which did not.

  tests/bench/met.py FIGURES.json

In the smoke form no figure is judged. A file without figures, or of another form, fails in both.
"""

import json
import math
import sys

from figures import SMOKE


def is_number(value):
    return type(value) in (int, float) and math.isfinite(value)


def is_figure(f):
    """As benchmarks write them: figure.c, figures.py."""
    return (
        isinstance(f, dict)
        and all(isinstance(f.get(key), str) for key in ("figure", "unit", "command"))
        and f["figure"] != ""
        and is_number(f.get("value"))
        and ("target" in f and "met" in f)
        and (f["target"] is None or is_number(f["target"]))
        and (isinstance(f["met"], bool) or f["met"] is None and (SMOKE or f["target"] is None))
    )


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            some = json.load(file)
    except ValueError as error:
        sys.exit(f"met: {path}: {error}")
    if not isinstance(some, list) or not some:
        sys.exit(f"met: {path}: no figures")
    for f in some:
        if not is_figure(f):
            sys.exit(f"met: {path}: no figure: {json.dumps(f)}")
    return some


figures = read(sys.argv[1])
if SMOKE:
    print(f"\nsmoke form: {len(figures)} figures, of which none is judged")
    sys.exit()
figures = [f for f in figures if f["target"] is not None]
missed = [f for f in figures if not f["met"]]
print(f"\n{len(figures) - len(missed)} of {len(figures)} figures met")
for f in missed:
    print(f"  missed: {f['figure']}: {f['value']:.3f} {f['unit']}, target {f['target']:g}")
