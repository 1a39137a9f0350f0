# SPDX-License-Identifier: MIT
"""Reports of annex cxl simulate, and means of their figures."""
import json
import math
import os
import resource
import subprocess
import time
from cxl_papers import PATTERNS
from figures import kept_reports, place, sized

JOBS = 2
# Both targets want this one: CXL-GPU's endpoint is made of DRAM.
ENDED = "cxl-gpu --config dram,cxl --media dram"


class Runs:
    """The runs of one report, or of one value of a sweep, by workload and configuration."""

    def __init__(self, command, runs):
        self.command = command
        self.runs = runs
        self.index = {(run["workload"], run["configuration"]): run for run in runs}

    def at(self, option, value):
        """The part of a sweep that has a value."""
        return Runs(self.command, [run for run in self.runs if run["options"][option] == value])

    def get(self, workload, config):
        """One run."""
        return self.index[workload, config]

    def workloads(self, kind, *names):
        """Workloads whose set or group has one of these names, all of them without a name."""
        found = {run["workload"]: None for run in self.runs if not names or run[kind] in names}
        return list(found)

    def ratio(self, workload, over, under):
        """Time of a configuration over that of another."""
        return self.get(workload, over)["time_s"] / self.get(workload, under)["time_s"]

    def mean(self, workloads, over, under):
        """The geometric mean of these ratios."""
        return geometric(self.ratio(workload, over, under) for workload in workloads)

    def hits(self, workload, config, has_late=False):
        """Percent of loads that hit in the endpoint's DRAM."""
        run = self.get(workload, config)
        hits = run["endpoint_hits"] + (run["endpoint_late"] if has_late else 0)
        return 100 * hits / max(run["endpoint_reads"], 1)

    def mean_hits(self, pattern, config, has_late=False):
        """The mean of the percentages of a pattern's workloads."""
        return arithmetic(self.hits(w, config, has_late) for w in PATTERNS[pattern])

    def writes_ratio(self, workload, config, has_residue):
        """Pages that base programs during a run, for each of a configuration, 1 at least.

        With the residue, pages of a final flush count too.
        """
        run = self.get(workload, config)
        pages = run["flash_writes"] + (run["residue_pages"] if has_residue else 0)
        return self.get(workload, "base")["flash_writes"] / max(pages, 1)


class Tool:
    """annex cxl simulate, and the reports that it has made."""

    def __init__(self, out):
        self.path = f"{out}/annex"
        self.folder = place(out)
        self.kept = f"{self.folder}/cxl-runs.json"
        self.reports = kept_reports(self.kept, self.path)

    def keep(self):
        """Write all reports, in place of the file that was there."""
        with open(self.kept + ".new", "w", encoding="utf-8") as file:
            json.dump(self.reports, file)
        os.replace(self.kept + ".new", self.kept)

    def measure(self, words):
        """Run the tool. Return: its runs, and its times."""
        began, used = time.monotonic(), cpu_seconds()
        scale = sized((), ("--scale", "0.06"))  # the last one counts
        out = subprocess.run([self.path, "cxl", "simulate", *words.split(), *scale, "--jobs",
                              str(JOBS), "--json"], check=True, stdout=subprocess.PIPE)
        return {"runs": json.loads(out.stdout)["runs"], "cpu_s": cpu_seconds() - used,
                "wall_s": time.monotonic() - began}

    def report(self, words=""):
        """A report, kept or made. @words: of the command."""
        if words not in self.reports:
            self.reports[words] = self.measure(words)
            self.keep()
        return self.reports[words]

    def runs(self, words=""):
        """The runs of a report."""
        command = " ".join(f"annex cxl simulate {words}".split())
        return Runs(command, self.report(words)["runs"])


def cpu_seconds():
    """Time of the processors that children have used."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def geometric(values):
    """A mean of ratios."""
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs))


def arithmetic(values):
    """A mean of percentages."""
    values = list(values)
    return sum(values) / len(values)
