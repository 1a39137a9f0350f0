#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pairs of commands that write to one range, file, device or directory at once.

pairs.py ANNEX [ROUNDS [SEED]] - Each pair of writers of a kind, a command with itself included, is
started ROUNDS times (1), with offsets from SEED. Of two that both succeed one must be explained by
the other having gone first; one that fails says why in one line; a result that was promised is
there, whole, and nothing else is left.
"""
import collections
import hashlib
import itertools
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ANNEX = os.path.realpath(sys.argv[1])
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 1
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 1
RANDOM = random.Random(SEED)
OFFSETS_MS = (0, 0, 1, 2, 4, 8, 16)
SMALL = ("--cache", "1M", "--threads", "1")

WHOLE, ANY = -1, 0
Writer = collections.namedtuple("Writer", "name args makes", defaults=(WHOLE,))
"""@args: of the command. @makes: so many bytes of the state from its beginning; or WHOLE, ANY."""

counts = collections.Counter()


class Lost(Exception):
    """What a pair did that it must not."""


def run(args):
    done = subprocess.run([ANNEX, *args], capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, done.stdout, done.stderr


def must(args):
    rc, out, err = run(args)
    if rc:
        raise SystemExit(f"{' '.join(args)}: {err}")
    return out


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def at_once(first, second):
    """The exit codes and stderrs of two commands that begin together."""
    read, write = os.pipe()
    offsets = [0, RANDOM.choice(OFFSETS_MS)]
    RANDOM.shuffle(offsets)
    running = [
        subprocess.Popen(
            ["sh", "-c", f'read -r line <&{read} && sleep "$1" && shift && exec "$@"', "start",
             str(ms / 1000), ANNEX, *args],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, pass_fds=[read])
        for ms, args in zip(offsets, (first, second))]
    os.write(write, b"go\ngo\n")
    ends = [(p.communicate(timeout=300)[1], p.returncode) for p in running]
    os.close(read)
    os.close(write)
    return [rc for _, rc in ends], [err for err, _ in ends]


class Kind:
    """A target of commands that write. @overwrites: writers replace its data."""

    def __init__(self, name, writers, overwrites):
        self.name, self.writers, self.overwrites = name, writers, overwrites
        self.alone = {}

    def reset(self):
        """As it is before a pair."""

    def state(self):
        """The target's data, to be compared; raises Lost if it is not whole."""

    def learn(self):
        """The result of each writer alone, and the state before any write."""
        for w in self.writers:
            self.reset()
            must(w.args)
            self.alone[w.name] = self.state()
        self.reset()
        self.before = self.state()

    def judge(self, pair, rcs, errs):
        state = self.state()
        won = [w for w, rc in zip(pair, rcs) if not rc]
        kept = [self.alone[w.name] == state if w.makes == WHOLE else
                self.alone[w.name][:w.makes] == state[:w.makes] for w in won]
        if not won:
            raise Lost(f"both failed: {errs}")
        if len(won) == 2 and not self.overwrites:
            raise Lost("both say that they made what only one can have made")
        if not any(kept):
            raise Lost("the result is not that of one that succeeded")

    def one(self, pair):
        self.reset()
        listed = sorted(os.listdir(".")) if self.overwrites else None
        rcs, errs = at_once(pair[0].args, pair[1].args)
        for rc, err in zip(rcs, errs):
            right = re.fullmatch(r"annex[^\n]*: [^\n]+\n", err) if rc else not err
            if not right or not 0 <= rc < 100:
                raise Lost(f"exit code {rc}, and on stderr {err!r}")
        self.judge(pair, rcs, errs)
        if listed and sorted(os.listdir(".")) != listed:
            raise Lost(f"left: {sorted(set(os.listdir('.')) ^ set(listed))}")

    def pairs(self):
        self.learn()
        for pair in itertools.combinations_with_replacement(self.writers, 2):
            counts["pairs"] += 1
            for _ in range(ROUNDS):
                counts["rounds"] += 1
                try:
                    self.one(pair)
                except Lost as e:
                    counts["lost"] += 1
                    print(f"not ok {self.name}: {pair[0].name} and {pair[1].name}: {e}")
                    self.reset()


