# SPDX-License-Identifier: MIT
"""Claims about the figures, messages and ends of annex.offload: look.py DIRECTORY-OF-annex ANNEX.

ANNEX is the tool; ANNEX_LIBRARY says which library.
"""
import contextlib
import dataclasses
import errno
import fcntl
import functools
import inspect
import json
import math
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS, TOOL = [os.path.abspath(path) for path in sys.argv[1:3]]
WAIT = 120  # seconds that a plan may take to be made
sys.path[:0] = [TOOLS, HERE]
import torch  # noqa: E402
import annex  # noqa: E402
import claims  # noqa: E402
from annex import block  # noqa: E402
from claims import alike, claim, summary  # noqa: E402
from models import Transformer, mlp  # noqa: E402
from whole import MIB, closed, heard, ordinary, run_in, whole  # noqa: E402


def refused(words, number, pattern, call):
    claims.refused(words, (annex.Error, number), pattern, call)


def told(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode()


def shown(plan, trace, machine):
    return json.loads(told(TOOL, "plan", "show", plan, "--trace", trace, "--json",
                           *machine.split()))


class Training:
    def __init__(self, batch=256):
        torch.manual_seed(7)
        self.model, self.x, self.target = mlp()
        self.x, self.target = self.x[:batch].clone(), self.target[:batch].clone()
        self.optimizer = torch.optim.Adam(self.model.parameters())

    def step(self, batch=None):
        self.optimizer.zero_grad()
        ordinary(self.model, self.x[:batch], self.target[:batch])
        self.optimizer.step()

    def until(self, it, holds, batch=None):
        end = time.monotonic() + WAIT
        self.step(batch)
        while not holds(it.stats()) and time.monotonic() < end:
            self.step(batch)


def check_plan(scratch):
    plan, trace = os.path.join(scratch, "a.plan"), os.path.join(scratch, "a.trace")
    training = Training()
    with whole() as it:
        claim("at first there is no plan", it.plan() is None)
        claim("for it records", it.stats()["state"] == "recording")
        refused("no iteration yet", errno.ENODATA, "no iteration", it.trace)
        training.until(it, lambda s: s["planned"] and it.plan()["measured_s"])
        stats, found = it.stats(), it.plan(plan)
        it.trace(trace)
        text = it.trace()
        other = []

        def elsewhere():
            with contextlib.suppress(annex.Error):
                other.append(it.plan())

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        claim("another thread is refused", other == [])
    claim(f"a state: {stats}", stats["state"] in ("planned", "a plan is being made", "strayed"))
    claim("seconds until a plan was followed", 0 < stats["until_plan_s"])
    claim("seconds of the last iteration", 0 < stats["iteration_s"] and
          0 <= stats["stall_s"] <= stats["iteration_s"])
    claim(f"a plan: {found}", found["policy"].startswith("annex") and found["kernels"] > 40 and
          found["steps"] > 0 and found["in_bytes"] > 0 and found["out_bytes"] > 0)
    claim("times in their order", 0 < found["ideal_s"] <= found["bound_s"] * 1.0001 and
          found["bound_s"] <= found["simulated_s"] * 1.0001)
    claim("measured times", math.isclose(found["of_simulated"] * found["simulated_s"],
                                         found["measured_s"]) and
          math.isclose(found["of_bound"] * found["bound_s"], found["measured_s"]))
    with open(trace, encoding="utf-8") as file:
        claim("a trace, as text and in a file", file.read() == text)
    report = shown(plan, trace, found["machine"])
    claim(f"annex plan show simulates the same: {found}", all(
        math.isclose(report[key], found[name], rel_tol=1e-6) for key, name in (
            ("iteration_s", "simulated_s"), ("bound_s", "bound_s"), ("ideal_s", "ideal_s"))))
    claim("the same kernels and bytes", report["kernels"] == found["kernels"] and
          report["in_bytes"] == found["in_bytes"] and report["steps"] == found["steps"])
    biggest = report["biggest"]
    claim(f"its biggest tensors: {biggest}", [t["bytes"] for t in biggest] == sorted(
        [t["bytes"] for t in biggest], reverse=True) and biggest[0]["bytes"] == 512 * 512 * 4 and
        all(t["first_used_by"].startswith("aten::") for t in biggest))
    # A plan that was taken over from another policy may leave that to the executor.
    claim("when they leave", found["policy"] != "annex" or
          any(t["evicted_bytes"] and t["leaves_s"] is not None for t in biggest))
    claim("what moves when", sum(p["in_bytes"] for p in report["timeline"]) ==
          report["in_bytes"] > 0)
    claim("annex trace show reads it", "aten::" in told(TOOL, "trace", "show", trace))
    claim("and people read of operators", "aten::" in told(
        TOOL, "plan", "show", plan, "--trace", trace, *found["machine"].split()))
    claim("the block has ended", it.stats()["state"] == "ended")
    refused("a plan after the block", errno.EINVAL, "inside", it.plan)
    refused("an iteration after the block", errno.EINVAL, "inside", it.step)


def check_kept(scratch):
    """A plan of an earlier block is followed from the first iteration on."""
    files = [os.path.join(scratch, name) for name in ("kept.plan", "kept.trace")]
    training = Training()
    with whole() as it:
        training.until(it, lambda s: s["planned"])
        first = it.stats().iterations
        it.plan(files[0])
        it.trace(files[1])
    with whole(plan=files) as it:
        stats = [(training.step(), it.stats())[1] for _ in range(3)]
    claim(f"a kept plan: {[dict(s) for s in stats]}", stats[0].planned and stats[2].planned and
          stats[2].in_bytes > MIB)
    plain = Training()
    for _ in range(first + 3):
        plain.step()
    claim("a kept plan: the same numbers", alike([p.detach() for p in plain.model.parameters()],
                                                 [p.detach() for p in training.model.parameters()]))
    told = heard(lambda: run_in(whole("3M", plan=files), training.step))
    claim(f"a kept plan of more memory: {told}", "kept.plan is not used" in told[0])
    refused("no such plan", errno.ENOENT, "nowhere", lambda: run_in(
        whole(plan=("/nowhere/a.plan", files[1])), training.step))


def check_kinds():
    """Batches of two sizes: the plan is that of the last iteration's kind."""
    training = Training()
    found = {256: [], 128: []}
    with whole() as it:
        for batch in (256, 128):
            training.until(it, lambda s: s["planned"], batch)
        for batch in (256, 128, 256):
            training.until(it, lambda s: s["planned"], batch)
            text = it.trace()
            found[batch].append(bool(it.plan()) and '"bytes":102400,' in text)
    claim(f"kinds have plans of their own: {found}", found[256] == [True] * 2 and
          found[128] == [False])


def check_no_plans(scratch):
    trace, plan = os.path.join(scratch, "b.trace"), os.path.join(scratch, "b.plan")
    training = Training()
    with whole(policy="none") as it:
        for _ in range(3):
            training.step()
        claim("without plans", it.plan(plan) is None and not os.path.exists(plan) and
              it.stats()["state"] == "without plans")
        it.trace(trace)
        refused("no such folder", errno.ENOENT, "nowhere",
                lambda: raise_error(it.trace, os.path.join(scratch, "nowhere", "x")))
    told(TOOL, "plan", trace, "--gpu", "4M", "--host", "0", "-o", plan)
    claim("annex plan makes one of its trace", shown(plan, trace, "")["steps"] > 0)


def raise_error(call, *arguments):
    """An ordinary OSError as an annex.Error, for refused()."""
    try:
        call(*arguments)
    except OSError as error:
        raise annex.Error(error.errno, str(error)) from None


def check_inference():
    """Without an optimizer, it.step() ends iterations, and a plan is made."""
    model, x, _ = mlp()
    model.eval()
    with torch.no_grad():
        right = model(x)
        end = time.monotonic() + WAIT
        with whole("2500K") as it:
            same = True
            while not it.stats()["planned"] and time.monotonic() < end:
                same = same and torch.equal(model(x), right)
                it.step()
            it.step()  # an iteration without a kernel is none
            stats, found = it.stats(), it.plan()
    claim(f"inference has a plan: {stats}", stats["planned"] and found and found["kernels"] < 50)
    claim("and right results", same)
    claim("inference leaves nothing", closed(it))


def check_told():
    """Programs that no plan helps are told once, with bytes and what to do."""
    def infer():
        model, x, _ = mlp()
        with torch.no_grad(), whole("2500K"):
            for _ in range(60):
                model(x)

    def differ(count):
        training = Training()
        with whole():
            for i in range(count):
                training.step(20 + 2 * i)

    told = heard(infer)
    claim(f"inference without it.step(): {told}", len(told) == 1 and "it.step()" in told[0] and
          re.search(r"moved [0-9.]+ MiB without a plan", told[0]))
    told = heard(lambda: differ(40))
    claim(f"batches of many sizes: {told}", len(told) == 1 and "none like another" in told[0] and
          re.search(r"moved [0-9.]+ MiB without a plan", told[0]))
    told = heard(lambda: differ(8))
    claim(f"a few iterations: {told}", not told)
    tensors = [torch.ones(rows, 512) for rows in (512, 512, 768, 768)]

    def grow():
        with whole("2560K") as it:
            results = tensors[0] + tensors[1], tensors[2] * tensors[3]
            claim(f"the largest operator: {it.stats()}",
                  it.stats()["least"] == 9 << 19 and len(results) == 2)

    told = heard(grow)
    claim(f"the least device memory: {told}", len(told) == 2 and "is too small" in told[0] and
          "4.5 MiB is the least" in told[1])


def in_backward(parameters, work):
    """Call work(parameter) in backward, when its gradient is whole. Return: what to keep."""
    nodes = [(p, p.expand_as(p).grad_fn.next_functions[0][0]) for p in parameters]
    for p, node in nodes:
        node.register_hook(lambda *_, p=p: work(p))
    return nodes


def trained_in_backward(make, around, iterations, by_hand=False):
    """Losses, parameters and figures. @make: what backward does with a parameter."""
    torch.manual_seed(7)
    model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(6)])
    x, losses, stats = torch.randn(64, 256), [], None
    kept = in_backward(model.parameters(), make(model))
    with around as it:
        for _ in range(iterations):
            loss = (model(x) - x).square().mean()
            loss.backward()
            losses.append(loss.detach().clone())
            if it and by_hand:
                it.step()
        x.neg_()
        stats = it and it.stats()
    del kept
    return losses, [p.detach() for p in model.parameters()], stats


