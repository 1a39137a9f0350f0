#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Figures from the logs of guests: qemu.py DIR COMMAND GROUP... See qemu.sh."""
import statistics
import sys
from figures import Figures, at_least
from figures import at_most as upper

folder, command, *groups = sys.argv[1:]
figures = Figures()
figures.command = command


def figure(name, value, unit, target=None, at_most=False):
    """Print and keep a figure."""
    goal = upper if at_most else at_least
    figures.add(name, value, unit, None if target is None else goal(target))


def lines(name):
    """What a boot has measured, in words."""
    with open(f"{folder}/{name}.log", encoding="utf-8") as log:
        for line in log:
            words = line.split()
            if words[:2] == ["#", "bench"]:
                yield words[2:]


def read(iommu):
    """The runs of a boot: side and size to lists of (rate, time a command)."""
    runs = {}
    for side, size, rate, time in lines(f"qemu-iommu{iommu}"):
        runs.setdefault((side, size), []).append((float(rate), float(time)))
    return runs


def read_hdm(iommu):
    """The medians of what a boot has measured of CXL memory: side to numbers."""
    runs = {}
    for side, *numbers in lines(f"qemu-hdm-iommu{iommu}"):
        runs.setdefault(side, []).append([float(number) for number in numbers])
    return {side: [statistics.median(column) for column in zip(*rows)]
            for side, rows in runs.items()}


def medians(runs, side, size):
    """Median rate, and median time of the processors for each command."""
    rates, times = zip(*runs[side, size])
    return statistics.median(rates), statistics.median(times)


BEST = {(1, "4096"): 2.0}
FIO = {"fio": "fio io_uring", "fio-hipri": "fio io_uring, polling",
       "cmd": "fio io_uring_cmd", "cmd-hipri": "fio io_uring_cmd, polling"}
TARGETS = {(0, "4096"): 1.5, (0, "512"): 1.5, (1, "4096"): 2.5, (1, "512"): None}


def nvme(iommu):
    """The module against fio on the kernel's driver."""
    boot = read(iommu)
    for size in ("4096", "512"):
        where = f"{size} B" + (", strict virtual IOMMU" if iommu else "")
        rate, time = medians(boot, "annex", size)
        sides = {side: medians(boot, side, size) for side in FIO}
        for side, name in FIO.items():
            figure(f"{where}: {name}", sides[side][0] / 1e3, "k/s")
        figure(f"{where}: annex, verified", rate / 1e3, "k/s")
        # The faster settings of fio, and the one that costs least.
        better, best = (max(sides[side][0] for side in of) for of in (list(FIO)[:2], FIO))
        cheap = min(time for _, time in sides.values())
        figure(f"{where}: annex / better fio, io_uring", rate / better, "x", TARGETS[iommu, size])
        figure(f"{where}: annex / best fio", rate / best, "x", BEST.get((iommu, size)))
        figure(f"{where}: time of the processors, annex", time * 1e6, "us")
        figure(f"{where}: time of the processors, cheaper fio", cheap * 1e6, "us")
        figure(f"{where}: annex / cheaper fio", time / cheap, "x", 0.6, True)


def passed_on(group, drive):
    """A drive of the kernel's, against fio, which passes commands on in the same way."""
    runs = {}
    for side, _, rate, time in lines(f"qemu-{group}"):
        runs.setdefault(side, []).append((float(rate), float(time)))
    sides = {side: [statistics.median(column) for column in zip(*rows)]
             for side, rows in runs.items()}
    for side, name in (("fio", "fio io_uring_cmd"), ("fio-batch", "fio io_uring_cmd, 32 at once"),
                       ("annex", "annex")):
        figure(f"{drive}: 4096 B: {name}", sides[side][0] / 1e3, "k/s")
        figure(f"{drive}: 4096 B: time of the processors, {name}", sides[side][1] * 1e6, "us")
    best = max(sides["fio"][0], sides["fio-batch"][0])
    cheap = min(sides["fio"][1], sides["fio-batch"][1])
    figure(f"{drive}: 4096 B: annex / better fio", sides["annex"][0] / best, "x", 1.0)
    figure(f"{drive}: 4096 B: annex / cheaper fio", sides["annex"][1] / cheap, "x",
           1.0 if group == "ng" else None, True)


def hdm(iommu):
    """CXL memory that a controller reads into, against DRAM and a copy."""
    boot = read_hdm(iommu)
    where = "CXL memory" + (", strict virtual IOMMU" if iommu else "")
    seconds, size = boot["hdm-open"]
    figure(f"{where}: open to usable range of {size / 2**20:.0f} MiB", seconds, "s", 0.5, True)
    for side, name in (("hdm-direct", "NVMe read"), ("hdm-copy", "NVMe read to DRAM, copy")):
        rate, time, copied = boot[side]
        figure(f"{where}: {name}", rate / 1e6, "MB/s")
        figure(f"{where}: {name}, processors", time * 2**20 * 1e6, "us/MiB")
        figure(f"{where}: {name}, copied by the CPU", copied, "B/B",
               0 if side == "hdm-direct" else None, True)


def large():
    """A range of many pages. Least times: the emulator is held up by others."""
    runs = {}
    for side, *numbers in lines("qemu-large"):
        runs.setdefault(side, []).append([float(number) for number in numbers])
    least = {side: [min(column) for column in zip(*rows)] for side, rows in runs.items()}
    small, big = least["large-4"][0], least["large-64"][0]
    figure("range of 4 GiB: open", small, "s")
    figure("range of 64 GiB: open", big, "s")
    figure("range of 64 GiB: open, against 4 GiB", big / small, "x", 20, True)
    names = ("nothing happens", "a range of 64 GiB is made", "its last page is in a pipe",
             "it is cut")
    for name, wait in zip(names, least["large-hold"]):
        figure(f"others' longest wait for the lock: {name}", wait * 1e3, "ms",
               1 if "pipe" in name else None, True)


def mapping():
    """Memory that is mapped for a controller, and unmapped, behind an IOMMU."""
    for _, name, size, to_map, to_unmap, _ in lines("qemu-map"):
        where = f"{int(size)} MiB of {PAGES[name]}"
        figure(f"{where}: map", float(to_map) / 1e3, "ms")
        figure(f"{where}: unmap", float(to_unmap) / 1e3, "ms")


PAGES = {"small": "4 KiB pages", "huge": "transparent huge pages", "hugetlb": "hugetlbfs pages"}

for group in groups:
    if group == "map":
        mapping()
        continue
    if group == "large":
        large()
        continue
    if group in ("ng", "nvmf"):
        passed_on(group, {"ng": "ng", "nvmf": "ng, by NVMe/TCP"}[group])
        continue
    for has_iommu in (0, 1):
        {"nvme": nvme, "hdm": hdm}[group](has_iommu)
figures.write(f"{folder}/qemu.json")
