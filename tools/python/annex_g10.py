#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make an annex-trace/1 file of a folder that the program of G10's public artifact has written.

    annex_g10.py results/BERT_Base/256-lru/statistics -o bert-256.json \\
        --faults results/BERT_Base/cudnn256PF.txt --model BERT --batch 256

Tensors are read from tensors.config, kernels from kernels.config. The artifact is
github.com/platformxlab/G10; its README explains how to run it.
"""
import argparse
import json
import os
import re
import stat
import sys

TENSOR = re.compile(r"tensor(\d{1,9}) Is weight \(global\)\?: ([01]), "
                    r"Size in byte: (\d{1,16}), Range:\d{1,18}--\d{1,18}")
KERNEL = re.compile(r"Kernel ID: (\d{1,9}), Name: ([A-Za-z0-9_]{1,64})")
TIME = re.compile(r"Execution Time: (\d{1,16})")
# The layer that a kernel belongs to, the sizes of its input, and the line between kernels.
ASIDE = re.compile(r"Parent (Layer|OP) ID:.*|\([-\d,]*\)|_+|")
FAULT = re.compile(r"(\d{1,9}) (\d{1,9}(?:\.\d{1,9})?) ms")
LISTS = {"Input Tensors:": "in", "Output Tensors:": "out"}
# Limits of a trace (annex/trace.h): of all its tensors, of all its kernels, of their lists.
MOST_TENSORS = 1 << 22
MOST_BYTES = 1 << 50
MOST_KERNELS = 1 << 22
MOST_NS = 1 << 53
MOST_USES = 1 << 26


class Refused(Exception):
    """A file is not as the artifact writes it, or cannot be written; the text says where."""


def lines_of(path):
    """The lines of a file, each with its place for messages."""
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            yield f"{path}: line {number}", line.strip()


def read_tensors(path):
    """Each tensor's number in the trace, size and kind, by its number in the artifact."""
    tensors, total = {}, 0
    for place, line in lines_of(path):
        match = TENSOR.fullmatch(line)
        if not match:
            raise Refused(f"{place}: no tensor of the artifact")
        name, is_global, size = (int(part) for part in match.groups())
        if name in tensors:
            raise Refused(f"{place}: tensor{name} appears twice")
        if not size:
            raise Refused(f"{place}: tensor{name} has 0 bytes")
        if len(tensors) == MOST_TENSORS:
            raise Refused(f"{place}: more than {MOST_TENSORS} tensors")
        total += size
        if total > MOST_BYTES:
            raise Refused(f"{place}: with tensor{name} all tensors have more than {MOST_BYTES} "
                          "bytes")
        tensors[name] = (len(tensors), size, bool(is_global))
    return tensors


def read_use(place, match, tensors):
    """The number in the trace of a tensor in a kernel's list."""
    name, is_global, size = (int(part) for part in match.groups())
    if name not in tensors:
        raise Refused(f"{place}: tensor{name} is not in tensors.config")
    if tensors[name][1:] != (size, bool(is_global)):
        raise Refused(f"{place}: tensor{name} is another one in tensors.config")
    return tensors[name][0]


def read_kernels(path, tensors, ghz):
    """The kernels, as a trace has them."""
    kernels, uses, total, n_uses = [], None, 0, 0
    for place, line in lines_of(path):
        kernel, time, tensor = (p.fullmatch(line) for p in (KERNEL, TIME, TENSOR))
        if kernel:
            if int(kernel[1]) != len(kernels):
                raise Refused(f"{place}: kernel {len(kernels)} should follow")
            if len(kernels) == MOST_KERNELS:
                raise Refused(f"{place}: more than {MOST_KERNELS} kernels")
            kernels.append({"name": kernel[2], "ns": None, "in": [], "out": []})
            uses = None
        elif time and kernels:
            if kernels[-1]["ns"] is not None:
                raise Refused(f"{place}: kernel {len(kernels) - 1} has a time already")
            kernels[-1]["ns"] = round(int(time[1]) / ghz)
            total += kernels[-1]["ns"]
            if total > MOST_NS:
                raise Refused(f"{place}: all kernels take more than {MOST_NS} ns")
        elif line in LISTS and kernels:
            uses = kernels[-1][LISTS[line]]
        elif tensor and uses is not None:
            uses.append(read_use(place, tensor, tensors))
            n_uses += 1
            if n_uses > MOST_USES:
                raise Refused(f"{place}: all kernels use more than {MOST_USES} tensors")
        elif not ASIDE.fullmatch(line):
            raise Refused(f"{place}: neither a kernel, its time, nor a tensor of it")
    for number, kernel in enumerate(kernels):
        if kernel["ns"] is None:
            raise Refused(f"{path}: kernel {number} ({kernel['name']}) has no time")
    if not kernels:
        raise Refused(f"{path}: no kernels")
    return kernels


