#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Batches of random rows from a file larger than memory, in Python: a table, and goals.

  tests/bench/rows_bench.py DIRECTORY --json FILE [--rounds N]

A batch has 1,024 rows of 400 bytes, of a .npy file of 2 GiB. All ways run in a memory cgroup of
256 MiB, one after the other in each round, with the same indices, and every row is verified. A
round is the median of its batches, a way the median of the rounds. SMOKE=1 in the environment asks
for the smoke form: a small file. Without root there is no cgroup, and no goal that needs one.
"""
import argparse
import contextlib
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile

import numpy as np

from figures import Figures, at_least, sized
from rows_run import FACTOR
from torch_runs import Failed, limit, memory_group

HERE = os.path.dirname(os.path.abspath(__file__))
MIB = 1 << 20
COLUMNS = 100
BATCH = 1024
SIZE, LIMIT, CACHE = sized((2048 * MIB, 256 * MIB, 160 * MIB), (16 * MIB, 64 * MIB, 4 * MIB))
WARM, TIMED = sized((20, 40), (1, 2))
MOST = 10  # seconds of either
FITS = sized(64, 4)  # batches of a file that the cache holds
PIECE = 1 << 18  # rows that are written at a time
SEED = 20261130

MAPS = {"numpy.memmap": {}, "numpy.memmap, madvise": {"random": True},
        "numpy.memmap, sorted": {"sorted": True},
        "numpy.memmap, madvise, sorted": {"random": True, "sorted": True}}
# PyTorch has a thread for each processor; with more, more pages are read at a time.
THREADS = os.cpu_count()
STORES = {"PyG's store on memmap": {"threads": THREADS},
          "PyG's store, madvise": {"threads": THREADS, "random": True}}
MANY = "PyG's store, madvise, 16 threads"


def make(path, rows):
    """A .npy file whose elements follow from their indices."""
    array = np.lib.format.open_memmap(path, mode="w+", dtype="<i4", shape=(rows, COLUMNS))
    for start in range(0, rows, PIECE):
        end = min(rows, start + PIECE)
        array[start:end] = (np.arange(start * COLUMNS, end * COLUMNS, dtype=np.uint64) *
                            np.uint64(FACTOR)).astype("<u4").view("<i4").reshape(-1, COLUMNS)
    array.flush()
    return array.offset


def forget(path):
    """Drop a file's pages from memory."""
    file = os.open(path, os.O_RDONLY)
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)


@contextlib.contextmanager
def group():
    """A cgroup for all ways; "" where there can be none."""
    try:
        path = f"{memory_group()}/annex-rows-{os.getpid()}"
        os.mkdir(path)
    except (Failed, OSError) as why:
        print(f"no memory cgroup: {why}: the file is not larger than memory", flush=True)
        yield ""
        return
    try:
        limit(path, LIMIT)
        yield path
    finally:
        os.rmdir(path)