class File(Kind):
    """A file X, or a device that is one."""

    def reset(self):
        remove("X")
        if self.overwrites:
            with open("X", "wb") as f:
                f.write(bytes(1 << 20))

    def state(self):
        if not os.path.exists("X"):
            return b""
        with open("X", "rb") as f:
            return f.read()


class TwoFiles(Kind):
    """Files X and X.svg, which belong together."""

    def reset(self):
        for name in ("X", "X.svg"):
            with open(name, "wb"):
                pass

    def state(self):
        both = []
        for name in ("X", "X.svg"):
            with open(name, "rb") as f:
                both.append(f.read())
        return both


class Directory(Kind):
    """A directory X of columns."""

    def reset(self):
        remove("X")

    def state(self):
        whole = hashlib.sha256()
        for name in sorted(os.listdir("X")) if os.path.exists("X") else []:
            with open(f"X/{name}", "rb") as f:
                whole.update(name.encode() + hashlib.sha256(f.read()).digest())
        return whole.hexdigest()


class Range(Kind):
    """Tables in a range, which stays from pair to pair: what leaks in it is missing later."""

    def reset(self):
        if not os.path.exists("range"):
            must(["query", "load", "--range", "shm:range?size=4M", "l1.csv", "p1.csv"])
        else:
            must(["query", "load", "--range", "shm:range", "--overwrite", "l1.csv", "p1.csv"])

    def state(self):
        answers = []
        for query in ("q6", "q14"):
            rc, out, err = run(["query", "run", "--range", "shm:range", query, "--runs", "1",
                                "--threads", "1", "--json"])
            if rc:
                raise Lost(err.strip())
            answers += re.findall(r'"(?:passed|revenue|promo_revenue)": "?([^",\n]*)', out)
        return answers


    def pairs(self):
        super().pairs()
        for i in range(10 * ROUNDS if self.overwrites else 0):
            counts["killed"] += 1
            try:
                self.killed(self.writers[i % 3])
            except Lost as e:
                counts["lost"] += 1
                print(f"not ok {self.name}: {self.writers[i % 3].name}, killed: {e}")

    def killed(self, writer):
        """Tables are the old ones or the new ones, all of them, whenever the writer dies."""
        before = self.state()
        load = subprocess.Popen([ANNEX, *writer.args], stdout=subprocess.DEVNULL)
        time.sleep(RANDOM.uniform(0, 0.04))
        load.send_signal(signal.SIGKILL)
        load.wait()
        if self.state() not in (before, self.alone[writer.name]):
            raise Lost("the tables are neither the old nor the new ones")


class NewRange(Range):
    """The same, in a range that is not there yet."""

    def reset(self):
        if os.path.exists("range"):
            os.unlink("range")

    def state(self):
        return super().state() if os.path.exists("range") else []


def make_inputs():
    for n, rows in ((1, 3000), (2, 7000), (3, 9000)):
        with open(f"l{n}.csv", "w", encoding="ascii") as f:
            f.write("l_orderkey,l_partkey,l_quantity,l_extendedprice,l_discount,l_shipdate\n")
            for i in range(rows):
                f.write(f"1,{i % 50 + 1},{i % 30},{n},0.06,199{4 + i % 2}-09-{i % 28 + 1:02}\n")
        with open(f"p{n}.csv", "w", encoding="ascii") as f:
            f.write("p_partkey,p_type\n")
            for i in range(50):
                f.write(f"{i + 1},{'PROMO' if i % (n + 1) == 0 else 'OTHER'}\n")
    for n in (1, 2):
        must(["graph", "gen", "kron", "--scale", "10", "--seed", str(n), "-o", f"g{n}.csr"])
        must(["vadd", "gen", f"v{n}.f64", "--size", "256K", "--seed", str(n)])
    with open("e.txt", "w", encoding="ascii") as f:
        f.writelines(f"{i} {i * 5 % 97}\n" for i in range(97))
    must(["trace", "gen", "synthetic", "--kernels", "300", "-o", "t.json"])


