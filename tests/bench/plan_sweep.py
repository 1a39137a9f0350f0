#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Policy annex on many machines: its distance from the bound, and plans slower on more machine.

  tests/bench/plan_sweep.py TOOL TRACE...

Each trace runs on 36 machines: GPUs of 20, 30 and 40 GiB, 0, 32 and 128 GiB of host memory, and
SSDs of 3.2, 6.4, 12.8 and 25.6 GB/s, the last with PCIe of 32 GB/s. A plan is slower on more
machine if a machine that has no more of anything is faster by more than 0.1 %.
"""

import itertools
import json
import subprocess
import sys

SWEEPS = (["ssd=3.2,6.4,12.8"], ["ssd=25.6", "pcie=32"])
KEYS = ("gpu", "host", "ssd")


def runs_of(tool, trace):
    """(machine, seconds, bound) of each machine that can run the trace."""
    for sweep in SWEEPS:
        command = [tool, "simulate", trace, "--policy", "annex", "--json"]
        command += ["--sweep=" + " ".join(["gpu=20,30,40", "host=0,32,128"] + sweep)]
        out = subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout
        for run in json.loads(out)["runs"]:
            if run["feasible"]:
                machine = tuple(run["sweep"][key] for key in KEYS)
                yield machine, run["iteration_s"], run["bound_s"]


def main():
    tool, *traces = sys.argv[1:]
    above, pairs, slower = [], 0, 0
    for trace in traces:
        runs = list(runs_of(tool, trace))
        above += [(s / bound - 1, trace, machine) for machine, s, bound in runs]
        for (less, before, _), (more, after, _) in itertools.permutations(runs, 2):
            if all(a <= b for a, b in zip(less, more)):
                pairs += 1
                if after > before * 1.001:
                    slower += 1
                    print(f"{trace}: {less} {before:.3f} s, {more} {after:.3f} s")
    if not above:
        sys.exit("no machine can run a trace")
    mean, worst = sum(a for a, _, _ in above) / len(above), max(above)
    print(f"{len(above)} machines: {mean:.2%} above the bound, {worst[0]:.2%} at most: {worst[1:]}")
    print(f"slower on more machine: {slower} of {pairs} pairs")


if __name__ == "__main__":
    main()
