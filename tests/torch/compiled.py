# SPDX-License-Identifier: MIT
"""torch.compile() in annex.offload(device_memory=...): compiled.py DIRECTORY-OF-annex.

For PyTorch 2.6 and later. ANNEX_LIBRARY says which library.
"""
import contextlib
import errno
import gc
import sys
import threading
import time
import warnings

sys.path.insert(0, sys.argv[1])
import torch  # noqa: E402
import annex  # noqa: E402
import claims  # noqa: E402
from claims import alike, claim, summary  # noqa: E402
from models import mlp, numbers, small, transformer  # noqa: E402
from torch._dynamo.utils import counters  # noqa: E402

F = torch.nn.functional
WAIT = 120  # seconds that a plan may take to be made


def whole(memory="24M", storage="mem:256M", **options):
    return annex.offload(device_memory=memory, storage=storage, **options)


def broken(x):
    """One that cannot be compiled as a whole."""
    torch._dynamo.graph_break()
    return x


def counted():
    """Graphs, and why they end where they do."""
    return {name: dict(counters[name]) for name in ("frames", "stats", "graph_break", "resumes")}


def train(make, backend, around, between=lambda x: x):
    """Losses and gradients, all numbers afterwards, and graphs: before, inside and after."""
    torch._dynamo.reset()
    counters.clear()
    torch.manual_seed(7)
    model, x, target = make()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    call = torch.compile(lambda x: F.cross_entropy(between(model(x)) * 2, target), backend=backend)
    seen = []

    def run(count):
        for _ in range(count):
            optimizer.zero_grad()
            loss = call(x)
            loss.backward()
            seen.append(loss.detach().clone())
            seen.extend(p.grad.clone() for p in model.parameters())
            optimizer.step()

    run(1)
    with around as it:
        run(4)
        stats = it.stats() if it else None
    run(1)
    return seen + numbers(model, optimizer), counted(), stats


def compare(words, make, backend, memory="24M", **options):
    plain = train(make, backend, contextlib.nullcontext(), **options)
    values, graphs, stats = train(make, backend, whole(memory), **options)
    claim(f"{words}: the same numbers", alike(plain[0], values))
    claim(f"{words}: the same graphs: {plain[1]}, {graphs}",
          plain[1] == graphs and graphs["stats"]["unique_graphs"] > 0)
    claim(f"{words}: tensors have left: {stats}", stats["out"] > 1 << 20 and stats["over"] == 0 and
          stats["iterations"] == 4)


def check_training():
    for backend in ("inductor", "aot_eager"):
        compare(f"mlp, {backend}", mlp, backend, "8M")
        compare(f"transformer, {backend}", transformer, backend)
        compare(f"graphs that break, {backend}", mlp, backend, "8M", between=broken)
    compare("graphs larger than the memory", mlp, "inductor", "4M")


def check_faults():
    """What a graph touches is there while it runs."""
    model, x, target = mlp()
    call = torch.compile(lambda x: F.cross_entropy(model(x), target))
    faults, brought = [], []

    def measured(work):
        others = [torch.full((1 << 19,), 1.0) for _ in range(8)]  # the model leaves for them
        before = it.stats()
        result = work()
        after = it.stats()
        faults.append(after["faults"] - before["faults"])
        brought.append(after["in"] - before["in"])
        del others
        return result

    with whole("12M", policy="none") as it:
        for _ in range(3):
            model.zero_grad()
            loss = measured(lambda: call(x))
            measured(loss.backward)
    claim(f"graphs bring their tensors: {brought}", min(brought) > 1 << 20)
    claim(f"graphs do not fault: {faults}", not any(faults))


