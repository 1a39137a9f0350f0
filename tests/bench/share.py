#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A served device beside the same device opened directly.

  tests/bench/share.py OUT [--rounds N] [--seconds S] [--file PATH]

The tool is OUT/annex. Figures are medians of rounds, in each of which both ways are measured one
after the other; reads are verified in a run of their own. OUT/bench/share.json has all of them.
"""
import argparse
import contextlib
import json
import os
import pathlib
import signal
import statistics
import subprocess
import tempfile
import time

from figures import Figures, at_least, at_most, place, sized

CLIENTS = sized(32, 2)
PART = sized("64M", "1M")
# Rounds of the disk's comparisons are shorter, and more: it is not as fast at all times.
SHORT = sized(4, 1)


class Served:
    """A daemon, and a part for each name."""

    def __init__(self, tool, device, parts, size, folder):
        self.tool, self.folder = tool, folder
        self.path = str(pathlib.Path(folder, "sock"))
        command = [tool, "serve", "--socket", self.path, device]
        if not device.startswith("mem:"):
            command[2:2] = ["--overwrite", "--table", str(pathlib.Path(folder, "table"))]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        if not self.process.stdout.readline().startswith("ready:"):
            raise SystemExit("share: the daemon does not start")
        for name, options in parts.items():
            subprocess.run([tool, "part", "add", self.path, name, size, *options], check=True,
                           stdout=subprocess.DEVNULL)

    def uri(self, part):
        return f"unix:{self.path}?part={part}"

    def cpu(self):
        """Seconds that it has used."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().split()
        return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")

    def commands(self, part):
        """Commands of its clients so far."""
        text = subprocess.run([self.tool, "serve", "--status", self.path, "--json"], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        return next(p["commands"] for p in json.loads(text)["parts"] if p["name"] == part)

    def await_more(self, part):
        """Wait until a client uses the part."""
        before, deadline = self.commands(part), time.monotonic() + 10
        while self.commands(part) < before + sized(64, 1):
            if time.monotonic() > deadline:
                raise SystemExit(f"share: no client uses {part}")

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait():
            raise SystemExit("share: the daemon ended with an error")
        pathlib.Path(self.folder, "table").unlink(missing_ok=True)


class Bench:
    def __init__(self, out, options):
        self.tool = str(pathlib.Path(out, "annex"))
        self.options = options
        self.figures = Figures()

    def start(self, uri, *more, seconds=None):
        command = [self.tool, "bench", "block", uri, "--threads", "1", "--json", "--seconds",
                   str(seconds or self.options.seconds), *more]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    @staticmethod
    def result(process):
        text, _ = process.communicate()
        if process.returncode:
            raise SystemExit("share: annex bench failed")
        return json.loads(text)

    def run(self, uri, *more, seconds=None):
        return self.result(self.start(uri, *more, seconds=seconds))

    @contextlib.contextmanager
    def served(self, device, parts, size=PART):
        with tempfile.TemporaryDirectory() as folder:
            daemon = Served(self.tool, device, parts, size, folder)
            try:
                yield daemon
            finally:
                daemon.end()

    def rounds(self, daemon, part, direct, key, *more):
        """Medians of both ways, in turns, and of their ratios."""
        ours, theirs = [], []
        for _ in range(self.options.rounds):
            theirs.append(self.run(direct, *more)[key])
            ours.append(self.run(daemon.uri(part), *more)[key])
        return (statistics.median(ours), statistics.median(theirs),
                statistics.median(a / b for a, b in zip(ours, theirs)))

    def processor(self, name, daemon, part, direct):
        """Processor time of a command, of all that run for it."""
        times = {"direct": [], "unix:, its client": [], "unix:, the daemon": []}
        for _ in range(self.options.rounds):
            times["direct"].append(self.run(*direct)["cpu_s_per_io"])
            before = daemon.cpu()
            result = self.run(daemon.uri(part))
            times["unix:, the daemon"].append((daemon.cpu() - before) / result["ios"])
            times["unix:, its client"].append(result["cpu_s_per_io"])
        for whose, values in times.items():
            self.figures.add(f"{name}, processor time of a command: {whose}",
                             statistics.median(values) * 1e6, "us")

    def verify(self, daemon, part):
        """Write and verify the whole part."""
        subprocess.run([self.tool, "verify", daemon.uri(part), "--overwrite"], check=True,
                       stdout=subprocess.DEVNULL)
        self.run(daemon.uri(part), "--verify", seconds=sized(1, 0.1))

    def memory(self):
        add = self.figures.add
        with self.served(sized("mem:256M", "mem:4M"), {"a": [], "verified": []}) as daemon:
            self.verify(daemon, "verified")
            # Nothing was written to either of them: both read pages of zeroes.
            ours, theirs, ratio = self.rounds(daemon, "a", f"mem:{PART}", "iops")
            add("mem:, 4 KiB reads, depth 64: direct", theirs / 1e3, "k/s")
            add("mem:, 4 KiB reads, depth 64: unix:", ours / 1e3, "k/s")
            add("mem:, 4 KiB reads, depth 64: unix: / direct", ratio, "x", at_least(0.5))
            ours, theirs, _ = self.rounds(daemon, "a", f"mem:{PART}", "latency_p50_s", "--depth",
                                          "1")
            add("mem:, depth 1, median latency: unix: beyond direct", (ours - theirs) * 1e6, "us",
                at_most(5))
            self.processor("mem:", daemon, "a", [f"mem:{PART}"])
            before, since = daemon.cpu(), time.monotonic()
            time.sleep(sized(10, 0.1))  # the time that is measured
            add("processor of an idle daemon", 100 * (daemon.cpu() - before) /
                (time.monotonic() - since), "%", at_most(1))

    def file(self, path):
        add = self.figures.add
        device = f"file:{path}"
        names = [f"c{i}" for i in range(CLIENTS)]
        with self.served(device, {name: [] for name in names} | {"first": ["--first"]}) as daemon:
            for name in [*names, "first"]:  # as blocks that were never written are quick to read
                subprocess.run([self.tool, "verify", daemon.uri(name), "--overwrite"], check=True,
                               stdout=subprocess.DEVNULL)
            self.run(daemon.uri(names[0]), "--verify", seconds=sized(1, 0.1))
            ratios, together, direct, spread = [], [], [], []
            short = self.options.seconds / SHORT
            for i in range(SHORT * self.options.rounds):
                direct.append(self.run(device, "--bytes", PART,
                                       seconds=short)["iops"])
                ratios.append(self.run(daemon.uri(names[0]), seconds=short)["iops"] / direct[-1])
                if i % SHORT:
                    continue
                # Long enough that the order of their starts does not matter.
                some = [self.start(daemon.uri(name), "--depth", "16", "--nap", "200",
                                   seconds=4 * self.options.seconds) for name in names]
                rates = [self.result(p)["iops"] for p in some]
                together.append(sum(rates) / direct[-1])
                spread.append(min(rates) / max(rates))
            add("file:, 4 KiB reads, depth 64: direct", statistics.median(direct) / 1e3, "k/s")
            add("file:, 1 client / direct", statistics.median(ratios), "x", at_least(0.95))
            add(f"file:, {CLIENTS} clients together / direct", statistics.median(together), "x",
                at_least(0.95))
            add(f"fairness: {CLIENTS} equal clients, slowest / fastest",
                statistics.median(spread), "", at_least(0.9))
            self.processor("file:", daemon, names[0],
                           [device, "--bytes", PART])
            self.first(daemon)

    def first(self, daemon):
        """A reader that goes first, beside a writer of much."""
        add = self.figures.add
        # Neither spins: there are fewer processors than threads that would.
        bulk = ("--write", "--overwrite", "--size", "512K", "--depth", "64", "--order",
                "sequential", "--nap", "50")
        reader = (daemon.uri("first"), "--depth", "1", "--nap", "10")
        alone, beside, writes, kept = [], [], [], []
        short = self.options.seconds / SHORT
        for _ in range(SHORT * self.options.rounds):
            alone.append(self.run(*reader, seconds=short)["latency_p99_s"])
            writes.append(self.run(daemon.uri("c0"), *bulk, seconds=short)["bytes_per_s"])
            writer = self.start(daemon.uri("c0"), *bulk, seconds=sized(2 * short, 2))
            daemon.await_more("c0")
            beside.append(self.run(*reader, seconds=short)["latency_p99_s"])
            kept.append(self.result(writer)["bytes_per_s"])
        add("a reader that goes first, alone: 99 %", statistics.median(alone) * 1e6, "us")
        add("beside a writer of 512 KiB at depth 64 / alone",
            statistics.median(b / a for a, b in zip(alone, beside)), "x", at_most(2))
        add("the writer keeps", statistics.median(k / w for k, w in zip(kept, writes)), "x",
            at_least(0.7))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--rounds", type=int, default=sized(5, 1))
    parser.add_argument("--seconds", type=float, default=sized(2, 0.1))
    parser.add_argument("--file", metavar="PATH", help="of the device (OUT/bench/share.img)")
    options = parser.parse_args()
    folder = pathlib.Path(place(options.out))
    path = options.file or folder / "share.img"
    bench = Bench(options.out, options)
    bench.figures.command = "make bench-share"
    bench.memory()
    with open(path, "wb") as file:  # written, not sparse
        for _ in range(CLIENTS + 4):
            file.write(os.urandom(1 << 20) * sized(64, 1))
    bench.file(pathlib.Path(path).resolve())
    if not options.file:
        os.unlink(path)
    bench.figures.write(folder / "share.json")


if __name__ == "__main__":
    main()
