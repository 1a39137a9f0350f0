#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One training in several ways, in as much memory: a table, and goals.

  tests/bench/torch_bench.py DIRECTORY --json FILE [--plot FILE.svg] [--threads N]
    [--train MODEL:BATCH]... [--way WAY]...

Models are like GPT and ViT. Device memory is a quarter of what plain PyTorch takes beyond a process
that has only loaded everything. Batches are those whose plan has a bound of 0.95, 0.8 and 0.6 of
the speed without waiting: the bound alone chooses them. Rows take turns, from another one on in
each round. An iteration is the median of five, after the plan runs; a row is the median of the
rounds. The losses of each row must equal plain PyTorch's, bit for bit. SMOKE=1 in the
environment asks for the smoke form: small models.
"""
import argparse
import math
import os
import signal
import statistics
import sys
from figures import Figures, at_least, at_most, sized, within
from torch_plot import plot
from torch_runs import LEAST, MIB, USER, Failed, Runs

WAYS = "plain", "checkpoint", "none", "uvm", "annex", "early", "swap"
PLANNED = "uvm", "annex", "early"
BOUNDS = 0.95, 0.8, 0.6
ROOM = 2  # times what a training takes: everything fits
FULL = {
    "models": ("gpt", "vit"),
    "gpt": ({"width": 512, "layers": 8, "heads": 8, "length": 64, "words": 8000},
            (1, 2, 4, 8, 16)),
    "vit": ({"width": 512, "layers": 8, "heads": 8, "side": 64, "patch": 8, "classes": 100},
            (1, 2, 4, 8, 16)),
    "fits": {"model": "gpt", "batch": 1, "operators": 20000, "sizes": {
        "width": 768, "layers": 12, "heads": 12, "length": 256, "words": 50257}},
    "deep": {"model": "deep", "batch": 128, "sizes": {"width": 128, "layers": 310}}}
SMALL = {
    "models": ("gpt",),
    "gpt": ({"width": 128, "layers": 2, "heads": 4, "length": 64, "words": 500}, (2,)),
    "vit": ({"width": 128, "layers": 2, "heads": 4, "side": 32, "patch": 4, "classes": 100}, (2,)),
    "fits": {"model": "gpt", "batch": 1, "operators": 2000, "sizes": {
        "width": 128, "layers": 2, "heads": 4, "length": 64, "words": 500}},
    "deep": {"model": "deep", "batch": 128, "sizes": {"width": 128, "layers": 20}}}


def median(reports, key):
    return statistics.median(key(r) if callable(key) else r[key] for r in reports)


def memory_of(report):
    """A quarter of what a training takes."""
    return max(LEAST, report["taken"] // 4)


def choose(shares, wanted):
    """The batch whose bound is a share of full speed, interpolated between measured ones."""
    pairs = sorted(shares.items())
    for (low, a), (high, b) in zip(pairs, pairs[1:]):
        if min(a, b) <= wanted <= max(a, b) and a != b:
            part = (wanted - a) / (b - a)
            return round(2 ** (math.log2(low) + part * math.log2(high / low)))
    return min(pairs, key=lambda pair: abs(pair[1] - wanted))[0]


class Bench:
    """@trainings: (name, bound, rows) of each batch, for the plot."""

    def __init__(self, runs, sizes, rounds, ways):
        self.runs, self.sizes, self.count, self.ways = runs, sizes, rounds, ways
        self.figures = Figures()
        self.trainings = []

    def shares(self, model):
        """Of each batch, the bound of its plan as a share of full speed."""
        sizes, batches = self.sizes[model]
        shares = {}
        for batch in batches:
            config = {"model": model, "batch": batch, "sizes": sizes}
            config["memory"] = memory_of(self.runs.run("plain", config))
            try:
                report = self.runs.run("annex", config)
            except Failed as why:
                print(f"{model}, batch {batch}: no plan: {why}", flush=True)
                continue
            shares[batch] = report["ideal_s"] / report["bound_s"]
            print(f"{model}, batch {batch}: bound {shares[batch]:.3f} of full speed", flush=True)
        if not shares:
            raise Failed(f"{model}: no batch has a plan")
        return shares

    def rounds(self, config, ways):
        """Reports of each way; of one that fails, why."""
        reports, why = {way: [] for way in ways}, {}
        for number in range(self.count):
            turn = number % len(ways)
            for way in ways[turn:] + ways[:turn]:
                try:
                    reports[way].append(self.report(way, config, reports))
                except Failed as reason:
                    why[way] = str(reason)
        for way in ("plain", "annex"):
            if not reports[way]:
                raise Failed(why[way])
        return {way: some for way, some in reports.items() if some}, why

    def report(self, way, config, reports):
        if way != "swap":
            return self.runs.run(way, config)
        most = max(config["memory"], *(r["taken"] for r in reports["annex"]))  # as annex takes
        return self.runs.swapping(config, most)

    def train(self, model, batch):
        """All rows of a batch."""
        name = f"{model}, batch {batch}"
        config = {"model": model, "batch": batch, "sizes": self.sizes[model][0]}
        config["memory"] = memory_of(self.runs.run("plain", config))
        reports, why = self.rounds(config, self.ways)
        bound = median(reports["annex"], lambda r: r["ideal_s"] / r["bound_s"])
        print(f"\n{name}, threads: {self.runs.threads}, device memory "
              f"{config['memory'] / MIB:.1f} MiB, bound {bound:.3f} of full speed")
        print(f"{'':<12} {'peak MiB':>9} {'s/iteration':>12} {'speed':>6} {'in MiB':>8} "
              f"{'out MiB':>8} {'to plan':>12}  losses")
        for way in self.ways:
            if way in reports:
                self.row(way, reports)
            if way in why:
                print(f"{way:<12} fails: {why[way]}")
        print("save_on_cpu  moves nothing on CPUs\n", flush=True)
        self.trainings.append((name, bound, {way: median(some, "seconds")
                                             for way, some in reports.items()}))
        self.keep(name, reports)
        self.goals(name, config, reports)
        return config, reports["annex"]

    def keep(self, name, reports):
        """The table's values for the file."""
        for way, some in reports.items():
            for key, unit in (("seconds", "s"), ("taken", "B"), ("in", "B"), ("out", "B")):
                self.figures.list.append({
                    "figure": f"{name}, {way}: {key}", "value": median(some, key), "unit": unit,
                    "least": min(r[key] for r in some), "most": max(r[key] for r in some),
                    "target": None, "met": None, "command": self.figures.command})

    @staticmethod
    def row(way, reports):
        some = reports[way]
        until = (f"{median(some, 'recorded'):.0f}, {median(some, 'until_plan'):.2f} s"
                 if way in PLANNED else "")
        speed = median(reports["plain"], "seconds") / median(some, "seconds")
        print(f"{way:<12} {median(some, 'taken') / MIB:9.1f} {median(some, 'seconds'):12.4f} "
              f"{speed:6.3f} {median(some, 'in') / MIB:8.1f} {median(some, 'out') / MIB:8.1f} "
              f"{until:>12}  " + ("DIFFERENT" if differ(some, reports["plain"]) else "same losses"))

    def goals(self, name, config, reports):
        """Figures of a batch."""
        add = self.figures.add
        annex, seconds = reports["annex"], median(reports["annex"], "seconds")
        add(f"{name}: runs with other losses than plain", sum(
            differ(some, reports["plain"]) for some in reports.values()), "", at_most(0))
        if "swap" in reports:
            add(f"{name}: annex / swap", median(reports["swap"], "seconds") / seconds, "x",
                at_least(3))
        for way in ("annex", "early"):
            some = reports.get(way, [])
            if some:
                add(f"{name}: {way} / bound", median(some, lambda r: r["bound_s"] / r["seconds"]),
                    "x", at_least(0.85))
                add(f"{name}: {way}: iteration / simulated",
                    median(some, lambda r: r["seconds"] / r["simulated_s"]), "x", within(1, 0.1))
                add(f"{name}: {way}: kernel's processor time", median(some, "system"), "s")
        add(f"{name}: peak beyond loading / device memory",
            median(annex, "taken") / config["memory"], "x", at_most(1.05))

    def fits(self):
        """Everything fits: the cost of looking on."""
        config = dict(self.sizes["fits"])
        config["memory"] = ROOM * self.runs.run("plain", config)["taken"] + 64 * MIB
        reports, _ = self.rounds(config, ("plain", "annex"))
        slower = median(reports["annex"], "seconds") / median(reports["plain"], "seconds") - 1
        self.figures.add("everything fits: slower by", 100 * slower, "%", at_most(3))
        self.figures.add("everything fits: runs with other losses than plain",
                         differ(reports["annex"], reports["plain"]), "", at_most(0))
        longer = [self.runs.run("operator", config)["seconds"]
                  for _ in range(self.count)]
        self.figures.add("everything fits: an operator takes longer by",
                         1e6 * statistics.median(longer), "us", at_most(3))

    def first_plan(self):
        """From the first iteration to a running plan."""
        config = dict(self.sizes["deep"])
        config["memory"] = memory_of(self.runs.run("plain", config))
        some = [self.runs.run("annex", config) for _ in range(self.count)]
        name = f"{median(some, 'kernels'):.0f} operators"
        self.figures.add(f"{name}: first iteration to running plan", median(some, "until_plan"),
                         "s", at_most(2))
        self.figures.add(f"{name}: iterations until then", median(some, "recorded"), "")
        self.figures.add(f"{name}: the longest of them", median(some, "longest"), "s")

    def ordinary_user(self, config, root):
        """Clean copies: an ordinary user writes as much as root."""
        if os.getuid():
            print(f"an ordinary user as root: not here: root must compare, not user {os.getuid()}")
            return
        try:
            some = [self.runs.run("annex", config, user=USER) for _ in root]
        except Failed as why:
            print(f"an ordinary user as root: not here: {why} (PYTHON= must be one that {USER} "
                  "may run, as /usr/bin/python3)")
            return
        name = f"{config['model']}, batch {config['batch']}, user {USER}"
        self.figures.add(f"{name}: written / by root", median(some, "out") / median(root, "out"),
                         "x", within(1, 0.05))
        self.figures.add(f"{name}: runs with other losses than root's", differ(some, root), "",
                         at_most(0))

    def all(self):
        for model in self.sizes["models"]:
            shares = self.shares(model)
            for batch in sorted({choose(shares, bound) for bound in BOUNDS}):
                last = self.train(model, batch)
        self.ordinary_user(*last)
        self.fits()
        self.first_plan()