def load(tables, *more):
    return ["query", "load", "--range", "shm:range", *more,
            *[f"{t}.csv" for t in tables.split()]]


def kinds():
    yield Range("a range", [
        Writer("load 1", load("l1 p1", "--overwrite")),
        Writer("load 2", load("l2 p2", "--overwrite")),
        Writer("load 3", load("l3 p3", "--overwrite")),
        Writer("measure", ["bench", "hdm", "shm:range", "--bytes", "256K", "--threads", "1",
                            "--seconds", "0.01"],
               ANY)], True)
    new = [Writer(f"make {n}", ["query", "load", "--range", "shm:range?size=4M", f"l{n}.csv",
                                f"p{n}.csv"]) for n in (1, 2)]
    yield NewRange("a range that is not there", new, False)
    for overwrites, more in ((False, []), (True, ["--overwrite"])):
        how = "to replace" if overwrites else "to make"
        out = ["-o", "X", *more]
        yield File(f"a file {how}", [
            Writer("graph gen", ["graph", "gen", "kron", "--scale", "10", *out]),
            Writer("graph import", ["graph", "import", "snap", "e.txt", *out]),
            Writer("trace gen", ["trace", "gen", "synthetic", "--kernels", "200", *out]),
            Writer("plan", ["plan", "t.json", "--policy", "g10", *out]),
            Writer("vadd", ["vadd", "v1.f64", "v2.f64", *SMALL, *out], 256 << 10),
            *([] if overwrites else [Writer("vadd gen", ["vadd", "gen", "X", "--size", "128K"])])],
            overwrites)
        yield File(f"a device {how}", [
            *[Writer(f"copy {n}", ["copy", f"g{n}.csr", "file:X", *SMALL, *more],
                     os.path.getsize(f"g{n}.csr")) for n in (1, 2)],
            *[Writer(f"vadd {n}", ["vadd", "v1.f64", f"v{n}.f64", "-o", "file:X", *SMALL, *more],
                     256 << 10) for n in (1, 2)],
            *[Writer(f"verify {n}", ["verify", "file:X", "--bytes", "256K", "--seed", str(n),
                                     "--threads", "1", *more], 256 << 10) for n in (1, 2)],
            Writer("bench block", ["bench", "block", "file:X", "--bytes", "256K", "--write",
                                   "--threads", "1", "--ios", "200", *more], ANY)], overwrites)
    yield TwoFiles("two files", [
        Writer(f"plan {policy}", ["plan", "t.json", "--policy", policy, "--gpu", "60G", "-o", "X",
                                  "--plot", "X.svg", "--overwrite"])
        for policy in ("g10", "uvm")], True)
    yield Directory("a directory", [
        Writer("scan gen 1", ["scan", "gen", "--rows", "3000", "-o", "X"]),
        Writer("scan gen 2", ["scan", "gen", "--rows", "5000", "-o", "X"]),
        Writer("scan import", ["scan", "import", "l1.csv", "-o", "X"])], False)


def main():
    here = tempfile.mkdtemp(prefix="annex-pairs-")
    os.chdir(here)
    try:
        make_inputs()
        for kind in kinds():
            kind.pairs()
    finally:
        os.chdir("/")
        shutil.rmtree(here)
    if counts["lost"]:
        print(f"repeat: {sys.argv[0]} {sys.argv[1]} {ROUNDS} {SEED}")
    print(f"pairs of concurrent writers: {counts['pairs']} pairs, {counts['rounds']} rounds, "
          f"{counts['killed']} killed, results lost: {counts['lost']}")
    print(f"{counts['rounds'] + counts['killed'] - counts['lost']} passed, "
          f"{counts['lost']} failed")
    return 1 if counts["lost"] else 0


if __name__ == "__main__":
    sys.exit(main())