def optimizers_of(model):
    optimizers = {p: torch.optim.Adam([p]) for p in model.parameters()}

    def step(p):
        optimizers[p].step()
        optimizers[p].zero_grad()

    return step


def descent_of(_):
    def step(p):
        with torch.no_grad():
            p.add_(p.grad, alpha=-1e-2)
        p.grad = None

    return step


def check_steps():
    """Optimizers that step in backward: an iteration lasts until its end, or until it.step(). The
    first it.step() comes after an iteration that has ended by itself.
    """
    for words, make, by_hand, count in (("optimizers", optimizers_of, False, 8),
                                        ("optimizers, by hand", optimizers_of, True, 9),
                                        ("a hook", descent_of, True, 8),
                                        ("a hook alone", descent_of, False, 0)):
        plain = trained_in_backward(make, contextlib.nullcontext(), 8)
        losses, values, stats = trained_in_backward(make, whole("1280K"), 8, by_hand)
        claim(f"{words} in backward: the same numbers", alike(plain[0], losses) and
              alike(plain[1], values))
        claim(f"{words} in backward: iterations: {stats}", stats["iterations"] == count)
    training = Training(64)
    with whole() as it:
        for _ in range(3):
            training.step()
            training.step()
            it.step()
        claim(f"it.step() alone counts: {it.stats()}", it.stats()["iterations"] == 4)