def steps(make, compiled, around):
    """Losses and all numbers afterwards, graphs, and statistics. A block that makes plans goes on
    until there is one.
    """
    torch._dynamo.reset()
    counters.clear()
    torch.manual_seed(7)
    model, x, target = small()
    optimizer = make(model.parameters())
    step = compiled(optimizer)
    seen, stats = [], None
    end = time.monotonic() + WAIT
    with around as it:
        while len(seen) < 6 or it and not stats["planned"] and time.monotonic() < end:
            loss = F.cross_entropy(model(x), target)
            loss.backward()
            step()
            optimizer.zero_grad()
            seen.append(loss.detach().clone())
            stats = it.stats() if it else None
            if len(seen) == 6:
                values = numbers(model, optimizer)
    return seen[:6] + values, counted(), stats, len(seen)


def check_steps():
    """An optimizer's step that is compiled, or a part of it, ends an iteration."""
    def method(optimizer):
        return torch.compile(optimizer.step)

    def function(optimizer):
        return torch.compile(lambda: optimizer.step())

    def inner(optimizer):
        """Its record is seen, and the graph in it is one as well."""
        optimizer._update = torch.compile(type(optimizer)._update)
        return optimizer.step

    class Plain(torch.optim.Optimizer):
        def __init__(self, parameters):
            super().__init__(parameters, {})

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                self._update(group["params"])

        @staticmethod
        def _update(parameters):
            for p in parameters:
                p.add_(p.grad, alpha=-0.01)

    def adamw(parameters):
        return torch.optim.AdamW(parameters, lr=1e-3)

    for words, make, compiled, memory in (("a step", adamw, method, "4M"),
                                          ("a function that steps", adamw, function, "4M"),
                                          ("a step that is too large", adamw, method, "1M"),
                                          ("a step with a graph in it", Plain, inner, "2M")):
        plain = steps(make, compiled, contextlib.nullcontext())
        values, graphs, stats, count = steps(make, compiled, whole(memory))
        claim(f"{words}: the same numbers", alike(plain[0], values))
        claim(f"{words}: the same graphs: {plain[1]}, {graphs}",
              plain[1] == graphs and graphs["stats"]["unique_graphs"] > 0)
        claim(f"{words}: an iteration ends with each: {count}, {stats}",
              stats["iterations"] == count and stats["planned"])


def check_other_graphs():
    """Graphs that write tensors, and are no step of an optimizer."""
    torch._dynamo.reset()
    model, x, target = small()
    average = torch.optim.swa_utils.AveragedModel(model)
    clip = torch.compile(lambda: torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1))

    @torch.compile
    def update():
        for a, p in zip(average.parameters(), model.parameters()):
            a.detach().lerp_(p.detach(), 0.5)

    with whole("8M") as it:
        F.cross_entropy(model(x), target).backward()
        clip()
        update()
        claim(f"clipping and averages end no iteration: {it.stats()}",
              it.stats()["iterations"] == 0)


def check_threads():
    """A block in a thread that has not imported annex."""
    results = []
    torch._dynamo.reset()
    call = torch.compile(lambda x: (x * 2).sin().sum())
    x = torch.randn(300, 300)
    plain = call(x)

    def work():
        with whole("4M") as it:
            results.append(bool(call(x) == plain))
            results.append(it.stats()["moved"] > 0)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    claim(f"a block in another thread: {results}", results == [True, True])


def check_errors():
    torch._dynamo.reset()
    x = torch.randn(500, 500)
    call = torch.compile(lambda x: (x * 2).sin())
    call(x)
    it = whole("2M", "mem:64M?fault=error,op=read,count=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)

        def fail():
            with it:
                kept = [torch.ones(500, 500) for _ in range(4)]
                call(x)
                del kept

        claims.refused("storage that does not read, in a graph", (annex.Error, errno.EIO),
                       "cannot be moved", fail)
    gc.collect()
    claim("all is freed after an error in a graph", not it.is_open())
    claim("a graph after the block", bool((call(torch.ones(500, 500)) ==
                                           torch.full((500, 500), 2.0).sin()).all()))


def main():
    check_training()
    check_faults()
    check_steps()
    check_other_graphs()
    check_threads()
    check_errors()
    return summary()


sys.exit(main())
