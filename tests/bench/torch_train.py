# SPDX-License-Identifier: MIT
"""One way to train a model, in this process: torch_train.py JOB, a JSON object; prints another.

  way        plain, checkpoint, swap, none, uvm, annex; early: annex, and the optimizer steps in
             backward; or base: only load everything; or
             operator: seconds of one with annex, and without
  model      of torch_models.py, with its sizes, and batch; operators: how many are timed
  memory     bytes of device memory; storage: for annex; group: the cgroup of swap
"""
import contextlib
import json
import os
import statistics
import sys
import time

sys.path.insert(1, os.path.join(os.path.dirname(__file__), "../../tools/python"))
import torch  # noqa: E402
import annex  # noqa: E402
from annex import block, library, native  # noqa: E402
import torch_models  # noqa: E402

PLANNED = "annex", "early", "uvm"
STEADY = 5  # iterations that are measured
BLOCKS = 15  # in which operators are measured
WARM = 3  # iterations before them, without a plan
TRIES = 200  # iterations in which a plan must have come
FLOATS = 1 << 14  # of an operator
SIDE = 256  # of a matrix that is not small
PAGE = 4096
KIB = 1024


def peak():
    """The most memory that this process has had, in bytes."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) * KIB


def swapped():
    """Bytes that the machine has read from swap and written to it."""
    with open("/proc/vmstat", encoding="ascii") as file:
        counts = dict(line.split() for line in file)
    return int(counts["pswpin"]) * PAGE, int(counts["pswpout"]) * PAGE


def join(group):
    """From now on, what this process takes counts against the group's limit."""
    with open(os.path.join(group, "cgroup.procs"), "w", encoding="ascii") as file:
        file.write("0")


def plan_of(it):
    """The plan in use: its kernels, and seconds of an iteration: simulated_s, by its simulation;
    bound_s, that no plan is below; ideal_s, without waits.
    """
    plan = it.plan()
    if not plan:
        sys.exit("torch_train: the plan has gone: run it again")
    return {key: plan[key] for key in ("kernels", "ideal_s", "simulated_s", "bound_s")}


def surroundings(job):
    if job["way"] in (*PLANNED, "none"):
        return annex.offload(device_memory=job["memory"], storage=job["storage"],
                             policy="annex" if job["way"] == "early" else job["way"])
    return contextlib.nullcontext()


class Training:
    """The iterations of a job. @done: of each its start, seconds, bytes in and out, loss, and the
    kernel's processor time until its end.
    """

    def __init__(self, job):
        torch.manual_seed(1)
        self.way = job["way"]
        self.model, self.x, self.target = torch_models.MODELS[job["model"]](
            job["batch"], **job["sizes"])
        self.model.recompute = self.way == "checkpoint"
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        if self.way == "early":
            self.steps = annex.step_in_backward(self.optimizer)
        self.done, self.planned = [], []

    def iterate(self, it):
        start = time.perf_counter()
        self.optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(self.model(self.x), self.target)
        loss.backward()
        self.optimizer.step()
        loss = loss.item().hex()
        seconds = time.perf_counter() - start
        stats = it.stats() if it else {}
        moved = (stats.get("in", 0), stats.get("out", 0)) if self.way != "swap" else swapped()
        self.done.append((start, seconds, *moved, loss, os.times().system))
        self.planned.append(stats.get("planned", False))

    def is_steady(self):
        if self.way in PLANNED:
            return len(self.planned) > STEADY and all(self.planned[-STEADY - 1:])
        return len(self.done) == WARM + STEADY

    def run(self, it):
        while not self.is_steady():
            if len(self.done) == TRIES:
                sys.exit(f"torch_train: no plan in {TRIES} iterations: give a smaller model")
            self.iterate(it)
        return self.report(it)

    def report(self, it):
        last, before = self.done[-STEADY:], self.done[-STEADY - 1]
        result = {"seconds": statistics.median(d[1] for d in last),
                  "in": (last[-1][2] - before[2]) // STEADY,
                  "out": (last[-1][3] - before[3]) // STEADY,
                  "system": (last[-1][5] - before[5]) / STEADY,
                  "losses": [d[4] for d in self.done], "peak": peak()}
        if self.way in PLANNED:
            first = self.planned.index(True)
            result.update(plan_of(it), recorded=first,
                          until_plan=it.stats()["until_plan_s"],
                          longest=max(d[1] for d in self.done[:first]))
        return result


def operator(job):
    """Seconds that an operator takes longer with annex, when all its tensors are there."""
    x, y = torch.ones(FLOATS), torch.ones(FLOATS)

    def seconds():
        start = time.perf_counter()
        for _ in range(job["operators"]):
            x.add_(y)
        return (time.perf_counter() - start) / job["operators"]

    longer = []
    for _ in range(BLOCKS):
        plain = seconds()
        with surroundings(dict(job, way="annex")) as it:
            if it.stats()["moved"] < 2:
                sys.exit("torch_train: the operator's tensors stayed where they were")
            seconds()  # pages come
            longer.append(seconds() - plain)
    return {"seconds": statistics.median(longer)}


def load():
    """All that is loaded when it is first used, by PyTorch too."""
    native.Native.load(library.Library(), block.hear, block.move_used)
    tiny = {"way": "plain", "model": "gpt", "batch": 1,
            "sizes": {"width": 4, "layers": 1, "heads": 1, "length": 2, "words": 4}}
    Training(tiny).iterate(None)
    matrix = torch.ones(SIDE, SIDE)
    matrix.mm(matrix)  # BLAS has its buffers from now on


def main():
    job = json.loads(sys.argv[1])
    torch.set_num_threads(job["threads"])
    load()
    if job["way"] == "base":
        result = {"peak": peak()}
    elif job["way"] == "operator":
        result = operator(job)
    else:
        if job["way"] == "swap":
            join(job["group"])
        with surroundings(job) as it:
            result = Training(job).run(it)
    print(json.dumps(result))


if __name__ == "__main__":
    try:
        main()
    except (annex.Error, native.Unavailable) as failure:
        sys.exit(f"torch_train: {failure}")
