#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Figures from the logs of guests: qemu.py DIR COMMAND. See qemu.sh."""
import json
import statistics
import sys

folder, command = sys.argv[1:]
figures = []


def figure(name, value, unit, target=None, at_most=False):
    """Print and keep a figure."""
    met = None
    if target is not None:
        met = value <= target if at_most else value >= target
    figures.append({"figure": name, "value": round(value, 6), "unit": unit, "target": target,
                    "met": met, "command": command})
    line = f"{name:<66} {value:10.3f} {unit:<10}"
    if target is not None:
        line += f" {'<=' if at_most else '>='} {target:<6g} {'met' if met else 'MISSED'}"
    print(line.rstrip())


def read(iommu):
    """The runs of a boot: side and size to lists of (rate, time a command)."""
    runs = {}
    with open(f"{folder}/qemu-iommu{iommu}.log", encoding="utf-8") as log:
        for line in log:
            words = line.split()
            if words[:2] == ["#", "bench"]:
                runs.setdefault((words[2], words[3]), []).append(
                    (float(words[4]), float(words[5])))
    return runs


def medians(runs, side, size):
    """Median rate, and median time of the processors for each command."""
    rates, times = zip(*runs[side, size])
    return statistics.median(rates), statistics.median(times)


TARGETS = {(0, "4096"): 1.5, (0, "512"): 1.5, (1, "4096"): 2.5, (1, "512"): None}
for iommu in (0, 1):
    boot = read(iommu)
    for size in ("4096", "512"):
        where = f"{size} B" + (", strict virtual IOMMU" if iommu else "")
        sides = {side: medians(boot, side, size) for side in ("fio", "fio-hipri", "annex")}
        rate, time = sides["annex"]
        for side, name in (("fio", "fio io_uring"), ("fio-hipri", "fio io_uring, polling")):
            figure(f"{where}: {name}", sides[side][0] / 1e3, "k/s")
        figure(f"{where}: annex, verified", rate / 1e3, "k/s")
        # The faster setting of fio, and the one that costs less.
        best = max(sides["fio"][0], sides["fio-hipri"][0])
        cheap = min(sides["fio"][1], sides["fio-hipri"][1])
        figure(f"{where}: annex / better fio", rate / best, "x", TARGETS[iommu, size])
        figure(f"{where}: time of the processors, annex", time * 1e6, "us")
        figure(f"{where}: time of the processors, cheaper fio", cheap * 1e6, "us")
        figure(f"{where}: annex / cheaper fio", time / cheap, "x", 0.6, True)
with open(f"{folder}/qemu.json", "w", encoding="utf-8") as out:
    json.dump(figures, out, indent=2)
    out.write("\n")
