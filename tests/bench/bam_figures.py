#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/models/figures-bam.md: figures 4 to 15 of BaM, section 5.4 and the cost, theirs beside ours.

  tests/bench/bam_figures.py OUT

Runs OUT/annex on files in OUT/bench/data, and nvcc if there is one. Each row has one of the words
measured (on this machine's processor and disk), compiled, modelled, GPU, or absent.
"""
import concurrent.futures
import datetime
import filecmp
import json
import mmap
import os
import re
import shutil
import subprocess
import sys
import time

from figures import SMOKE, place, sized

PAGE = os.path.join(os.path.dirname(__file__), "../../docs/models")
# Sizes: rows of the table, scale of the Kronecker graphs, runs of each measurement.
ROWS = sized("8M", "64K")
SCALE = sized(20, 12)
SMALL = sized(14, 9)
ROUNDS = sized(5, 1)
EDGE_GB = 31.5  # of the paper's graph K
QUESTIONS = ["total", "surcharge", "fee", "tolls", "tax"]
SHARE = 511e3 / 1.7e9  # of trips of at least 30 miles
VECTOR = sized("512M", "1M")
TILES = 5
QUEUES = [128, 40, 8, 1]
KERNELS = [("bfs", "BFS"), ("sweep", "CC and PageRank"), ("vadd", "vectorAdd"),
           ("scan", "taxi questions"), ("gather", "random reads"), ("sum", "a sum of lines")]

# Table 2: reads of 512 bytes, reads of 4 KiB, writes of 512 bytes a second, of one drive; the
# middle of a range.
OPTANE, PM1735, CONSUMER = (5.1e6, 1.5e6, 1e6), (1.1e6, 1.6e6, 351e3), (750e3, 750e3, 172e3)

# Figures of tests/gpu/run.sh by their keys: our row, the paper's value, and the unit in theirs.
ON_GPU = {
    "gpu_commands_per_s": (4, "commands of GPU threads, no drive, M/s", "45.8", 1e6),
    "cold_4k_bytes_per_s": (5, "misses in lines of 4 KiB, no drive, GB/s", "25", 1e9),
    "cold_512_bytes_per_s": (6, "misses in lines of 512 bytes, no drive, M/s", "17", 512e6),
    "hot_bytes_per_s": (6, "hits, GB/s", "430", 1e9),
}

TOP = """# BaM's figures

Made by `make figures-bam` on {date}, on {processors} processors of the type {processor}. No part of
Annex has run on a GPU: `tests/gpu/run.sh` measures where there is one.

- **measured**: by the tool on this machine's processor and disk; commands run in turns, and the
  fastest of {rounds} runs counts. Times depend on the machine, and bytes do not.
- **compiled**: by nvcc's assembler for sm_80, the paper's A100; nothing runs.
- **modelled**: a kernel takes the longest of three times, and its start: the drives' time at the
  rates of the paper's Table 2, the link's time, and for a chain of reads their latency. Three
  values of the model are fitted, all on the text about figure 4: the link moves 22.9 / 0.9 GB/s; a
  command costs it {overhead:.0f} bytes beside its data, which gives 45.8 M/s; and the start takes
  {start:.2f} ms, with which 32 Ki threads reach 90 % of one drive's rate ("16K-64K", "near peak").
- **GPU**: by `tests/gpu/run.sh`, from `build/gpu/results.json`, if that is there.
- **absent**: with the reason.
- The paper's numbers are from its text; "-" where the text has none.
- Sizes are given in shares of the data where the paper's data do not fit this machine: its graph K
  has 31.5 GB of edges, ours is a Kronecker graph of scale {scale}.

| figure | quantity | paper | ours | how | remarks |
|---|---|---|---|---|---|
"""


class Bench:
    """The tool, its data, and the rows of the page."""

    def __init__(self, out):
        self.out = out
        self.tool = f"{out}/annex"
        self.folder = place(out)
        self.data = f"{out}/bench/data"
        os.makedirs(self.data, exist_ok=True)
        self.rows = []

    def add(self, figure, quantity, paper, ours, how, why):
        """A row, printed as it is found."""
        if not isinstance(ours, str):
            ours = f"{ours:.3g}" if abs(ours) < 100 else f"{ours:,.0f}"
        self.rows.append((figure, quantity, paper, ours, how, " ".join(why.split())))
        print(f"{figure:>4}  {quantity:<56} {paper:>12} {ours:>10}  {how}", flush=True)

    def run(self, *args):
        """The report of a command, with the seconds that the command took as "wall_s"."""
        began = time.monotonic()
        done = subprocess.run([self.tool, *map(str, args), "--json"], check=False,
                              capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(map(str, args))}: {done.stderr.strip()}")
        report = json.loads(done.stdout)
        report["wall_s"] = time.monotonic() - began
        return report

    def turns(self, commands):
        """Run commands in turns. By their names: the least of each member over the rounds."""
        reports = [{name: self.run(*args) for name, args in commands.items()}
                   for _ in range(ROUNDS)]
        members = ("time_s", "wall_s", "bytes_read")
        return {name: {member: min(r[name][member] for r in reports)
                       for member in members if member in reports[0][name]}
                for name in commands}

    def graph(self, scale):
        """A Kronecker graph's file, and the bytes of its edges."""
        path = f"{self.data}/kron{scale}.csr"
        if not os.path.exists(path):
            self.run("graph", "gen", "kron", "--scale", scale, "--degree", 16, "--seed", 1,
                     "-o", path)
        info = self.run("graph", "info", path)
        return path, info["edges"] * info["id_bytes"]


def amplification(bench):
    """Figure 14: bytes read for each byte that a question needs."""
    folder = f"{bench.data}/taxi-{ROWS}"
    if not os.path.exists(folder):
        bench.run("scan", "gen", "--rows", ROWS, "--selectivity", f"{SHARE:.6f}", "-o", folder)
    for k in range(len(QUESTIONS) + 1):
        paper = {1: "2.02", 5: "over 6"}.get(k, "-")
        args = ["scan", "--columns", folder, "--where", "distance>=30"]
        args += ["--sum", ",".join(QUESTIONS[:k])] if k else []
        report = bench.run(*args, "--cache", "16M", "--verify")
        bench.add(14, f"Q{k}, whole columns / bytes needed, x", paper,
                  report["column_amplification"], "measured",
                  "RAPIDS reads whole columns; counted, not timed")
        bench.add(14, f"Q{k}, bytes read on demand / needed, x", "-",
                  report["read_amplification"], "measured",
                  "lines of 4 KiB; far trips are spread evenly over the rows, which is the worst "
                  "case")


def eight(edges, size=8):
    """Bytes of a cache that has the share of the edges that one of @size GB has in the paper."""
    return max(int(edges * size / EDGE_GB) // 4096 * 4096, 64 * 4096)


def cache_sizes(bench):
    """Figure 10: bytes read by the size of the cache."""
    path, edges = bench.graph(SCALE)
    for name in ("bfs", "cc"):
        runs = bench.turns({size: ("graph", name, path, "--cache", eight(edges, size), "--threads",
                                   2, "--cold") for size in (8, 1, 4, 16, 32, 64)})
        base = runs.pop(8)
        for size, run in runs.items():
            bench.add(10, f"{name}, {size} GB of 31.5: bytes read, x of 8 GB",
                      {1: "1", 32: "each line once", 64: "each line once"}.get(size, "-"),
                      run["bytes_read"] / base["bytes_read"], "measured",
                      f"{run['bytes_read'] / edges:.3g} x the edges; BaM's speed is the drives', "
                      "so it follows these bytes")


def queue_pairs(bench):
    """Figure 11: time by the number of queue pairs."""
    path, edges = bench.graph(SCALE)
    for name in ("bfs", "cc"):
        runs = bench.turns({queues: ("graph", name, path, "--cache", eight(edges), "--threads", 2,
                                     "--queues", queues, "--cold") for queues in QUEUES})
        base = runs.pop(QUEUES[0])
        for queues, run in runs.items():
            bench.add(11, f"{name}, {queues} queue pairs of 1024: speed, x of 128", "below 1",
                      base["time_s"] / run["time_s"], "measured",
                      "2 threads, as against a GPU's thousands: contention for a queue, the "
                      "paper's reason, does not arise")


def breakdown(bench):
    """Figures 7 and 8."""
    path, edges = bench.graph(SCALE)
    small, few = bench.graph(SMALL)
    for name, paper, speedups in (("bfs", "1.0", ("11.9", "6.07")),
                                  ("cc", "1.49", ("12.65", "11.24"))):
        whole = ("graph", name, path, "--threads", 2)
        runs = bench.turns({
            "loaded": (*whole, "--access", "memory", "--cold"),
            "compute": (*whole, "--access", "memory"),
            "warm": (*whole, "--cache", 2 * edges, "--warm"),
            "demand": (*whole, "--cache", eight(edges), "--cold"),
        })
        bench.add(7, f"{name}: all edges loaded first / read on demand, x", paper,
                  runs["loaded"]["wall_s"] / runs["demand"]["wall_s"], "measured",
                  "whole commands from a cold page cache, on one disk; the paper's value is of "
                  "four drives")
        bench.add(7, f"{name}: share of the cache's time, %", "2 to 15",
                  100 * max(runs["warm"]["time_s"] - runs["compute"]["time_s"], 0)
                  / runs["demand"]["time_s"], "measured",
                  "time with all edges in the cache less that in plain memory; a processor computes"
                  " with fewer threads than a GPU, so the disk is a smaller part")
        ladder = bench.turns({step: ("graph", name, small, "--cache", max(few // 8 // 4096, 64)
                                     * 4096, "--mechanisms", step, "--threads", 2, "--cold")
                              for step in ("none", "cache", "reuse")})
        bench.add(8, f"{name}: cache over no cache, x", speedups[0],
                  ladder["none"]["time_s"] / ladder["cache"]["time_s"], "measured",
                  f"Kronecker {SMALL}, a cache of 1/8 of the edges")
        bench.add(8, f"{name}: coalescing and reuse over the cache, x", speedups[1],
                  ladder["cache"]["time_s"] / ladder["reuse"]["time_s"], "measured", "the same")


def registers_of(nvcc, out, *flags):
    """Registers of each kernel of the programs, by name."""
    done = subprocess.run([nvcc, "-cubin", "-std=c++17", "-O2", "-arch=sm_80",
                           "--resource-usage", *flags, "-Iinclude", "-I.", "-o", out,
                           "tools/gpu/kernels.cu"], check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"nvcc: {done.stderr.strip()}")
    found = re.findall(r"entry function '\w*kernel_(\w+?)\d+gpu_args_.*?(\d+) bytes spill stores"
                       r".*?Used (\d+) registers", done.stdout + done.stderr, re.S)
    return {name: (int(count), int(spilled)) for name, spilled, count in found}


def registers(bench):
    """Figure 13: registers a thread, with and without the library."""
    nvcc = shutil.which(os.environ.get("NVCC", "nvcc")) or shutil.which("/usr/local/cuda/bin/nvcc")
    if not nvcc:
        bench.add(13, "registers a thread", "-", "-", "absent", "no nvcc on this machine")
        return
    cubin = f"{bench.folder}/kernels.cubin"
    used = registers_of(nvcc, cubin)
    plain = registers_of(nvcc, cubin, "-Itests/gpu/without/library")
    os.unlink(cubin)
    for kernel, what in KERNELS:
        for name, count in (("without the library", plain), ("with it", used)):
            bench.add(13, f"{what}: registers a thread, {name}", "-", count[kernel][0], "compiled",
                      f"{count[kernel][1]} bytes of spills; launch bounds allow 128, or 64 for "
                      "the last two")


def transfer(call, fd, memory, at):
    """Read or write all of @memory from @at on."""
    while memory:
        done = call(fd, [memory], at)
        memory, at = memory[done:], at + done


def tiled(numpy, names):
    """Seconds of a sum by tiles: one is written while the next is read."""
    size = os.path.getsize(names[0])
    tile = -(-size // TILES // 4096) * 4096
    sets = [[mmap.mmap(-1, tile) for _ in names] for _ in range(2)]
    began = time.monotonic()
    fds = [os.open(name, flags | os.O_DIRECT) for name, flags in
           zip(names, (os.O_RDONLY, os.O_RDONLY, os.O_WRONLY | os.O_CREAT | os.O_TRUNC))]
    with concurrent.futures.ThreadPoolExecutor(len(names)) as pool:
        written = None
        for at in range(0, size, tile):
            memory = [memoryview(m)[:min(tile, size - at)] for m in sets[at // tile % 2]]
            reads = [pool.submit(transfer, os.preadv, fd, m, at) for fd, m in zip(fds, memory[:2])]
            for done in reads:
                done.result()
            a, b, c = (numpy.frombuffer(m) for m in memory)
            numpy.add(a, b, out=c)
            if written:
                written.result()
            written = pool.submit(transfer, os.pwritev, fds[2], memory[2], at)
        written.result()
    os.fdatasync(fds[2])
    seconds = time.monotonic() - began
    for fd in fds:
        os.close(fd)
    return seconds


def vectors(bench):
    """Section 5.4: the sum of two vectors, by the cache and by proactive tiling."""
    try:
        import numpy
    except ImportError:
        bench.add("5.4", "vectorAdd: on demand / by tiles, x", "1.51", "-", "absent", "no NumPy")
        return
    names = [f"{bench.data}/{name}-{VECTOR}" for name in ("a", "b", "sum", "tiled")]
    for seed, name in enumerate(names[:2]):
        if not os.path.exists(name):
            bench.run("vadd", "gen", name, "--size", VECTOR, "--seed", seed)
    size = os.path.getsize(names[0])
    times = [(bench.run("vadd", *names[:2], "-o", names[2], "--overwrite", "--cache", size // 4)
              ["wall_s"], tiled(numpy, names[:2] + names[3:])) for _ in range(ROUNDS)]
    if not filecmp.cmp(*names[2:], shallow=False):
        sys.exit("vadd: the sums differ")
    demand, tiles = map(min, zip(*times))
    bench.add("5.4", "vectorAdd: on demand / by tiles, x", "1.51", demand / tiles, "measured",
              f"vectors of {VECTOR}, a cache of a twelfth of the three; five tiles, each written "
              "while the next is read, with O_DIRECT")
    for name in names[2:]:
        os.unlink(name)


class Model:
    """Threads of a GPU that read drives through one link, in seconds."""

    LINK = 22.9e9 / 0.9                       # figure 4: "90% of the measured peak"
    OVERHEAD = LINK / 45.8e6 - 512            # figure 4: reads of ten drives
    START = 32768 / OPTANE[0] * (1 / 0.9 - 1)  # figure 4: "about 16K-64K threads"
    LATENCY = 10e-6                           # Table 2, O(10) us

    def seconds(self, commands, size, rate, chain=1):
        """@commands of @size bytes at @rate of all drives, @chain of them one after the other."""
        return self.START + max(commands / rate, commands * (size + self.OVERHEAD) / self.LINK,
                                chain * self.LATENCY)

    def rate(self, commands, *args):
        """Commands a second."""
        return commands / self.seconds(commands, *args)


def modelled(bench):
    """Figures 4 to 6 and 9."""
    model, many = Model(), 1 << 20
    for threads in (1 << 14, 1 << 16):
        bench.add(4, f"random reads of 512 bytes, one drive, {threads >> 10} Ki threads, M/s",
                  "near 5.1", model.rate(threads, 512, OPTANE[0]) / 1e6, "modelled", "fitted")
    bench.add(4, "random reads of 512 bytes, ten drives, M/s", "45.8",
              model.rate(32 * many, 512, 10 * OPTANE[0]) / 1e6, "modelled", "fitted")
    bench.add(4, "random writes of 512 bytes, ten drives, M/s", "10.6",
              model.rate(32 * many, 512, 10 * OPTANE[2]) / 1e6, "modelled",
              "Table 2 has 1 M/s for a drive")
    lines = 128 * 10**9 // 4096
    bench.add(5, "128 GB in lines of 4 KiB from four drives, GB/s", "25",
              model.rate(lines, 4096, 4 * OPTANE[1]) * 4096 / 1e9, "modelled", "not fitted")
    bench.add(5, "the same by GPUDirect Storage, share of the link, %", "23.6", "-", "absent",
              "the cost is of Linux' block layer and NVIDIA's driver")
    for threads, paper in ((1 << 16, "-"), (many, "17")):
        misses = threads // 32 * 16
        bench.add(6, f"misses in lines of 512 bytes, four drives, {threads >> 10} Ki threads, M/s",
                  paper, model.rate(misses, 512, 4 * OPTANE[0], 16) / 1e6, "modelled",
                  "a warp reads 16 lines, one after the other; not fitted")
    for name, paper in (("BFS", "3.21"), ("CC", "2.68")):
        for drive, what, theirs in ((CONSUMER, "980pro", paper), (PM1735, "PM1735", "about 1")):
            bench.add(9, f"{name}, time on four {what} / on four Optane, x", theirs,
                      OPTANE[1] / drive[1], "modelled",
                      "the drives' time alone, so the ratio of their reads of 4 KiB in Table 2")


def on_gpu(bench):
    """Rows of tests/gpu/run.sh, whose devices are in the host's memory."""
    try:
        with open(f"{bench.out}/gpu/results.json", encoding="utf-8") as file:
            results = json.load(file)
    except FileNotFoundError:
        results = {"figures": []}
    values = {figure["key"]: figure["value"] for figure in results["figures"]}
    for key, (figure, quantity, paper, unit) in ON_GPU.items():
        if key in values:
            bench.add(figure, quantity, paper, values[key] / unit, "GPU",
                      f"{results['machine']['gpu']}, {results['date']}")
        else:
            bench.add(figure, quantity, paper, "-", "absent", "tests/gpu/run.sh measures it")


def cost(bench):
    """The abstract's cost: Table 2 has prices of 2022, with the drives' chassis and risers."""
    bench.add("cost", "memory / NAND flash for each GB, x", "21.7", 11.13 / 0.51, "modelled",
              "the quotient of the paper's prices, 11.13 and 0.51 dollars; not of today's")


def absent(bench):
    """Figures whose baselines need a GPU."""
    bench.add(12, "Q0 over RAPIDS, one drive, x", "1.22", "-", "absent",
              "RAPIDS needs a GPU")
    bench.add(12, "the fastest question over RAPIDS, four drives, x", "5.3", "-", "absent",
              "RAPIDS needs a GPU")
    bench.add(15, "BFS by page faults of UVM, GB/s", "14.52", "-", "absent", "UVM needs a GPU")


def processor():
    """The processor's name."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        found = re.search(r"model name\s*: (.*)", file.read())
    return found.group(1) if found else os.uname().machine


def write(bench):
    """The page; in the smoke form beside the figures that mean nothing."""
    name = os.path.join(bench.folder if SMOKE else PAGE, "figures-bam.md")
    top = TOP.format(date=datetime.date.today(), processors=os.cpu_count(), processor=processor(),
                     rounds=ROUNDS, scale=SCALE, overhead=Model.OVERHEAD,
                     start=1e3 * Model.START)
    rows = sorted(bench.rows, key=lambda row: (isinstance(row[0], str), row[0]))
    with open(name, "w", encoding="utf-8") as file:
        file.write(top)
        for row in rows:
            file.write(f"| {' | '.join(str(cell) for cell in row)} |\n")
    print(f"{name}: {len({row[0] for row in rows if row[4] != 'absent'})} of 14 figures")


def main():
    """All figures, the cheapest first."""
    bench = Bench(sys.argv[1])
    for make in (amplification, registers, breakdown, cache_sizes, queue_pairs, vectors,
                 modelled, on_gpu, cost, absent):
        make(bench)
    write(bench)


if __name__ == "__main__":
    main()
