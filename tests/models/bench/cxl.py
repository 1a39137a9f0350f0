#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Figures of CXL-GPU and SkyByte, beside the same of annex cxl simulate.

  tests/models/bench/cxl.py OUT bench     write OUT/bench/cxl.json, and print it as a table
  tests/models/bench/cxl.py OUT figures   write docs/models/figures-cxl.md

The tool is OUT/annex. Its reports are kept in OUT/bench/cxl-runs.json until the tool is newer.
Means of ratios are geometric. Hits are loads whose line was in the endpoint's DRAM; loads of a
line that was on its way there are not counted as hits.
"""
import sys
from cxl_figures import write_figures
from cxl_papers import CXL_GPU, PATTERNS, SKYBYTE_CONFIGS, SKYBYTE_SPEED, SKYBYTE_WRITES
from cxl_runs import ENDED, JOBS, Tool, arithmetic, geometric
from figures import Figures, at_least, at_most, between, place, within


def bench_hits(figures, runs):
    """9d: hit rates of the endpoint's DRAM, and whether they are in the paper's order."""
    right = pairs = 0
    figures.command = runs.command + " --show hits"
    for pattern, rates in CXL_GPU["hits"].items():
        for config, theirs in rates.items():
            # The size of that DRAM is fitted on this column.
            goal = within(theirs, 0, 5) if config != "cxl" else None
            name = f"9d hits, {pattern}, {config}" + ("" if goal else f" (fitted: {theirs})")
            figures.add(name, runs.mean_hits(pattern, config), "%", goal)
            figures.add(f"9d hits or late, {pattern}, {config}",
                        runs.mean_hits(pattern, config, True), "%")
        ours = [runs.mean_hits(pattern, config) for config in rates if config != "cxl"]
        for i, low in enumerate(ours):
            pairs += len(ours) - i - 1
            right += sum(low < high for high in ours[i + 1:])
    figures.add("9d hits: pairs of configurations in the paper's order", right, "pairs",
                at_least(pairs))


def percent_goal(theirs):
    """Percentages: within a quarter, or 3 points."""
    return within(theirs, 0.25, 3)


def bench_percentages(figures, matrix, ended):
    """9a, 9b, 9d: percentages of time."""
    figures.command = ended.command
    for group, theirs in CXL_GPU["cxl_over_dram"].items():
        ours = ended.mean(ended.workloads("group", group), "cxl", "dram")
        figures.add(f"9a CXL over GPU DRAM, {group}-intensive", 100 * (ours - 1), "%",
                    percent_goal(theirs))
    figures.command = matrix.command
    for group, theirs in CXL_GPU["ds_over_sr"].items():
        ours = matrix.mean(matrix.workloads("group", group), "sr", "ds")
        figures.add(f"9b DS over SR, {group}-intensive", 100 * (ours - 1), "%",
                    percent_goal(theirs))
        if group == "store":
            figures.add("9b DS over SR, store-intensive, at least", 100 * (ours - 1), "%",
                        at_least(50))
    for pattern, theirs in CXL_GPU["dynamic_over_naive"].items():
        ours = matrix.mean(PATTERNS[pattern], "naive", "dynamic")
        figures.add(f"9d dynamic over naive, {pattern}", 100 * (ours - 1), "%",
                    percent_goal(theirs))


def bench_relations(figures, matrix, ended):
    """Relations between figures of one set of workloads; across sets they are yardsticks."""
    every = matrix.workloads("set", "cxl-gpu")
    patterns = sum(PATTERNS.values(), [])
    quarter = 0.25
    figures.command = ended.command
    figures.add("9a CXL over GPU DRAM, all", ended.mean(every, "cxl", "dram"), "x",
                within(1.19, quarter))
    figures.command = matrix.command
    for name, workloads, over, under, theirs, is_one_set in (
            ("9d naive / GPU DRAM, all patterns", patterns, "naive", "dram", 6.6, True),
            ("9d CXL / naive, all patterns", patterns, "cxl", "naive", 1.9, True),
            ("9d CXL / GPU DRAM, all patterns", patterns, "cxl", "dram", 12.5, True),
            ("9d naive / dynamic, Seq", PATTERNS["Seq"], "naive", "dynamic", 4.5, True),
            ("9d dynamic / SR, Around", PATTERNS["Around"], "dynamic", "sr", 2.1, True),
            ("SR / GPU DRAM", every, "sr", "dram", 1.7, False),
            ("CXL / dynamic, Seq", PATTERNS["Seq"], "cxl", "dynamic", 8.6, False),
            ("CXL / naive, vadd and saxpy", ["vadd", "saxpy"], "cxl", "naive", 3.5, False)):
        name += "" if is_one_set else f" (across sets: {theirs} x)"
        figures.add(name, matrix.mean(workloads, over, under), "x",
                    within(theirs, quarter) if is_one_set else None)


def bench_speculation(figures, runs):
    """9b: speculative reads; 9e: stores that wait for collection."""
    figures.command = runs.command
    every = runs.workloads("set", "cxl-gpu")
    figures.add("9b SR over CXL, all", runs.mean(every, "cxl", "sr"), "x", within(7.4, 0.25))
    figures.add("9b SR over CXL, all, arithmetic mean",
                arithmetic(runs.ratio(w, "cxl", "sr") for w in every), "x")
    figures.add("9b SR over CXL, vadd and saxpy", runs.mean(["vadd", "saxpy"], "cxl", "sr"), "x",
                within(15.6, 0.25))
    figures.add("9b SR over CXL, path and bfs",
                100 * (runs.mean(["path", "bfs"], "cxl", "sr") - 1), "%", within(67.6, 0.25))
    figures.add("9e p99 of stores, SR over DS, bfs",
                runs.get("bfs", "sr")["store_p99_s"] / runs.get("bfs", "ds")["store_p99_s"], "x",
                at_least(20))


def order(runs, workload):
    """Pairs of configurations that are in the artifact's order, and pairs that are apart."""
    ours = [runs.ratio(workload, "base", config) for config in SKYBYTE_CONFIGS]
    theirs = SKYBYTE_SPEED[workload]
    right = pairs = 0
    for i in range(len(ours)):
        for j in range(i):
            if max(theirs[i], theirs[j]) < 1.1 * min(theirs[i], theirs[j]):
                continue
            pairs += 1
            right += (ours[i] > ours[j]) == (theirs[i] > theirs[j])
    return right, pairs


