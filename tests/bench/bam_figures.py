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
import struct
import subprocess
import sys
import time
import typing

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
WARP = 32
MANY = sized(1 << 21, 1 << 13)  # threads, or lines, of kernels with as many as matter
DRIVE = sized("64M", "16M")
LARGE = sized(22, 9)  # scale of figure 9's graph
QUEUES = [128, 40, 8, 1]
KERNELS = [("bfs", "BFS"), ("sweep", "CC and PageRank"), ("vadd", "vectorAdd"),
           ("scan", "taxi questions"), ("gather", "random reads"), ("sum", "a sum of lines")]


class Drive(typing.NamedTuple):
    """A drive of Table 2: reads and writes a second by their bytes, the middle of a range, and its
    latency; and the time in which its medium reads, from the table of lib/models/ssd/media.c."""

    name: str
    reads: dict
    writes: dict
    latency_ns: int
    cells_ns: int
    bus: int = 2 * 10**9

    def uri(self, folder, line):
        """A CXL-SSD with these rates, and the rest of its latency. The rate gives the number of
        dies, and then the exact time of the medium."""
        pass_ns = line * 1e9 / self.bus
        dies = max(round(self.reads[line] * (self.cells_ns + pass_ns) / 1e9), 1)
        read_ns = dies * 1e9 / self.reads[line] - pass_ns
        path = os.path.abspath(f"{folder}/{self.name}-{line}.media")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"read_ns={read_ns:.0f}\nerase_ns=0\nsuspend_ns=0\nrate={self.bus}\n"
                       f"program_ns={dies * 1e9 / self.writes[line] - pass_ns:.0f}\n")
        return (f"cxlssd:?size={DRIVE}&page={line}&channels={dies}&media={path}&queue=65536",
                max(round(self.latency_ns - read_ns - pass_ns), 0))


OPTANE = Drive("P5800X", {512: 5.1e6, 4096: 1.5e6}, {512: 1e6, 4096: 1.5e6}, 10000, 5000)
PM1735 = Drive("PM1735", {512: 1.1e6, 4096: 1.6e6}, {512: 351e3, 4096: 351e3}, 25000, 3000)
CONSUMER = Drive("980pro", {512: 750e3, 4096: 750e3}, {512: 172e3, 4096: 172e3}, 100000, 45000)

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
- **modelled**: by events in virtual time (`tests/models/bench/warps.c`). An A100 has as many
  resident warps as the registers of figure 13 allow, and issues {instructions:,} instructions for a
  command. Its link carries doorbells, queue entries and data, with the headers of PCIe packets.
  Each drive is a `cxlssd` with the rates of Table 2, and its latency of O(10), O(25) or O(100) us,
  taken as 10, 25 and 100 us. Two values are fitted, on the text about figure 4: the link moves
  22.9 / 0.9 GB/s of data, and the start of a kernel takes {start:.2f} ms, with which 32 Ki threads
  reach 90 % of one drive's rate ("16K-64K", "near peak").
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
        self.start_ns = 0  # of a modelled kernel

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


class Gpu:
    """An A100 whose warps read drives, in virtual time: OUT/bench/warps."""

    LINK = 22.9e9 / 0.9 * 280 / 256  # figure 4: "90% of the measured peak"; with packets' headers
    INSTRUCTIONS = 3840              # kernel_submit of tools/gpu, as compiled for sm_80
    REGISTERS = 65536                # of a multiprocessor

    def __init__(self, bench):
        self.bench = bench

    def run(self, drives, drive, line, *options, registers=64):
        """The report of kernels over @drives of a kind, with commands a second as "rate"."""
        uri, latency = drive.uri(self.bench.folder, line)
        done = subprocess.run(
            [f"{self.bench.out}/bench/warps", uri, f"drives={drives}", f"latency={latency}",
             f"link={self.LINK:.0f}", f"instructions={self.INSTRUCTIONS}",
             f"resident={self.REGISTERS // 32 // registers}", f"start={self.bench.start_ns:.0f}",
             *options], check=False, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"warps: {done.stderr.strip()}")
        report = json.loads(done.stdout)
        report["rate"] = report["commands"] / report["time_s"]
        return report

    def fit_start(self):
        """The start of a kernel with which 32 Ki threads reach 90 % of a drive's rate."""
        report = self.run(1, OPTANE, 512, "warps=1024", f"lanes={WARP}")
        time_s = report["commands"] / (0.9 * OPTANE.reads[512])
        self.bench.start_ns = 1e9 * (time_s - report["time_s"])


