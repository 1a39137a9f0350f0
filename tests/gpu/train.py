# SPDX-License-Identifier: MIT
"""A model like GPT is trained on a GPU whose memory is made small by annex.offload, beside all in
memory and PyTorch's save_on_cpu: train.py [--twin] RESULTS.

Each way is a process of its own. RESULTS gets a line of JSON for each claim and figure. --twin: a
small one on the CPU, in frames of the host's (tests/torch/frames.py), without figures. --check only
prepares the package's compiled part, or names the missing package in one line (exit 77).
"""
import argparse
import contextlib
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in "../../tools/python", "../torch", "../bench":
    sys.path.insert(0, os.path.join(HERE, folder))

SKIP = 77
WAYS = "plain", "again", "save_on_cpu", "annex"
LEAST, MOST = 4, 14  # iterations; more than the least only until there is a plan
SECONDS = 60  # after which no other iteration begins
LIMIT = 120  # of a process
# About 40 GiB: parameters, gradients and state are half of it, saved tensors the rest.
LARGE = {"batch": 4, "width": 2048, "layers": 24, "heads": 16, "length": 1024, "words": 50304}
SMALL = {"batch": 2, "width": 128, "layers": 3, "heads": 4, "length": 64, "words": 500}
ON_GPU = {"device_memory": "16G", "storage": "mem:16G", "host": "40G", "device": "cuda"}
ON_HOST = {"device_memory": "4M", "storage": "mem:64M"}


def missing(twin):
    """What there has to be and is not; None: nothing."""
    try:
        import torch
        from annex import native
    except ImportError as error:
        return f"no PyTorch here: {error}"
    if not twin and not torch.cuda.is_available():
        return "no PyTorch here that finds a GPU of CUDA"
    try:
        native.built(not twin)
    except native.Unavailable as reason:
        return str(reason)
    return None


@contextlib.contextmanager
def around(way, twin):
    """What a way is; annex.offload's block, or None."""
    import annex
    import frames
    import torch
    if way == "save_on_cpu":
        with torch.autograd.graph.save_on_cpu(pin_memory=not twin):
            yield None
    elif way == "annex":
        with frames.instead() if twin else contextlib.nullcontext():
            with annex.offload(**(ON_HOST if twin else ON_GPU), progress=False) as it:
                yield it
    else:
        yield None


def used(twin):
    """Bytes of the GPU's memory in use by all processes."""
    import torch
    if twin:
        return 0
    free, total = torch.cuda.mem_get_info()
    return total - free


def iterations(it, twin, before):
    """Losses, seconds of each iteration, and other figures."""
    import torch
    from torch_models import gpt
    model, tokens, target = gpt(**(SMALL if twin else LARGE))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    report = {"losses": [], "seconds": [], "used": 0, "plan": None}
    end = time.monotonic() + SECONDS
    while len(report["losses"]) < (MOST if it else LEAST) and time.monotonic() < end:
        begun = time.monotonic()
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(tokens), target)
        loss.backward()
        optimizer.step()
        report["losses"].append(loss.item())
        if not twin:
            torch.cuda.synchronize()
        report["seconds"].append(time.monotonic() - begun)
        report["used"] = max(report["used"], used(twin) - before)
        if it and it.stats()["planned"]:
            report["plan"] = len(report["losses"])
            if len(report["losses"]) > LEAST:
                break
    if it:
        report["stats"] = dict(it.stats())
    elif not twin:
        report["tensors"] = torch.cuda.max_memory_allocated()
    return report


def run_way(way, twin):
    import torch
    torch.manual_seed(7)
    if not twin:
        torch.set_default_device("cuda")
        torch.set_float32_matmul_precision("high")
        torch.use_deterministic_algorithms(True, warn_only=True)
    before = used(twin)
    with around(way, twin) as it:
        report = iterations(it, twin, before)
    print(json.dumps(report))