def bench_skybyte_speed(figures, runs):
    """Figure 14: the order of configurations, and the speed of all three mechanisms."""
    figures.command = runs.command
    counts = [order(runs, workload) for workload in SKYBYTE_SPEED]
    for workload, (right, pairs) in zip(SKYBYTE_SPEED, counts):
        figures.add(f"14 pairs in order, {workload} (of {pairs})", right, "pairs")
    right, pairs = (sum(column) for column in zip(*counts))
    figures.add(f"14 pairs in order, all (of {pairs})", right, "pairs", at_least(pairs))
    full = SKYBYTE_CONFIGS.index("full")
    for workload, theirs in SKYBYTE_SPEED.items():
        figures.add(f"14 Full over base, {workload}", runs.ratio(workload, "base", "full"), "x",
                    within(theirs[full], 0.25))
    figures.add("14 Full over base, geometric mean", runs.mean(SKYBYTE_SPEED, "base", "full"),
                "x", between(4.57, 4.0, 5.2))


def writes_goal(theirs):
    """Many times fewer pages, a few times, or about as many."""
    if theirs > 30:
        return at_least(30)
    return between(theirs, 0.5, 2) if theirs < 2 else between(theirs, theirs / 2, theirs * 2)


def bench_skybyte_writes(figures, runs):
    """Figure 18: pages programmed, with and without a final flush."""
    figures.command = runs.command + " --show flash-writes"
    full = SKYBYTE_CONFIGS.index("full")
    for workload, theirs in SKYBYTE_WRITES.items():
        figures.add(f"18 flash writes, base over Full, {workload}",
                    runs.writes_ratio(workload, "full", True), "x", writes_goal(theirs[full]))
        figures.add(f"18 the same, without the flush at the end, {workload}",
                    runs.writes_ratio(workload, "full", False), "x")