def differ(some, plain):
    """How many reports have a loss that plain PyTorch has not: it runs as many iterations, or
    fewer."""
    return sum(r["losses"][:len(p["losses"])] != p["losses"][:len(r["losses"])]
               for r, p in zip(some, plain))


def training(text):
    model, _, batch = text.partition(":")
    if model not in ("gpt", "vit") or not batch.isdecimal() or not int(batch):
        raise argparse.ArgumentTypeError(f"{text}: gpt:4, vit:2")
    return model, int(batch)


class Parser(argparse.ArgumentParser):
    def error(self, message):
        sys.exit(f"torch_bench: {message}")


def main():
    parser = Parser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", help="on the disk whose storage is measured")
    parser.add_argument("--json", required=True, metavar="FILE", help="figures, for met.py")
    parser.add_argument("--plot", metavar="FILE.svg", help="speeds of all rows")
    parser.add_argument("--threads", type=int, default=2, help="of PyTorch (2)")
    parser.add_argument("--rounds", type=int, default=1, help="of each row (1)")
    parser.add_argument("--train", action="append", metavar="MODEL:BATCH", type=training,
                        default=[], help="only this one, not the bound's choice; again: "
                        "this one, too")
    parser.add_argument("--way", action="append", choices=WAYS, default=[],
                        help="only this way, beside plain and annex; again: this one, too")
    args = parser.parse_args()
    if args.threads < 1 or args.rounds < 1:
        parser.error("one thread and one round at least")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # swap must not stay
    os.makedirs(args.directory, exist_ok=True)
    try:
        with Runs(os.path.abspath(args.directory), args.threads) as runs:
            ways = [way for way in WAYS
                    if not args.way or way in ("plain", "annex", *args.way)]
            bench = Bench(runs, sized(FULL, SMALL), args.rounds, ways)
            bench.figures.command = " ".join(sys.argv)
            for model, batch in args.train:
                bench.train(model, batch)
            if not args.train:
                bench.all()
    except Failed as why:
        sys.exit(f"torch_bench: {why}")
    bench.figures.write(args.json)
    if args.plot:
        plot(args.plot, bench.trainings)
    if any(f["value"] and "losses" in f["figure"] for f in bench.figures.list):
        sys.exit("torch_bench: losses differ")


if __name__ == "__main__":
    main()
