# SPDX-License-Identifier: MIT
"""Figures with goals, printed as they are found and written as JSON; the form that is asked for.

SMOKE=1 in the environment asks for the smoke form: every measurement once and as small as it gets,
to see that it works. Data are verified as always; met.py judges no figure.
"""
import json
import math
import os
from collections import namedtuple

SMOKE = bool(os.environ.get("SMOKE"))
WORDS = {True: "met", False: "MISSED", None: ""}


def sized(full, smoke):
    """Of a measurement, in the form that is asked for."""
    return smoke if SMOKE else full


def place(out):
    """The folder for figures. Figures of the smoke form mean nothing and have their own."""
    folder = f"{out}/bench" + sized("", "/smoke")
    os.makedirs(folder, exist_ok=True)
    return folder


def kept_reports(path, program):
    """Reports that were kept since the program was built; none in the smoke form."""
    if SMOKE or not os.path.exists(path) or os.path.getmtime(path) <= os.path.getmtime(program):
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


Goal = namedtuple("Goal", "target least most words")


def within(target, share, points=0):
    """A value that may be off by a share of it, or by points."""
    off = max(abs(target) * share, points)
    words = f"{points:g} points" if off == points else f"{100 * share:g} %"
    return Goal(target, target - off, target + off, f"{target:g} within {words}")


def at_least(target):
    """A lower bound."""
    return Goal(target, target, math.inf, f">= {target:g}")


def at_most(target):
    """An upper bound."""
    return Goal(target, -math.inf, target, f"<= {target:g}")


def between(target, least, most):
    """A range around a value."""
    return Goal(target, least, most, f"{target:g}, from {least:g} to {most:g}")


class Figures:
    """Figures with goals, printed as they are found; those without are yardsticks."""

    def __init__(self):
        self.list = []
        self.command = ""

    def add(self, name, value, unit, goal=None):
        """Print and keep a figure."""
        met = goal.least <= value <= goal.most if goal and not SMOKE else None
        self.list.append({"figure": name, "value": round(value, 6), "unit": unit,
                          "target": goal.target if goal else None, "met": met,
                          "command": self.command})
        line = f"{name:<72} {value:11.3f} {unit:<7}"
        if goal:
            line += f" {goal.words:<24} {WORDS[met]}"
        print(line.rstrip(), flush=True)

    def write(self, path):
        """The file that met.py reads."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.list, file, indent=2)
            file.write("\n")