def bench_simulator(figures, tool, matrix):
    """The simulator's own time."""
    report = tool.report()
    accesses = sum(run["loads"] + run["stores"] for run in matrix.runs)
    figures.command = f"{matrix.command} --jobs {JOBS} --json"
    figures.add("real time of an access, mean", report["cpu_s"] / accesses * 1e9, "ns",
                at_most(150))
    figures.add(f"all workloads and configurations, {JOBS} jobs", report["wall_s"], "s",
                at_most(300))


def runtime_for(goal, lines):
    """
    The runtime's cost at which a mean of ratios is @goal; 0: none is low enough. @lines: of each
    workload the time without it, the time for a unit of it, and the time to compare with.
    """
    low, high = 0.0, 1e6
    for _ in range(60):
        middle = (low + high) / 2
        is_low = geometric((a + b * middle) / other for a, b, other in lines) < goal
        low, high = (middle, high) if is_low else (low, middle)
    return low


def bench_runtime(figures, matrix, ended, cheap):
    """9a: which cost of the host's runtime makes UVM as slow as the paper has it."""
    costs = (5, 500)
    every = cheap.workloads("set", "cxl-gpu")
    figures.command = cheap.command
    for name, theirs, other in (
            ("UVM / GPU DRAM", 52.7, lambda w: ended.get(w, "dram")),
            ("UVM / CXL on DRAM", 44.2, lambda w: ended.get(w, "cxl")),
            ("UVM / CXL on DRAM, headline", 2.36, lambda w: ended.get(w, "cxl")),
            ("UVM / DS on Z-NAND, headline", 2.36, lambda w: matrix.get(w, "ds"))):
        lines = []
        for workload in every:
            at = [runs.get(workload, "uvm")["time_s"] for runs in (cheap, matrix)]
            slope = (at[1] - at[0]) / (costs[1] - costs[0])
            lines.append((at[0] - slope * costs[0], slope, other(workload)["time_s"]))
        ours = geometric((a + b * costs[1]) / c for a, b, c in lines)
        figures.add(f"9a {name}, --runtime {costs[1]} ({theirs} x)", ours, "x")
        figures.add(f"9a --runtime at which {name} is {theirs} x", runtime_for(theirs, lines),
                    "us")


def bench_link(figures, ended, slow):
    """A controller with a slower link, on DRAM."""
    figures.command = slow.command
    ours = geometric(slow.get(w, "cxl")["time_s"] / ended.get(w, "cxl")["time_s"]
                     for w in slow.workloads("set", "cxl-gpu"))
    figures.add("commercial controller (--link 125) / CXL, on DRAM (1.36 x)", ours, "x")


def bench(tool, out):
    """All figures with goals, and their yardsticks."""
    figures = Figures()
    matrix, ended = tool.runs(), tool.runs(ENDED)
    bench_hits(figures, matrix)
    bench_percentages(figures, matrix, ended)
    bench_relations(figures, matrix, ended)
    bench_speculation(figures, matrix)
    bench_runtime(figures, matrix, ended, tool.runs("cxl-gpu --config uvm --runtime 5"))
    bench_link(figures, ended, tool.runs("cxl-gpu --config cxl --media dram --link 125"))
    bench_skybyte_speed(figures, matrix)
    bench_skybyte_writes(figures, matrix)
    bench_simulator(figures, tool, matrix)
    figures.write(f"{place(out)}/cxl.json")


if __name__ == "__main__":
    folder, what = sys.argv[1:]
    {"bench": bench, "figures": write_figures}[what](Tool(folder), folder)