def add_faults(path, kernels):
    """To each kernel its time when all of its data is absent, never less than when all is there."""
    number = -1
    for number, (place, line) in enumerate(lines_of(path)):
        match = FAULT.fullmatch(line)
        if not match or int(match[1]) != number:
            raise Refused(f"{place}: no time of kernel {number}")
        if number == len(kernels):
            raise Refused(f"{place}: there are {number} kernels")
        kernel = kernels[number]
        kernel["fault_ns"] = max(kernel["ns"], round(float(match[2]) * 1e6))
    if number + 1 < len(kernels):
        raise Refused(f"{path}: no time of kernel {number + 1}")


def write(file, head, tensors, kernels):
    """The trace, a line for each tensor and kernel."""
    def compact(value):
        return json.dumps(value, separators=(",", ":"))
    rows = [compact({"id": number, "bytes": size, "global": is_global})
            for number, size, is_global in tensors.values()]
    head = compact({"format": "annex-trace/1", **head})[:-1]
    file.write(f'{head},\n "tensors":[\n  ' + ",\n  ".join(rows) + '\n ],\n "kernels":[\n  '
               + ",\n  ".join(map(compact, kernels)) + "\n ]\n}\n")


def is_stream(path):
    """Whether it is a terminal, a pipe or the like, which is written to and not replaced."""
    mode = os.stat(path).st_mode if os.path.exists(path) else 0
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def check_output(path, overwrite):
    """As annex trace gen: a file is replaced only when the user says so."""
    if os.path.lexists(path) and not is_stream(path):
        if os.path.islink(path) or not os.path.isfile(path):
            raise Refused(f"{path} already exists, and is not a regular file: choose another name")
        if not overwrite:
            raise Refused(f"{path} already exists: remove it, choose another name, or give "
                          "--overwrite")


def save(path, *trace):
    """A file appears when it is complete."""
    name = path if is_stream(path) else f"{path}.{os.getpid()}"
    try:
        with open(name, "w", encoding="ascii") as file:
            write(file, *trace)
        if name != path:
            os.replace(name, path)
    except OSError as failure:
        raise Refused(f"cannot write {path}: {failure.strerror}") from None
    finally:
        if name != path and os.path.exists(name):
            os.remove(name)


def clock(text):
    """A clock in GHz."""
    value = float(text)
    if not 0.001 <= value <= 1000:
        raise ValueError
    return value


def batch(text):
    """Samples in a batch."""
    value = int(text)
    if not 1 <= value < 1 << 63:
        raise ValueError
    return value


def main():
    parser = argparse.ArgumentParser(prog="annex_g10", description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("folder", help="with tensors.config and kernels.config")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the trace")
    parser.add_argument("--overwrite", action="store_true", help="replace a file of that name")
    parser.add_argument("--faults", metavar="FILE",
                        help="cudnnBATCHPF.txt: the times of kernels with page faults")
    parser.add_argument("--ghz", type=clock, default=1.2,
                        help="the GPU's clock in the artifact's configuration (1.2)")
    parser.add_argument("--model", help="name of the model, for people")
    parser.add_argument("--batch", type=batch, metavar="N", help="samples in a batch")
    args = parser.parse_args()
    if any("\ud800" <= c <= "\udfff" for c in args.model or ""):  # os.fsdecode() of other bytes
        raise Refused("--model: the name is not UTF-8")
    check_output(args.output, args.overwrite)
    head = {key: value for key, value in (("model", args.model), ("batch", args.batch)) if value}
    tensors = read_tensors(os.path.join(args.folder, "tensors.config"))
    kernels = read_kernels(os.path.join(args.folder, "kernels.config"), tensors, args.ghz)
    if args.faults:
        add_faults(args.faults, kernels)
    save(args.output, head, tensors, kernels)


if __name__ == "__main__":
    try:
        main()
    except (Refused, OSError) as failure:
        sys.exit(f"annex_g10: {failure}")
