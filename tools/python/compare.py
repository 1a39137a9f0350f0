#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Train a model with no offload, with PyTorch's save_on_cpu, and with annex.offload: a table.

    compare.py --model transformer --memory 64M --storage file:/data/annex.img

Each way runs in a process of its own, on the same numbers. "malloc" is no offload with the setting
of malloc that annex.offload makes, which alone saves some memory. CPU is of the whole process.
"""
import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

WAYS = ("none", "malloc", "save_on_cpu", "annex")
MIB = 1 << 20


def transformer(torch):
    layer = torch.nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True)
    model = torch.nn.Sequential(torch.nn.Embedding(1000, 256),
                                torch.nn.TransformerEncoder(layer, 6), torch.nn.Linear(256, 1000),
                                torch.nn.Flatten(0, 1))
    tokens = torch.randint(1000, (16, 128))
    return model, tokens, tokens.flatten()


def convnet(torch):
    layers, channels = [], 3
    for width in (32, 64, 128):
        for _ in range(3):
            layers += [torch.nn.Conv2d(channels, width, 3, padding=1),
                       torch.nn.BatchNorm2d(width), torch.nn.ReLU()]
            channels = width
        layers.append(torch.nn.MaxPool2d(2))
    model = torch.nn.Sequential(*layers, torch.nn.Flatten(), torch.nn.Linear(128 * 8 * 8, 100))
    return model, torch.randn(64, 3, 64, 64), torch.randint(100, (64,))


def mlp(torch):
    layers = []
    for _ in range(8):
        layers += [torch.nn.Linear(1024, 1024), torch.nn.GELU(), torch.nn.LayerNorm(1024)]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(1024, 100))
    return model, torch.randn(2048, 1024), torch.randint(100, (2048,))


MODELS = {"transformer": transformer, "convnet": convnet, "mlp": mlp}


def peak():
    """The most memory that this process has had, in bytes."""
    with open("/proc/self/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) * 1024


def run(args):
    """One way, in this process."""
    import torch
    around = contextlib.nullcontext()
    if args.way == "annex":
        import annex
        around = annex.offload(args.memory, args.storage)
    elif args.way == "save_on_cpu":
        around = torch.autograd.graph.save_on_cpu()
    torch.manual_seed(1)
    model, x, target = MODELS[args.model](torch)
    optimizer = torch.optim.Adam(model.parameters())
    losses, times, base = [], [], peak()
    with around as it:
        for _ in range(args.iterations):
            start = time.perf_counter()
            optimizer.zero_grad(set_to_none=True)
            loss = torch.nn.functional.cross_entropy(model(x), target)
            loss.backward()
            optimizer.step()
            losses.append(loss.item().hex())
            times.append(time.perf_counter() - start)
        most = peak()
        stats = it.stats() if args.way == "annex" else None
    cpu = sum(os.times()[:2])
    print(json.dumps({"way": args.way, "losses": losses, "seconds": statistics.median(times),
                      "cpu": cpu, "peak": most, "base": base, "stats": stats and dict(stats)}))


def measure(args, way):
    environment = dict(os.environ)
    if way == "malloc":
        environment["MALLOC_MMAP_THRESHOLD_"] = str(1 << 17)
    command = [sys.executable, os.path.abspath(__file__), "--way", way, "--model", args.model,
               "--memory", args.memory, "--storage", args.storage,
               "--iterations", str(args.iterations)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit(f"compare: {way} failed")
    return json.loads(done.stdout)


def table(args, results):
    none = results[0]
    print(f"{args.model}, {args.iterations} iterations, memory {args.memory}, {args.storage}")
    print(f"{'':12} {'peak':>9} {'over base':>10} {'iteration':>10} {'time':>6} {'CPU':>8}  losses")
    for result in results:
        same = "the same" if result["losses"] == none["losses"] else "DIFFERENT"
        print(f"{result['way']:12} {result['peak'] // MIB:5} MiB "
              f"{(result['peak'] - result['base']) // MIB:6} MiB {result['seconds']:8.3f} s "
              f"{result['seconds'] / none['seconds']:5.2f}x {result['cpu']:6.1f} s  {same}")
    stats = results[-1]["stats"]
    print(f"annex wrote {stats['out'] // MIB} MiB, read {stats['in'] // MIB} MiB, and waited "
          f"{stats['stall_s']:.3f} s of its last iteration")


class Parser(argparse.ArgumentParser):
    def error(self, message):
        sys.exit(f"compare: {message}")


def main():
    parser = Parser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="transformer", choices=sorted(MODELS))
    parser.add_argument("--memory", default="64M", help="device memory of annex.offload (64M)")
    parser.add_argument("--storage", help="of annex.offload (a file in the current directory)")
    parser.add_argument("--iterations", type=int, default=5, help="of each way (5)")
    parser.add_argument("--json", action="store_true", help="all results instead of a table")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.iterations < 1:
        parser.error("one iteration at least")
    if args.way:
        run(args)
        return
    with tempfile.TemporaryDirectory(dir=".") as scratch:
        args.storage = args.storage or f"file:{os.path.abspath(scratch)}/annex.img"
        results = [measure(args, way) for way in WAYS]
    if args.json:
        print(json.dumps({"model": args.model, "memory": args.memory, "storage": args.storage,
                          "iterations": args.iterations, "ways": results}))
    else:
        table(args, results)
    if any(result["losses"] != results[0]["losses"] for result in results):
        sys.exit("compare: the losses differ")


if __name__ == "__main__":
    main()