class Bench:
    """@folder: of the files. @group: the cgroup."""

    def __init__(self, folder, rounds, cgroup):
        self.folder, self.rounds, self.group = folder, rounds, cgroup
        self.figures = Figures()
        self.numbers = np.random.default_rng(SEED)
        library = os.environ["ANNEX_LIBRARY"]
        self.gather = os.path.join(folder, "gather")
        subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-O2", "-I",
                        os.path.join(HERE, "../../include"), "-o", self.gather,
                        os.path.join(HERE, "rows/gather.c"), library,
                        f"-Wl,-rpath,{os.path.dirname(os.path.abspath(library))}"], check=True)

    def prepare(self, size):
        """A file and indices."""
        self.path = os.path.join(self.folder, f"rows-{size}.npy")
        self.count = size // (4 * COLUMNS)
        self.offset = make(self.path, self.count)
        self.indices = os.path.join(self.folder, "indices")

    def draw(self, warm):
        """Random batches. @warm: those before them, which are not timed."""
        batches = self.numbers.integers(self.count, size=(TIMED, BATCH))
        np.concatenate([warm, batches]).tofile(self.indices)

    def run(self, way, line, cache, warm, **more):
        """Seconds of a batch."""
        forget(self.path)
        if way == "C":
            words = [self.gather, f"file:{self.path}?readonly=1", self.offset, 4 * COLUMNS,
                     self.count, cache, line, BATCH, warm, self.indices, self.group]
        else:
            words = [sys.executable, os.path.join(HERE, "rows_run.py"), json.dumps(dict(
                more, way=way, path=self.path, indices=self.indices, batch=BATCH, warm=warm,
                cache=cache, line=line, group=self.group, most=MOST))]
        done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, check=True,
                              text=True, env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"))
        taken = [float(line) for line in done.stdout.splitlines()] if way == "C" else \
            json.loads(done.stdout)["seconds"]
        return statistics.median(taken)

    def measure(self, ways, cache, first):
        """Seconds of a batch in each way, of each round. @first makes batches that warm up."""
        seconds = {name: [] for name in ways}
        for number in range(self.rounds):
            warm = first()
            self.draw(warm)
            turn = number % len(ways)
            for name in [*ways][turn:] + [*ways][:turn]:
                seconds[name].append(self.run(
                    cache=cache, warm=len(warm), **{"line": 4096, **ways[name]}))
        for name, some in seconds.items():
            self.figures.add(f"{os.path.getsize(self.path) // MIB} MiB, a batch: {name}",
                             1e3 * statistics.median(some), "ms")
        return seconds

    def ratio(self, name, ours, theirs, goal=None):
        """How many times faster than the best of others, the median of the rounds."""
        self.figures.add(name, statistics.median(
            min(some) / own for own, *some in zip(ours, *theirs)), "x", goal)

    def larger(self):
        """A file larger than memory."""
        self.prepare(SIZE)
        ways = {"annex.open": {"way": "annex"}, "annex.open, line=512": {
            "way": "annex", "line": 512}, "annex_array_gather() in C": {"way": "C"}}
        ways.update((name, dict(more, way="numpy")) for name, more in MAPS.items())
        try:
            import torch_geometric  # noqa: F401
        except ImportError as missing:
            print(f"PyTorch Geometric: left out: {missing}", flush=True)
        else:
            ways["annex.pyg.FeatureStore"] = {"way": "pyg-annex"}
            ways.update((name, dict(more, way="pyg")) for name, more in STORES.items())
            ways[MANY] = {"way": "pyg", "threads": 16, "random": True}
        seconds = self.measure(ways, CACHE, lambda: self.numbers.integers(
            self.count, size=(WARM, BATCH)))
        if self.group:
            self.ratio("annex.open / the best numpy.memmap", seconds["annex.open"],
                       [seconds[name] for name in MAPS], at_least(5))
        if self.group and "annex.pyg.FeatureStore" in ways:
            self.ratio("annex.pyg.FeatureStore / PyG's store on memmap",
                       seconds["annex.pyg.FeatureStore"], [seconds[name] for name in STORES],
                       at_least(2))
            self.ratio("the same, whose store has 16 threads",
                       seconds["annex.pyg.FeatureStore"], [seconds[MANY]])
        self.ratio("annex.open / the same gather in C", seconds["annex.open"],
                   [seconds["annex_array_gather() in C"]], at_least(0.9))

    def cached(self):
        """All in the cache."""
        self.prepare(FITS * BATCH * 4 * COLUMNS)
        seconds = self.measure({"annex.open": {"way": "annex"}, "in C": {"way": "C"}}, CACHE,
                               lambda: np.arange(FITS * BATCH).reshape(FITS, BATCH))
        self.ratio("all cached: annex.open / the same gather in C", seconds["annex.open"],
                   [seconds["in C"]], at_least(0.9))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", help="on the disk whose storage is measured")
    parser.add_argument("--json", required=True, metavar="FILE", help="figures, for met.py")
    parser.add_argument("--rounds", type=int, default=sized(3, 1), help="of each way (3)")
    args = parser.parse_args()
    os.makedirs(args.directory, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=args.directory) as folder, group() as cgroup:
        bench = Bench(os.path.abspath(folder), args.rounds, cgroup)
        bench.figures.command = " ".join(sys.argv)
        bench.larger()
        bench.cached()
        bench.figures.write(args.json)


if __name__ == "__main__":
    main()