def trained(kind, around, early):
    """Losses, all numbers and figures of four iterations of @kind. @early: it steps in backward."""
    torch.manual_seed(11)
    model = Transformer()
    tokens = torch.randint(500, (4, 64))
    rest = [p for p in model.parameters() if p is not model.embed.weight]
    optimizer = kind([{"params": [model.embed.weight], "lr": 1e-3}, {"params": rest}], lr=1e-2)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    steps = early and annex.step_in_backward(optimizer)
    losses, left = [], 0
    with around as it:
        for i in range(5):
            loss = torch.nn.functional.cross_entropy(model(tokens), tokens.flatten())
            loss.backward()
            left += sum(p.grad is not None for p in model.parameters())
            optimizer.step()
            schedule.step()
            optimizer.zero_grad(set_to_none=True)
            losses.append(loss.detach().clone())
            if i == 2:
                optimizer.load_state_dict(optimizer.state_dict())
            if i == 3 and steps:
                claim(f"no gradient is left: {left}", not left)
                steps.remove()
        stats = it and it.stats()
    for p in model.parameters():  # their states are in the order of their first steps
        losses += [v.clone() for v in optimizer.state[p].values() if torch.is_tensor(v)]
    return losses + [p.detach().clone() for p in model.parameters()], stats


def check_early():
    """annex.step_in_backward(): groups, a schedule, a tied parameter, a state that is loaded."""
    for kind in (functools.partial(torch.optim.SGD, momentum=0.9), torch.optim.AdamW,
                 torch.optim.Adagrad):
        plain, _ = trained(kind, contextlib.nullcontext(), False)
        early, _ = trained(kind, contextlib.nullcontext(), True)
        claim("steps in backward: the same numbers", alike(plain, early))
        if kind is not torch.optim.AdamW and not claims.ALL:
            continue
        inside, stats = trained(kind, whole("1M"), True)
        claim("steps in backward, in a block: the same numbers", alike(plain, inside))
        claim(f"and iterations: {stats['iterations']}", stats["iterations"] == 5)
    try:
        annex.step_in_backward(torch.optim.LBFGS([torch.nn.Parameter(torch.ones(2))]))
        claim("LBFGS cannot step in backward", False)
    except ValueError as failure:
        claim(f"LBFGS cannot step in backward: {failure}", "LBFGS" in str(failure))


