# SPDX-License-Identifier: MIT
"""Runs of OUT/bench/fs, and means of their figures."""
import json
import os
import statistics
import subprocess
import time
from cxl_runs import geometric
from figures import kept_reports, place, sized

WORKLOADS = ("create", "delete", "mkdir", "rmdir", "stat", "varmail", "fileserver", "webproxy",
             "webserver")
BYTEFS, EXT4 = DESIGNS = ("bytefs", "ext4-like")
CLASSES = ("inode", "map", "bitmap", "directory", "journal", "data")
WAYS = ("byte", "block")
PAGE = 4096
DEFAULTS = ("log=100", "media=100", "suspend=0", "buffered=1", "flush=5000", "each=1", "cores=0",
            "alpha=50", "twice=0")
# Of ext4-like, which uses no log, and is written back at once.
IDLE = ("log=", "each=")
# Pages until the file system is given back.
CLOSED = "flash_pages_closed"
# Cached twice, with half of the endpoint's DRAM for pages.
HALVES = "twice=1 log=50 pages=50"


class Run:
    """One workload on one design."""

    def __init__(self, report):
        self.report = report

    def speed(self):
        """Operations a second of virtual time."""
        return self.report["operations"] / self.report["time_ns"] * 1e9

    def pages(self, until="flash_pages"):
        """Pages of flash that were programmed until the flush behind the run, or longer."""
        return self.report[until]

    def amplification(self):
        """Bytes that flash programmed for each that the workload wrote; None: it wrote none."""
        return self.pages() * PAGE / self.report["bytes"] if self.report["bytes"] else None

    def real(self):
        """Microseconds of the processor that an operation took below FUSE."""
        ns = sum(call["real_ns"] for call in self.report["calls"].values())
        return ns / self.report["operations"] / 1000

    def traffic(self, way, kind, how):
        """MiB that went one way, of a class, by bytes or by blocks."""
        return self.report[way][kind][WAYS.index(how)] / (1 << 20)


class Bench:
    """The program, and the runs that it has made."""

    def __init__(self, out):
        self.path = f"{out}/bench/fs"
        self.kept = f"{place(out)}/fs-runs.json"
        self.reports = kept_reports(self.kept, self.path)

    def report(self, words):
        """A report, kept or made, with the real time that it took."""
        if words not in self.reports:
            began = time.monotonic()
            out = subprocess.run([self.path, *words.split()], check=True, stdout=subprocess.PIPE)
            self.reports[words] = {**json.loads(out.stdout), "wall_s": time.monotonic() - began}
            with open(self.kept + ".new", "w", encoding="utf-8") as file:
                json.dump(self.reports, file)
            os.replace(self.kept + ".new", self.kept)
        return self.reports[words]

    def run(self, workload, design, options=""):
        """One run. Options with default values, or without effect, are the same run."""
        words = [word for word in options.split() if word not in DEFAULTS
                 and not (design == EXT4 and word.startswith(IDLE))]
        return Run(self.report(" ".join([workload, f"design={design}", *words])))

    def costs(self, design):
        """Real nanoseconds of calls: the medians of five runs."""
        runs = [self.report(f"costs design={design} seed={i}") for i in range(sized(5, 1))]
        return {name: statistics.median(run[name] for run in runs)
                for name in runs[0] if name != "wall_s"}

    def wall(self):
        """Seconds of real time that all runs without options took."""
        return sum(self.report(f"{w} design={d}")["wall_s"] for w in WORKLOADS for d in DESIGNS)

    def faster(self, workload, options=""):
        """Times by which ByteFS is faster."""
        return (self.run(workload, BYTEFS, options).speed()
                / self.run(workload, EXT4, options).speed())

    def fewer(self, workload, options="", until="flash_pages"):
        """Pages of flash that the other design programs for each of ByteFS; without any, 1."""
        ours, theirs = (max(self.run(workload, d, options).pages(until), 1) for d in DESIGNS)
        return theirs / ours

    def coordinated(self, workload, options="twice=1"):
        """Times by which ByteFS is faster with a coordinated cache."""
        return self.run(workload, BYTEFS).speed() / self.run(workload, BYTEFS, options).speed()


def mean(of, *options, without="", **more):
    """The geometric mean of a ratio of all workloads, or of those but one."""
    return geometric(of(w, *options, **more) for w in WORKLOADS if w != without)
