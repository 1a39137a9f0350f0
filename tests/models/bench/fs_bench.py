#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Both designs of the file system in virtual time, with filebench's personalities.

  tests/models/bench/fs_bench.py OUT bench     write OUT/bench/fs.json, and print it as a table
  tests/models/bench/fs_bench.py OUT figures   write docs/models/figures-bytefs.md

The program is OUT/bench/fs. Its reports are kept in OUT/bench/fs-runs.json until it is newer.
"""
import sys
from cxl_runs import arithmetic
from figures import Figures, at_least, at_most, place
from fs_figures import write_figures
from fs_runs import BYTEFS, CLASSES, CLOSED, DESIGNS, HALVES, WAYS, WORKLOADS, Bench, mean

META = ("create", "unlink", "mkdir", "rmdir", "rename")


def bench_speed(figures, bench):
    """Virtual time."""
    for workload in WORKLOADS:
        for design in DESIGNS:
            figures.command = f"build/bench/fs {workload} design={design}"
            run = bench.run(workload, design)
            figures.add(f"{workload}, {design}", run.speed(), "op/s")
            figures.add(f"{workload}, {design}, real time of an operation", run.real(), "us")
    figures.command = "make bench-fs"
    for workload in WORKLOADS:
        figures.add(f"bytefs over ext4-like, {workload}", bench.faster(workload), "x")
    figures.add("bytefs over ext4-like, largest", max(bench.faster(w) for w in WORKLOADS), "x",
                at_least(2.5))
    figures.add("bytefs over ext4-like, geometric mean", mean(bench.faster), "x", at_least(1.4))
    figures.add("bytefs over ext4-like, geometric mean without mkdir",
                mean(bench.faster, without="mkdir"), "x")
    figures.add("bytefs over ext4-like, geometric mean, calls on one core",
                mean(bench.faster, "cores=1"), "x")


def bench_writes(figures, bench):
    """Pages of flash. A workload that writes nothing counts as 1."""
    for workload in WORKLOADS:
        for design in DESIGNS:
            figures.command = f"build/bench/fs {workload} design={design}"
            run = bench.run(workload, design)
            figures.add(f"flash pages written, {workload}, {design}", run.pages(), "pages")
            if run.amplification() is not None:
                figures.add(f"write amplification, {workload}, {design}", run.amplification(),
                            "x")
    figures.command = "make bench-fs"
    for workload in WORKLOADS:
        figures.add(f"flash writes, ext4-like over bytefs, {workload}", bench.fewer(workload), "x")
    figures.add("flash writes, ext4-like over bytefs, largest",
                max(bench.fewer(w) for w in WORKLOADS), "x", at_least(4))
    figures.add("flash writes, ext4-like over bytefs, geometric mean", mean(bench.fewer), "x",
                at_least(1.8))
    figures.add("flash writes, ext4-like over bytefs, geometric mean without mkdir",
                mean(bench.fewer, without="mkdir"), "x")
    figures.add("flash writes, the same until both are unmounted, largest",
                max(bench.fewer(w, until=CLOSED) for w in WORKLOADS), "x")
    figures.add("flash writes, the same until both are unmounted, geometric mean",
                mean(bench.fewer, until=CLOSED), "x")


def bench_cache(figures, bench):
    """The coordinated cache: on over off."""
    for workload in WORKLOADS:
        figures.command = f"build/bench/fs {workload} twice=1"
        figures.add(f"coordinated cache on over off, {workload}", bench.coordinated(workload), "x")
    figures.command = "make bench-fs"
    figures.add("coordinated cache on over off, mean",
                arithmetic(bench.coordinated(w) for w in WORKLOADS), "x", at_least(1.1))
    figures.add("coordinated cache on over off, half of the DRAM for pages, mean",
                arithmetic(bench.coordinated(w, HALVES) for w in WORKLOADS), "x")


def bench_processor(figures, bench):
    """Real time of calls."""
    for design in DESIGNS:
        figures.command = f"build/bench/fs costs design={design}"
        for name, ns in bench.costs(design).items():
            has_goal = design == BYTEFS and name in META
            figures.add(f"real time of a call, {name}, {design}", ns / 1000, "us",
                        at_most(5) if has_goal else None)
    figures.command = "make bench-fs"
    figures.add("all workloads on both designs, real time", bench.wall(), "s", at_most(120))


def bench_traffic(figures, bench):
    """Bytes by class and interface, as a table of MiB: bytes / blocks."""
    for way in ("written", "read"):
        print(f"\n{way}, MiB by bytes / by blocks")
        print(f"{'':<22}" + "".join(f"{kind:>16}" for kind in CLASSES))
        for workload in WORKLOADS:
            for design in DESIGNS:
                run = bench.run(workload, design)
                figures.command = f"build/bench/fs {workload} design={design}"
                cells = [" / ".join(f"{run.traffic(way, kind, how):.1f}" for how in WAYS)
                         for kind in CLASSES]
                print(f"{workload + ', ' + design:<22}" + "".join(f"{c:>16}" for c in cells))
                figures.list += [
                    {"figure": f"{way}, {workload}, {design}, {kind} by {how}s",
                     "value": round(run.traffic(way, kind, how), 6), "unit": "MiB",
                     "target": None, "met": None, "command": figures.command}
                    for kind in CLASSES for how in WAYS]


def bench_all(bench, out):
    """All figures, and the figures with goals."""
    figures = Figures()
    bench_speed(figures, bench)
    bench_writes(figures, bench)
    bench_cache(figures, bench)
    bench_processor(figures, bench)
    bench_traffic(figures, bench)
    figures.write(f"{place(out)}/fs.json")


if __name__ == "__main__":
    folder, what = sys.argv[1:]
    {"bench": bench_all, "figures": write_figures}[what](Bench(folder), folder)