def check_endless():
    """Without it.step() iterations end by themselves, and their record takes little memory."""
    x = torch.ones(128, 128)

    def resident():
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096

    with whole("2M", policy="none") as it:
        for i in range((1 << 16) + 20000):
            x.neg_()
            if i == 1000:
                before = resident()
        grown = resident() - before
        stats = it.stats()
    claim(f"endless iterations end: {stats}", stats["iterations"] == 1)
    claim(f"and take {grown} bytes", grown < 64 << 20)
    claim("numbers of an endless iteration", bool((x == 1).all()))


class Terminal:
    """A program whose stderr is a terminal, or a pipe."""

    def __init__(self, program, terminal, columns=100):
        self.read, write = pty.openpty() if terminal else os.pipe()
        if terminal:
            fcntl.ioctl(write, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
        self.child = subprocess.Popen([sys.executable, "-c", program, TOOLS], stderr=write)
        os.close(write)

    def end(self):
        """Return: its status, and its text on stderr."""
        text = b""
        with contextlib.suppress(OSError):  # of a closed terminal
            while part := os.read(self.read, 65536):
                text += part
        os.close(self.read)
        return self.child.wait(), text.decode()


def check_progress():
    program = """if True:
        import sys, warnings
        sys.path.insert(0, sys.argv[1])
        import annex, torch
        torch.set_num_threads(1)
        warnings.simplefilter("ignore")
        w = torch.ones(256, 256, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)
        with annex.offload(device_memory="2M", storage="mem:64M", progress=%s) as it:
            import time
            end = time.monotonic() + 1
            while time.monotonic() < end or it.stats()["iterations"] < 30:
                optimizer.zero_grad()
                (w * w).sum().backward()
                optimizer.step()
        """
    line = re.compile(r"\r\033\[Kannex: (planned|recording|a plan is being made|strayed), "
                      r"\d+ iterations?, [0-9.e-]+ s, [0-9.]+ \w+ in, [0-9.]+ \w+ out, "
                      r"stall [0-9.]+ %")
    cases = (("a terminal", None, True, True), ("no terminal", None, False, False),
             ("a terminal without", False, True, False), ("a file with", True, False, True))
    started = [Terminal(program % progress, terminal) for _, progress, terminal, _ in cases]
    narrow = Terminal(program % None, True, columns=40)
    for (words, _, _, expected), terminal in zip(cases, started):
        code, text = terminal.end()
        lines = line.findall(text)
        claim(f"progress, {words}: {text!r}", code == 0 and bool(lines) == expected)
        claim(f"progress, {words}: nothing else, and nothing is left: {text!r}",
              re.sub(r"\r\033\[Kannex: [^\r\n]*", "", text) == ("\r\033[K" if expected else ""))
    _, text = narrow.end()
    lines = re.findall("annex: [^\r]*", text)
    claim(f"progress in a narrow terminal: {text!r}", max(map(len, lines)) == 39)


def check_full():
    """Tensors that the storage has no room for: one warning, at once, where the program is."""
    during = []

    def fill():
        with whole("4M", "mem:1M"):
            kept = [torch.full((50000,), float(i)) for i in range(100)]
            during.extend(str(w.message) for w in current)
            kept.append(torch.ones(50000))

    with warnings.catch_warnings(record=True) as current:
        warnings.simplefilter("always")
        fill()
    told_ones = [w for w in current if "storage has no room" in str(w.message)]
    claim(f"a full storage is heard once: {current}", len(told_ones) == 1 and
          told_ones[0].category is RuntimeWarning and "size=" in str(told_ones[0].message))
    claim("before the block ends", any("no room" in words for words in during))
    claim("where the program is", told_ones and told_ones[0].filename == __file__)


def check_no_plan():
    """A policy that cannot plan: one warning, at once, and a state."""
    training = Training()
    end = time.monotonic() + WAIT
    with warnings.catch_warnings(record=True) as current:
        warnings.simplefilter("always")
        with whole("3M", policy="flashneuron") as it:
            while not it.figures()["plan_error"] and time.monotonic() < end:
                training.step()
            inside = [str(w.message) for w in current]
            stats, found = it.figures(), it.plan()
    claim(f"no plan: {stats}", stats["state"] == "no plan" and found is None and
          stats["plan_error"] == -errno.ENOSPC)
    claim(f"is heard at once: {inside}", any("no plan by flashneuron" in words
                                             for words in inside))
    claim("and once", len([w for w in current if "no plan by" in str(w.message)]) == 1)


def check_errors():
    def fill(how):
        with whole("2M", f"mem:64M?fault=error,op={how},count=0"):
            kept = [torch.ones(256, 256) * i for i in range(40)]
            for tensor in kept:
                tensor.add_(1)

    for how in ("write", "read"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            refused(f"storage that cannot {how}", errno.EIO, "use another", lambda: fill(how))


def check_removed():
    """Storage that vanishes: its tensors are errors, and no faults of the process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        kept, it = [], whole("2M", "mem:64M?fault=remove,after=60")

        def fill():
            with it:
                for i in range(100):
                    kept.append(torch.full((1 << 16,), float(i)))

        refused("storage that vanishes", errno.ENODEV, "use another", fill)
    lost = 0
    for i, tensor in enumerate(kept):
        try:
            claim(f"tensor {i} is whole", tensor.sum() == i << 16)
        except annex.Error as error:
            lost += error.errno == errno.EIO and "lost" in str(error)
    claim(f"{lost} of {len(kept)} tensors are lost", 0 < lost < len(kept))
    kept.clear()
    claim("all is freed after that", not it.is_open())


def check_ends():
    """Ctrl-C while a block begins, and while it ends: it comes when all is in its place."""
    x = torch.full((100000,), 3.0)
    known, before = block.known, signal.getsignal(signal.SIGINT)

    def disturbed():
        for _ in range(2):
            signal.raise_signal(signal.SIGINT)
        return known()

    for words, entered in (("begins", False), ("ends", True)):
        block.known, came, inside = known if entered else disturbed, False, False
        it = whole()
        try:
            with it:
                inside, block.known = True, disturbed
                y = x + 1
        except KeyboardInterrupt:
            came = True
        block.known = known
        claim(f"Ctrl-C while a block {words} comes at its end", came and inside == entered)
        claim(f"and all is freed: {it.is_open()}", closed(it) and bool((x == 3).all()))
        claim("and signals are as before", signal.getsignal(signal.SIGINT) is before)
    claim("a tensor of the block", bool((y == 4).all()))


def interrupted(seed, work, it):
    """Ctrl-C after a random time. Return: whether it came."""
    delay = torch.rand(1, generator=torch.Generator().manual_seed(seed)).item() * 0.06
    timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
    heard, told = os.pipe()
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told)
    try:
        timer.start()
        with it:
            work()
        os.read(heard, 1)  # returns when the signal has come
    except KeyboardInterrupt:
        return True
    finally:
        timer.join()
        signal.set_wakeup_fd(-1)
        os.close(heard)
        os.close(told)
    return False


def check_interrupts(rounds):
    """Ctrl-C at any moment, in a child. Each tensor has been added to as a whole, or not."""
    constants = [torch.full((40000,), float(i)) for i in range(20)]
    counts = [torch.zeros(40000) for _ in range(20)]
    right, came = True, 0
    for seed in range(rounds):
        training = Training(64)
        it = whole("2500K")

        def work():
            while True:
                training.step()
                for tensor in counts:
                    tensor.add_(1)

        try:
            came += interrupted(seed, work, it)
        except KeyboardInterrupt:
            came += 1
        del training
        if it.block:
            right = right and closed(it)
        first = counts[0][0].item()
        right = right and all(bool((t == t[0]).all()) and t[0].item() in (first, first - 1)
                              for t in counts)
        right = right and alike(constants, [torch.full((40000,), float(i)) for i in range(20)])
        for tensor in counts:
            tensor.fill_(first)
        if not right:
            print(f"interrupt {seed}: {it.is_open() if it.block else None} "
                  f"{[t[0].item() for t in counts]}")
            return 1
    return 0 if came == rounds else 2


def check_interrupt():
    done = subprocess.run([sys.executable, __file__, TOOLS, TOOL, "--interrupts"], check=False,
                          timeout=300)
    claim(f"Ctrl-C at random moments: {done.returncode}", done.returncode == 0)


def check_words():
    """Each figure is explained where a person looks for it."""
    with whole() as it:
        kept = torch.ones(1 << 18)
        stats = it.stats()
    words = annex.Stats.__doc__
    names = [field.name for field in dataclasses.fields(stats)]
    claim(f"stats() are explained: {[k for k in names if f'@{k}:' not in words]}",
          all(f"@{name}:" in words for name in names))
    claim("they are typed, with units, and a mapping, also by short names",
          stats.device_bytes == stats["device"] == dict(stats)["device"] == 1 << 20 and
          isinstance(stats.iteration_s, float) and "in" in stats and "nonsense" not in stats)
    claim(f"they are summarised: {stats}", "recording: 0 iterations" in repr(stats) and
          "1 tensors: 1.0 MiB in device memory, 0 B on storage" in repr(stats))
    functions = [annex.offload, *[getattr(block.Offload, name) for name in (
        "__enter__", "__exit__", "stats", "plan", "trace", "step", "is_open")]]
    claim("public functions have types", all(
        {*inspect.signature(f).parameters, "return"} - {"self"} == set(f.__annotations__)
        for f in functions))
    claim("help(annex.offload) shows training and inference",
          "optimizer.step()" in annex.offload.__doc__ and "it.step()" in annex.offload.__doc__)


def main():
    warnings.simplefilter("ignore", FutureWarning)
    torch.set_num_threads(1)
    # A shell's background commands ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if "--interrupts" in sys.argv:
        warnings.simplefilter("ignore", RuntimeWarning)
        return check_interrupts(30 if claims.ALL else 8)
    with tempfile.TemporaryDirectory() as scratch:
        check_plan(scratch)
        check_no_plans(scratch)
        check_kept(scratch)
    check_kinds()
    check_inference()
    check_told()
    check_steps()
    check_early()
    check_endless()
    check_progress()
    check_full()
    check_no_plan()
    check_errors()
    check_removed()
    check_ends()
    check_interrupt()
    check_words()
    return summary()


if __name__ == "__main__":
    sys.exit(main())
