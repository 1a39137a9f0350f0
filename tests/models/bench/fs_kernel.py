#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Blocks that the design ext4-like writes, beside blocks of the kernel's ext4 on a loop device.

fs_kernel.py BUILD: the same calls on both, by one process, from a new mount to the end of the
unmount. Needs root, FUSE, a loop device and mkfs.ext4. Writes BUILD/bench/fs_kernel.json.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

from figures import place, sized

SIZE = sized(1 << 30, 1 << 26)
FEWER = sized(1, 50)  # of all counts
SEED = 1


def write(path, n, rng, flags=os.O_CREAT):
    fd = os.open(path, os.O_WRONLY | flags, 0o644)
    os.write(fd, rng.randbytes(n))
    return fd


def name(directory, i, width):
    return f"{directory}/{i // width}/{i}" if width else f"{directory}/{i}"


class Files:
    """Files of a fileset: some exist. Sizes are from a gamma distribution of shape 1.5."""

    def __init__(self, at, n, there, width, mean):
        self.rng = random.Random(SEED)
        n, there = n // FEWER, there // FEWER
        self.at, self.width, self.mean = at, width, mean
        self.there, self.absent = list(range(there)), list(range(there, n))
        for i in range((n + width - 1) // width if width else 0):
            os.mkdir(f"{at}/{i}")
        for i in self.there:
            os.close(write(self.path(i), self.size(), self.rng))

    def path(self, i):
        return name(self.at, i, self.width)

    def size(self):
        return int(self.rng.gammavariate(1.5, self.mean / 1.5)) + 1

    def take(self, of):
        k = self.rng.randrange(len(of))
        of[k], of[-1] = of[-1], of[k]
        return of.pop()

    def delete(self):
        i = self.take(self.there)
        os.unlink(self.path(i))
        self.absent.append(i)

    def create(self, n=None, sync=False):
        i = self.take(self.absent)
        fd = write(self.path(i), n or self.size(), self.rng)
        if sync:
            os.fsync(fd)
        os.close(fd)
        self.there.append(i)

    def some(self):
        return self.path(self.rng.choice(self.there))

    def append(self, sync=False):
        fd = write(self.some(), self.rng.randint(1, 16384), self.rng, os.O_APPEND)
        if sync:
            os.fsync(fd)
        os.close(fd)

    def read(self):
        with open(self.some(), "rb") as f:
            f.read()


def each(n, *steps):
    def run(files):
        for _ in range(n // FEWER):
            for step in steps:
                step(files)

    return run


def small(files):
    return files.rng.randint(1, 16384)


def directories(make):
    def run(files):
        for i in range(3000 // FEWER):
            (os.mkdir if make else os.rmdir)(f"{files.at}/{i // 100}/d{i}")

    return run


def with_directories(at):
    files = Files(at, 3000, 0, 100, 0)
    directories(True)(files)
    return files


WORKS = {
    "create": (
        lambda at: Files(at, 4000, 2000, 0, 4096),
        each(2000, lambda f: f.create(4096, sync=True)),
    ),
    "delete": (lambda at: Files(at, 4400, 4400, 100, 4096), each(4000, Files.delete)),
    "mkdir": (lambda at: Files(at, 3000, 0, 100, 0), directories(True)),
    "rmdir": (with_directories, directories(False)),
    "varmail": (
        lambda at: Files(at, 3000, 2400, 0, 16384),
        each(
            800,
            Files.delete,
            lambda f: f.create(small(f), sync=True),
            Files.read,
            lambda f: f.append(sync=True),
            Files.read,
        ),
    ),
    "fileserver": (
        lambda at: Files(at, 1000, 800, 20, 131072),
        each(
            800,
            Files.create,
            Files.append,
            Files.read,
            Files.delete,
            lambda f: os.stat(f.some()),
        ),
    ),
    "webproxy": (
        lambda at: Files(at, 3000, 2400, 0, 16384),
        each(2000, Files.delete, lambda f: f.create(small(f)), *[Files.read] * 5),
    ),
    "webserver": (
        lambda at: Files(at, 3000, 3000, 20, 16384),
        each(
            500,
            *[Files.read] * 10,
            lambda f: os.close(write(f"{f.at}/log", small(f), f.rng, os.O_APPEND | os.O_CREAT)),
        ),
    ),
}


def run(*argv, **more):
    return subprocess.run(argv, check=True, capture_output=True, text=True, **more).stdout


class Kernel:
    """ext4 with inodes as large as ours, made at once and not later."""

    def __init__(self, place):
        self.at = f"{place}/kernel"
        image = f"{place}/image"
        with open(image, "wb") as f:
            f.truncate(SIZE)
        lazy = "lazy_itable_init=0,lazy_journal_init=0,nodiscard"
        run("mkfs.ext4", "-q", "-I", "128", "-E", lazy, image)
        os.mkdir(self.at)
        self.loop = run("losetup", "-f", "--show", image).strip()

    def written(self):
        with open(f"/sys/block/{os.path.basename(self.loop)}/stat", encoding="ascii") as f:
            return int(f.read().split()[6]) // 8

    def mount(self):
        self.before = self.written()
        run("mount", "-t", "ext4", self.loop, self.at)

    def unmount(self):
        run("umount", self.at)
        return self.written() - self.before

    def close(self):
        subprocess.run(["umount", "-q", self.at], check=False)
        run("losetup", "-d", self.loop)


class Ours:
    """The design ext4-like by FUSE."""

    def __init__(self, place, annex):
        self.at, self.disk, self.annex = f"{place}/ours", f"{place}/disk", annex
        run(annex, "fs", "mkfs", "--size", str(SIZE), "--design", "ext4-like", self.disk)
        os.mkdir(self.at)
        self.server = None

    def mount(self):
        options = ["--cache", "1G", "--foreground", "--report", "--json"]
        uri = f"cxlssd:{self.disk}?durable=model"
        self.server = subprocess.Popen(
            [self.annex, "fs", "mount", *options, uri, self.at], stdout=subprocess.PIPE, text=True
        )
        while not os.path.ismount(self.at):
            if self.server.poll() is not None:
                sys.exit("fs_kernel.py: it cannot be mounted")

    def unmount(self):
        run("fusermount3", "-u", self.at)
        report = json.loads(self.server.communicate()[0])
        return report["flash_pages"]

    def close(self):
        if os.path.ismount(self.at):
            run("fusermount3", "-u", "-z", self.at)
            self.server.communicate()


def measure(fs, work):
    make, play = WORKS[work]
    fs.mount()
    files = make(fs.at)
    fs.unmount()
    fs.mount()
    play(files)
    return fs.unmount()


def compare(build, work):
    blocks = []
    for kind in (lambda p: Kernel(p), lambda p: Ours(p, f"{build}/annex")):
        place = tempfile.mkdtemp(prefix="annex-kernel-")
        try:
            fs = kind(place)
            try:
                blocks.append(measure(fs, work))
            finally:
                fs.close()
        finally:
            shutil.rmtree(place)
    return blocks


def main():
    build = sys.argv[1]
    if os.geteuid() or not shutil.which("mkfs.ext4") or not os.path.exists("/dev/fuse"):
        print("the kernel's ext4 beside it: skipped, needs root, mkfs.ext4 and /dev/fuse")
        return
    rows = []
    print(f"{'blocks written':16}{'ext4':>10}{'ext4-like':>11}{'ratio':>8}")
    for work in sys.argv[2:] or WORKS:
        kernel, ours = compare(build, work)
        rows.append({"work": work, "ext4": kernel, "ext4_like": ours, "ratio": ours / kernel})
        print(f"{work:16}{kernel:10}{ours:11}{ours / kernel:8.2f}", flush=True)
    with open(f"{place(build)}/fs_kernel.json", "w", encoding="ascii") as f:
        json.dump(rows, f, indent=2)


main()