def lists_of(numpy, path, name):
    """What bfs or cc read of a graph: by kernel, the first bytes of lists and their lengths."""
    with open(path, "rb") as file:
        head = file.read(4096)
    vertices = struct.unpack_from("<Q", head, 24)[0]
    sections = struct.unpack_from("<4Q", head, 40)
    ends = numpy.memmap(path, "<u8", "r", sections[0], (vertices + 1,))
    first, length = ends[:-1].astype("i8"), numpy.diff(ends.astype("i8"))
    if name == "cc":
        yield first, length
        return
    id_bytes = struct.unpack_from("<I", head, 16)[0]
    edges = numpy.memmap(path, f"<u{id_bytes}", "r", sections[2], (int(ends[-1]),))
    new = numpy.ones(vertices, bool)
    front = numpy.flatnonzero(length > 2)[:1]
    while front.size:
        new[front] = False
        yield first[front], length[front]
        count = length[front]
        starts = numpy.repeat(first[front] - numpy.cumsum(count) + count, count)
        found = numpy.unique(edges[starts + numpy.arange(count.sum())])
        front = found[new[found]].astype("i8")


def write_lists(numpy, path, name, to):
    """The file that warps reads, of lists of 8 bytes an edge; its bytes."""
    total = 0
    with open(to, "wb") as file:
        for first, length in lists_of(numpy, path, name):
            pairs = numpy.stack((first, length), 1)[length > 0] * 8
            total += int(pairs[:, 1].sum())
            file.write(numpy.concatenate((pairs, [[0, 0]])).astype("<u8").tobytes())
    return total


def drives_of_graphs(bench, gpu):
    """Figure 9: BFS and CC on four drives of each kind."""
    try:
        import numpy
    except ImportError:
        bench.add(9, "BFS and CC by drives", "3.21 and 2.68", "-", "absent", "no NumPy")
        return
    path, _ = bench.graph(LARGE)
    to = f"{bench.folder}/lists"
    for name, theirs in (("bfs", "3.21"), ("cc", "2.68")):
        total = write_lists(numpy, path, name, to)
        optane, consumer, pm1735 = (
            gpu.run(4, kind, 4096, f"lists={to}", f"cache={eight(total)}", registers=128)["time_s"]
            for kind in (OPTANE, CONSUMER, PM1735))
        for what, time_s, paper in (("980pro", consumer, theirs), ("PM1735", pm1735, "about 1")):
            bench.add(9, f"{name}, time on four {what} / on four Optane, x", paper,
                      time_s / optane, "modelled",
                      f"Kronecker {LARGE}, whose edges have 8 bytes, a cache of 8 / {EDGE_GB} of "
                      "them; not fitted")
    os.unlink(to)


def modelled(bench):
    """Figures 4 to 6 and 9."""
    gpu = Gpu(bench)
    gpu.fit_start()
    for threads in (1 << 14, 1 << 15, 1 << 16):
        fitted = "fitted" if threads == 1 << 15 else "not fitted"
        bench.add(4, f"random reads of 512 bytes, one drive, {threads >> 10} Ki threads, M/s",
                  "near 5.1", gpu.run(1, OPTANE, 512, f"warps={threads // WARP}",
                                      f"lanes={WARP}")["rate"] / 1e6, "modelled", fitted)
    bench.add(4, "random reads of 512 bytes, ten drives, M/s", "45.8",
              gpu.run(10, OPTANE, 512, f"warps={MANY // WARP}", f"lanes={WARP}")["rate"] / 1e6,
              "modelled", "the link's peak is fitted, its packets are not")
    bench.add(4, "random writes of 512 bytes, ten drives, M/s", "10.6",
              gpu.run(10, OPTANE, 512, f"warps={MANY // 2 // WARP}", f"lanes={WARP}", "write=1")
              ["rate"] / 1e6, "modelled",
              "Table 2 has 1 M/s for a drive")
    bench.add(5, "lines of 4 KiB from four drives, GB/s", "25",
              gpu.run(4, OPTANE, 4096, f"warps={MANY}")["rate"] * 4096 / 1e9, "modelled",
              "not fitted")
    bench.add(5, "the same by GPUDirect Storage, share of the link, %", "23.6", "-", "absent",
              "the cost is of Linux' block layer and NVIDIA's driver")
    for threads, line, paper in ((1 << 16, 512, "-"), (1 << 20, 512, "17"), (1 << 20, 4096, "5.9")):
        bench.add(6, f"misses in lines of {line} bytes, four drives, {threads >> 10} Ki threads, "
                  "M/s", paper,
                  gpu.run(4, OPTANE, line, f"warps={threads // WARP}", f"steps={8192 // line}")
                  ["rate"] / 1e6, "modelled", "a warp reads its lines one after the other; not "
                  "fitted")
    drives_of_graphs(bench, gpu)


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
                     rounds=ROUNDS, scale=SCALE, instructions=Gpu.INSTRUCTIONS,
                     start=bench.start_ns / 1e6)
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