def reports(twin):
    """Of each way, or the last line that it said."""
    found = {}
    env = dict(os.environ, CUBLAS_WORKSPACE_CONFIG=":4096:8")
    for way in WAYS:
        command = [sys.executable, __file__, "--way", way, *["--twin"] * twin, "-"]
        try:
            done = subprocess.run(command, env=env, capture_output=True, text=True, check=False,
                                  timeout=LIMIT)
        except subprocess.TimeoutExpired:
            found[way] = f"it did not end within {LIMIT} s"
            continue
        lines = done.stderr.splitlines()
        if done.returncode:
            found[way] = lines[-1] if lines else f"exit status {done.returncode}"
        else:
            found[way] = json.loads(done.stdout.splitlines()[-1])
    return found


def apart(a, b):
    """By how much the losses of two runs differ, at most."""
    return max(abs(x - y) for x, y in zip(a["losses"], b["losses"]))


def claims(found, twin):
    """Words, whether they hold, and why not."""
    for way in WAYS:
        failed = found[way] if isinstance(found[way], str) else ""
        yield f"training: {way}", not failed, failed
    if any(isinstance(report, str) for report in found.values()):
        return
    plain, own, stats = found["plain"], found["annex"], found["annex"]["stats"]
    # As equal as PyTorch is to itself.
    most = 4 * apart(plain, found["again"])
    yield (f"training: losses equal plain PyTorch's, within {most:g}",
           apart(plain, own) <= most, f"{plain['losses']} and {own['losses']}")
    yield ("training: tensors have left and returned", stats["in"] and stats["out"], f"{stats}")
    yield ("training: never more than device_memory", not stats["over"], f"{stats}")
    yield ("training: a plan is followed", own["plan"] is not None, f"{stats}")
    if not twin:
        yield ("training: tensors are more than twice device_memory",
               plain["tensors"] > 2 * own["stats"]["device"], f"{plain['tensors']}")


def figures(found):
    """Labels, keys, values and units."""
    for way in ("plain", "save_on_cpu", "annex"):
        report = found[way]
        seconds = min(report["seconds"][1:])
        yield f"training, {way}: an iteration", f"train_{way}_s", seconds, "s"
        yield (f"training, {way}: memory of the GPU", f"train_{way}_bytes",
               report["used"] / (1 << 30), "GiB")
    yield ("training: tensors", "train_tensors", found["plain"]["tensors"] / (1 << 30), "GiB")
    stats = found["annex"]["stats"]
    yield ("training, annex: waits for tensors", "train_stall",
           100 * stats["stall_s"] / max(stats["iteration_s"], 1e-9), "%")
    for other in ("plain", "save_on_cpu"):
        yield (f"training: speed of annex / {other}", f"train_annex_{other}",
               min(found[other]["seconds"][1:]) / min(found["annex"]["seconds"][1:]), "")


def compare(path, twin):
    begun, failed = time.monotonic(), 0
    found = reports(twin)
    with open(path, "w", encoding="utf-8") as out:
        for words, holds, why in claims(found, twin):
            line = {"test": words, "passed": bool(holds), "time_s": time.monotonic() - begun}
            if not holds:
                failed += 1
                line["error"] = why
            print("ok" if holds else "not ok", words, *[] if holds else [f": {why}"])
            out.write(json.dumps(line) + "\n")
        if failed or twin:
            return failed > 0
        for label, key, value, unit in figures(found):
            print(f"  {label:<46} {value:12.4g} {unit}")
            out.write(json.dumps({"figure": label, "key": key, "value": value, "unit": unit,
                                  "target": None, "met": None}) + "\n")
    return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("results")
    parser.add_argument("--twin", action="store_true", help="small, on the CPU")
    parser.add_argument("--check", action="store_true", help="name missing packages")
    parser.add_argument("--way", choices=WAYS, help="one way alone, in this process")
    args = parser.parse_args()
    if args.way:
        return run_way(args.way, args.twin)
    why = missing(args.twin)
    if why:
        print(why)
        return SKIP
    return False if args.check else compare(args.results, args.twin)


if __name__ == "__main__":
    sys.exit(main())
