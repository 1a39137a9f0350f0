# SPDX-License-Identifier: MIT
"""What annex.offload claims: offload.py DIRECTORY-OF-annex INCLUDE. ANNEX_LIBRARY says which."""
import contextlib
import ctypes
import errno
import gc
import os
import signal
import subprocess
import sys
import tempfile
import threading
import warnings

sys.path.insert(0, sys.argv[1])
import numpy  # noqa: E402
import torch  # noqa: E402
import annex  # noqa: E402
import claims  # noqa: E402
from annex import library, memory, saved, state  # noqa: E402
from claims import alike, claim, summary  # noqa: E402
from models import convnet, mlp, numbers, small, transformer  # noqa: E402

F = torch.nn.functional
MIB = 1 << 20


def refused(words, number, pattern, call):
    claims.refused(words, (annex.Error, number), pattern, call)


def train(make, optimizer, around, iterations=4, outside=1):
    """Losses, all numbers afterwards, and what @around gave: some iterations come after it."""
    torch.manual_seed(7)
    model, x, target = make()
    optimizer = optimizer(model.parameters())
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    losses = []

    def run(count):
        for _ in range(count):
            optimizer.zero_grad(set_to_none=True)
            loss = F.cross_entropy(model(x), target)
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.detach().clone())

    with around as it:
        run(iterations)
        stats = it.stats() if it else None
    run(outside)
    return losses, numbers(model, optimizer), stats, it


def check_training():
    for make in (mlp, convnet, transformer):
        def adam(p):
            return torch.optim.AdamW(p, lr=1e-2, amsgrad=True)
        plain = train(make, adam, contextlib.nullcontext())
        with_it = train(make, adam, annex.offload(4 * MIB, "mem:64M"))
        what, stats = make.__name__, with_it[2]
        claim(f"{what}: the same losses", alike(plain[0], with_it[0]))
        claim(f"{what}: the same weights and state", alike(plain[1], with_it[1]))
        claim(f"{what}: things have left and returned: {stats}",
              stats["out"] > MIB and stats["in"] > MIB)
        claim(f"{what}: never more than the budget: {stats}", stats["device"] <= 4 * MIB and
              stats["over"] == 0 and stats["faults"] == 0)
        claim(f"{what}: all is freed", freed(with_it[3]))


def freed(it):
    gc.collect()
    return not it.memory.space and not it.memory.stores and not it.memory.regions


def check_optimizers():
    makers = {name: getattr(torch.optim, name) for name in (
        "Adadelta", "Adagrad", "Adam", "Adamax", "AdamW", "ASGD", "NAdam", "RAdam", "RMSprop",
        "Rprop")}
    makers["SGD"] = lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)
    makers["RMSprop"] = lambda p: torch.optim.RMSprop(p, momentum=0.9, centered=True)
    makers["foreach"] = lambda p: torch.optim.Adam(p, foreach=True)
    for name, make in makers.items():
        plain = train(small, make, contextlib.nullcontext(), 2)
        it = annex.offload(MIB, "mem:64M")
        seen = []
        adopt = state.Stepper.region_of
        state.Stepper.region_of = lambda s, t: seen.append(adopt(s, t)) or seen[-1]
        with_it = train(small, make, it, 2)
        state.Stepper.region_of = adopt
        claim(f"{name}: the same numbers", alike(plain[1], with_it[1]))
        claim(f"{name}: its state was in the space", any(seen))
        claim(f"{name}: and is not now", freed(it))


def check_views():
    with annex.offload(8 * MIB, "mem:64M") as it:
        x = torch.randn(512, 512, requires_grad=True) * 1
        y = x.sin() + x.cos() + (x @ x.t()).exp().sum() * 0 + x.t().tanh()
        names = [r.name for r in it.memory.regions.values()]
        claim(f"one storage goes once: {names}", sum("[512, 512]" in n for n in names) <= 4)
        y.sum().backward()
        data = torch.randn(64, 1024, 32)
        weight = torch.randn(1024, 32, requires_grad=True)
        before = sum(r.room for r in it.memory.regions.values())
        z = (data[3] * weight).sum()
        room = sum(r.room for r in it.memory.regions.values()) - before
        claim(f"a slice of much does not take all along: {room}", room == 1024 * 32 * 4)
        z.backward()
        claim("and comes back", torch.equal(weight.grad, data[3]))
        qkv = torch.randn(256, 768, requires_grad=True) * 1
        q, k, v = qkv.chunk(3, dim=-1)
        strides = []
        hook = saved.Moved.unpack

        def unpack(moved):
            strides.append((moved.view.size, hook(moved).stride()))
            return hook(moved)
        saved.Moved.unpack = unpack
        (q * k * v).sum().backward()
        saved.Moved.unpack = hook
        claim(f"views come back with their strides: {strides}",
              any(stride == (768, 1) for _, stride in strides))
        check_strides(torch.randn(1024, 1024))
        wide = torch.randn(1, 70000, requires_grad=True)
        (wide.expand(3, -1) * torch.ones(3, 70000)).sum().backward()
        claim("expanded ones", torch.equal(wide.grad, torch.full((1, 70000), 3.0)))
        half = torch.randn(70000, dtype=torch.bfloat16, requires_grad=True)
        (half * half).sum().backward()
        claim("other types", torch.equal(half.grad, (2 * half).detach()))
        turned = torch.randn(70000, dtype=torch.complex64, requires_grad=True)
        (turned.conj() * 1j * turned).real.sum().backward()
        claim("conjugates", torch.isfinite(turned.grad.real).all().item())
    del x, y, z, q, k, v, qkv
    claim("all is freed after views", freed(it))


class Looks(torch.autograd.Function):
    """It notes how its tensor comes back, and reads it by as_strided."""

    @staticmethod
    def forward(ctx, x, view):
        ctx.save_for_backward(view)
        return x.sum()

    @staticmethod
    def backward(ctx, grad):
        view, = ctx.saved_tensors
        Looks.seen = lies(view)
        return grad.expand(8), None


def lies(view):
    some = torch.as_strided(view, [(n + 1) // 2 for n in view.size()],
                            [2 * step for step in view.stride()])
    return (view.size(), view.stride(), view.storage_offset(), view.data_ptr() % 64, view.clone(),
            some.clone())


def check_strides(base):
    x = torch.ones(8, requires_grad=True)
    odd = torch.from_numpy(numpy.random.randn(1 << 20).astype("f")[3:])
    for name, view in (
            ("thin", base[:, ::8]), ("transposed", base[:200].t()), ("a row", base[3]),
            ("expanded", base[:1].expand(256, 1024)), ("half", base[:, ::2]),
            ("overlapping", base.as_strided((512, 512), (1, 3), 7)), ("diagonal", base.diagonal()),
            ("windows", base[5].unfold(0, 3, 1)), ("a part of many", base.split(100, 1)[1]),
            ("overlapping with gaps", base.as_strided((300, 3), (7, 14), 3)),
            ("unaligned", odd), ("a part, unaligned", odd[5::9]),
            ("channels last", torch.randn(8, 16, 16, 16).contiguous(
                memory_format=torch.channels_last))):
        Looks.apply(x, view).backward()
        claim(f"{name}: the same to a kernel", all(
            torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b
            for a, b in zip(Looks.seen, lies(view))))


def check_small():
    """A small region that is pinned keeps no other from leaving."""
    with annex.offload(MIB, "mem:64M") as it:
        leases = [it.memory.allocate(100, "small", "saved") for _ in range(300)]
        pin = it.memory.pin(leases[0])
        for lease in leases[1:]:
            own = it.memory.pin(lease)
            ctypes.memset(lease.region.address, 1, 100)
            del own
        stats = it.stats()
        claim(f"small ones leave: {stats}", stats["out"] > 0 and pin)
        del leases, lease, pin


def check_aliases():
    """What is saved is what it was when it was saved, whoever has written to it since."""
    array = numpy.ones((256, 1024), "f")
    tensor = torch.from_numpy(array)
    other = torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(tensor))
    writes = {"NumPy": lambda value: array.fill(value), "DLPack": other.fill_,
              ".data": lambda value: tensor.data.fill_(value),
              "C": lambda value: ctypes.memset(array.ctypes.data, value, array.nbytes),
              "a second storage": lambda value: torch.from_numpy(array).fill_(value)}
    w = torch.ones(256, 1024, requires_grad=True)
    with annex.offload(8 * MIB, "mem:64M") as it:
        for name, write in writes.items():
            write(2)
            earlier, before = (w * tensor).sum(), tensor.clone()
            write(3)
            later, after = (w * tensor).sum(), tensor.clone()
            same = (w * tensor).sum()
            claim(f"{name}: a later graph has what was written",
                  torch.equal(torch.autograd.grad(later, w)[0], after))
            claim(f"{name}: an earlier one has what was there",
                  torch.equal(torch.autograd.grad(earlier, w)[0], before))
            claim(f"{name}: what is the same goes once", len(it.memory.regions) == 1)
            del earlier, later, same


def check_graphs():
    with annex.offload(8 * MIB, "mem:64M") as it:
        x = torch.randn(300, 300, requires_grad=True)
        y = (x.sin() * x).tanh().sum()
        (first,) = torch.autograd.grad(y, x, retain_graph=True)
        (second,) = torch.autograd.grad(y, x)
        claim("a graph that is kept is used twice", torch.equal(first, second))
        (g,) = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)
        (gg,) = torch.autograd.grad(g.sum(), x)
        claim("gradients of gradients", torch.allclose(gg, 6 * x))
        x.grad = None
        w = torch.nn.Parameter(torch.randn(300, 300))
        z = (w @ x).sum()
        with torch.no_grad():
            w.add_(1)
        try:
            z.backward()
            claim("a parameter that was changed is noticed", False)
        except RuntimeError as error:
            claim("a parameter that was changed is noticed", "inplace" in str(error))
        late = (x.sin() * x).sum()
        numbers_ = [r for r in it.memory.regions.values()]
        claim("something is saved", len(numbers_) > 0)
    del y, z, g, gg
    claim("a graph that lives on keeps the space", it.memory.space and not freed(it))
    late.backward()
    claim("and works", torch.allclose(x.grad, x.cos() * x + x.sin()))
    del late, numbers_
    claim("and then it is freed", freed(it))


def fill(count, side=512):
    """A graph that saves so many MiB."""
    x = torch.ones(side, side, requires_grad=True) * 1
    for _ in range(count):
        x = x.sin()
    return x.sum()


def check_errors(scratch):
    path = os.path.join(scratch, "image")
    refused("no library", 2, "make", lambda: environment("/nowhere/libannex.so"))
    refused("a size that is none", 22, "12Q", lambda: annex.offload("12Q", "mem:64M"))
    refused("no storage", 22, "storage", lambda: annex.offload("8M", []))
    refused("a budget of a page", 22, "device tier", lambda: enter("4K", "mem:64M"))
    refused("another scheme", 93, "tape", lambda: enter("8M", "tape:3"))
    refused("no such directory", 2, "nowhere", lambda: enter("8M", "file:/nowhere/image"))
    with annex.offload("8M", "mem:64M"):
        refused("nesting", 16, "nest", lambda: enter("8M", "mem:64M"))
    for budget, uri, count, number, words in (
            ("2M", "mem:64M", None, 28, "too small"), ("4M", "mem:4M", 40, 28, "saved float32"),
            ("4M", "mem:64M?fault=error,op=write,count=0", 40, 5, "saved float32"),
            ("4M", "mem:64M?fault=error,op=read,count=0", 40, 5, "saved float32")):
        it = annex.offload(budget, uri)

        def run():
            with it:
                fill(count or 2, 512 if count else 1024).backward()
        refused(f"{uri} with {budget}", number, words, run)
        claim(f"and all of {uri} with {budget} is freed", freed(it))
    it = annex.offload("8M", f"file:{path}")
    try:
        with it:
            loss = fill(40)
            claim("its file has no name", os.listdir(scratch) == [])
            raise KeyError("a fault in the loop")
    except KeyError:
        pass
    del loss
    claim("a loop that fails leaves nothing", freed(it) and os.listdir(scratch) == [])
    with open(path, "wb") as f:
        f.truncate(64 * MIB)
    refused("a file given twice", 16, "somebody else",
            lambda: enter("8M", [f"file:{path}", f"file:{path}"]))
    with annex.offload("8M", f"file:{path}", checksum=True) as it:
        fill(40).backward()
    claim("a file that was there stays", freed(it) and os.listdir(scratch) == ["image"])
    claim("nothing is replaced any more", isinstance(
        sys.modules["torch.optim.adam"].torch, type(torch)) and
        sys.modules["torch.optim.adam"].adam.__module__ == "torch.optim.adam")


class Interrupted:
    """The library, with Ctrl-C in each wait."""

    def __init__(self, library):
        self.library = library

    def __getattr__(self, name):
        return getattr(self.library, name)

    def __call__(self, name, *arguments):
        self.library(name, *arguments)
        if name == "annex_move_wait":
            raise KeyboardInterrupt


def check_interrupt():
    it = annex.offload("4M", "mem:64M")
    try:
        with it:
            loss = fill(40)
            it.memory.library = Interrupted(it.memory.library)
            try:
                loss.backward()
            finally:
                it.memory.library = it.memory.library.library
        claim("Ctrl-C comes through", False)
    except (KeyboardInterrupt, RuntimeError) as error:
        claim("Ctrl-C comes through", "KeyboardInterrupt" in repr(error))
    claim("Ctrl-C leaves nothing pinned", it.memory.pinned_bytes == 0)
    del loss
    claim("Ctrl-C leaves nothing", freed(it))


def environment(path):
    old = os.environ["ANNEX_LIBRARY"]
    os.environ["ANNEX_LIBRARY"] = path
    try:
        library.Library()
    finally:
        os.environ["ANNEX_LIBRARY"] = old


def enter(budget, uri):
    with annex.offload(budget, uri):
        pass


def check_state_errors():
    """State that storage does not give back: an error, and no crash."""
    torch.manual_seed(7)
    model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(4)])
    optimizer = torch.optim.Adam(model.parameters())
    it = annex.offload("4M", "mem:64M?fault=error,op=read,count=0")

    def run():
        with it:
            for _ in range(3):
                model(torch.randn(4, 512)).sum().backward()
                optimizer.step()
    refused("state that cannot be had", 5, "state float32", run)
    sizes = [v["exp_avg"].numel() for v in optimizer.state.values() if "exp_avg" in v]
    claim(f"what could be had is there, the rest is empty: {sizes}",
          0 in sizes and all(size in (0, 512, 512 * 512) for size in sizes))
    claim("and the space is freed", freed(it))


def check_state_late():
    """State that does not come back in time stays where it is, and can be used."""
    torch.manual_seed(8)
    model = torch.nn.Linear(512, 512)
    optimizer = torch.optim.Adam(model.parameters())
    it = annex.offload("8M", "mem:64M")
    kept = []

    def late(region):
        raise annex.Error(errno.ETIMEDOUT, "late")

    def run():
        with it:
            model(torch.randn(4, 512)).sum().backward()
            optimizer.step()
            kept.extend(v["exp_avg"].clone() for v in optimizer.state.values())
            it.memory.bring = late
    refused("state that is late", errno.ETIMEDOUT, "late", run)
    del it.memory.bring
    now = [v["exp_avg"] for v in optimizer.state.values()]
    claim("all of it is there", all(torch.equal(a, b) for a, b in zip(now, kept)))
    claim("the space is kept", it.memory.space and not freed(it))
    del now
    optimizer.state.clear()
    claim("until it is no longer used", freed(it))


def check_order():
    """What is wanted last leaves first, and backward finds what it wants, prefetched."""
    seen = []
    bring = memory.Memory.bring

    def watch(it, region):
        seen.append((region.name, it.is_resident(region)))
        bring(it, region)
    with annex.offload("8M", "mem:64M") as it:
        loss = fill(40)
        there = [it.memory.is_resident(r) for r in it.memory.regions.values()]
        claim(f"the oldest have left, the newest are there: {there}",
              not any(there[:20]) and all(there[-4:]))
        memory.Memory.bring = watch
        loss.backward()
        memory.Memory.bring = bring
        ready = sum(resident for _, resident in seen)
        # Of those that had left, nearly all; on a busy machine a part is late.
        back = ready - sum(there)
        claim(f"{back} of {40 - sum(there)} were brought back before they were wanted",
              len(seen) == 40 and back >= (40 - sum(there)) // 4)
        claim("and all has been freed on the way", not it.memory.regions and not it.memory.turns)


def check_threads():
    """Graphs that are made in several threads, and go backward in others, with much garbage."""
    old = gc.get_threshold()
    gc.set_threshold(50)
    wrong = []

    def work(seed):
        for i in range(6):
            x = torch.full((256, 256), float(seed + i), requires_grad=True)
            hooks = torch.autograd.graph.saved_tensors_hooks(*current)
            with hooks:
                y = (x.sin() * x.cos()).tanh().sum()
            loop = [y]
            loop.append(loop)  # only the collector frees it
            other = threading.Thread(target=y.backward)
            other.start()
            other.join()
            z = x.detach().clone().requires_grad_()
            (z.sin() * z.cos()).tanh().sum().backward()
            if not torch.equal(x.grad, z.grad):
                wrong.append(seed)

    with annex.offload("4M", "mem:64M") as it:
        saver = saved.Saver(it.memory, it.tell)
        current = saver.pack, saver.unpack
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        claim("threads end", not any(thread.is_alive() for thread in threads))
    gc.set_threshold(*old)
    claim(f"each has its own numbers: {wrong}", not wrong)
    claim("all is freed after threads", freed(it))


class Differentiated(torch.utils.data.Dataset):
    """Its items are gradients."""

    def __len__(self):
        return 8

    def __getitem__(self, i):
        w = torch.ones(256, 256, requires_grad=True)
        (w * torch.full((256, 256), float(i))).sum().backward()
        return w.grad


def says(error_words, call):
    """Whether it is an error that says so."""
    try:
        call()
    except (RuntimeError, annex.Error) as error:
        return error_words in str(error)
    return False


def check_child(words, work):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(0 if work() else 1)
    status = os.waitpid(child, 0)[1]
    claim(f"{words}: {status}", status == 0)


def check_children():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # OpenMP's others are not in a child
    data = torch.utils.data.TensorDataset(torch.arange(64.0).reshape(8, 8))
    weight = torch.nn.Parameter(torch.ones(256, 256))
    optimizer = torch.optim.Adam([weight])
    it = annex.offload("4M", "mem:64M")

    def train_in_child():
        own = torch.nn.Parameter(torch.ones(256, 256))
        adam = torch.optim.Adam([own])
        (own * own).sin().sum().backward()
        adam.step()
        with annex.offload("4M", "mem:64M") as second:
            (own * own).sin().sum().backward()
            adam.step()
            return second.memory.saves > 0 and adam.state[own]["exp_avg"].abs().sum() > 0

    def drop():
        nonlocal loss
        del loss
        gc.collect()
        return True

    with it:
        loss = fill(20, 256)
        weight.grad = torch.ones(256, 256)
        optimizer.step()
        total = sum(x.sum().item() for (x,) in torch.utils.data.DataLoader(
            data, num_workers=2, timeout=60))
        claim("workers of a loader", total == 64 * 63 / 2)
        total = sum(x.sum().item() for x in torch.utils.data.DataLoader(
            Differentiated(), num_workers=2, timeout=60))
        claim("workers that use autograd", total == 256 * 256 * 28)
        state_ = optimizer.state[weight]["exp_avg"]
        check_child("a child that trains, and offloads", train_in_child)
        check_child("a child that goes back in its parent's graph",
                    lambda: says("parent", loss.backward))
        for name, use in (("sum", lambda: state_.sum()), ("print", lambda: repr(state_)),
                          ("numpy", lambda: numpy.asarray(state_)),
                          ("add", lambda: weight + state_), ("step", optimizer.step)):
            check_child(f"a child that uses its parent's state: {name}",
                        lambda use=use: says("parent", use))
        check_child("a child that asks for figures", lambda: says("fork", it.stats))
        check_child("a child that drops a graph", drop)
        regions = len(it.memory.regions)
        loss.backward()
        claim(f"takes nothing from its parent: {regions}", regions >= 20)
        claim("and the parent has its state", bool(state_.sum() > 0))
    del loss
    claim("all is freed after children", freed(it))
    torch.set_num_threads(threads)


def check_warnings():
    """A line of the library's own threads is a warning of Python's, once."""
    def run():
        with annex.offload("4M", "mem:64M?fault=flip,op=read,after=5", checksum=True):
            fill(40).backward()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        run()
    lines = [str(w.message) for w in told]
    claim(f"a read that went wrong is told of: {lines}",
          lines and all("came back wrong" in line for line in lines))
    claim("each line once", len(lines) == len(set(lines)))
    claim("as a RuntimeWarning", all(w.category is RuntimeWarning for w in told))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            run()
            claim("a warning that is an error is raised", False)
        except RuntimeWarning:
            enter("8M", "mem:64M")
            claim("and leaves nothing", True)


def check_damage():
    """Storage that gives other bytes back."""
    it = annex.offload("4M", "mem:64M?fault=flip,op=read,count=0", checksum=True)

    def run():
        with it:
            fill(40).backward()
    refused("damaged data", errno.EILSEQ, "saved float32", run)
    try:
        run()
    except annex.Error as error:
        claim(f"in words that fit: {error}", "multibyte" not in str(error))


def check_structures(include, scratch):
    """Python's idea of the structures is the header's."""
    headers = ("stddef.h", "stdio.h", "annex/cuda.h", "annex/device.h", "annex/exec.h",
               "annex/hdm.h", "annex/simulate.h")
    source = "".join(f"#include <{name}>\n" for name in headers) + "int main(void)\n{\n"
    expected = []
    for name, structure in library.STRUCTURES.items():
        source += f'printf("%zu\\n", sizeof(struct {name}));\n'
        expected.append(ctypes.sizeof(structure))
        for field, _ in structure._fields_:
            source += f'printf("%zu\\n", offsetof(struct {name}, {field}));\n'
            expected.append(getattr(structure, field).offset)
    source += 'printf("%d\\n%d\\n", ANNEX_TIER_SSD, ANNEX_TIERS);\n}\n'
    expected += [library.SSD, library.TIERS]
    program = os.path.join(scratch, "program")
    subprocess.run([os.environ.get("CC", "cc"), "-x", "c", "-I", include, "-o", program, "-"],
                   input=source.encode(), check=True)
    told = subprocess.run([program], stdout=subprocess.PIPE, check=True).stdout.split()
    os.remove(program)
    claim("structures are those of the header", [int(n) for n in told] == expected)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        check_structures(sys.argv[2], scratch)
        check_errors(scratch)
    check_interrupt()
    check_state_errors()
    check_state_late()
    check_training()
    check_optimizers()
    check_views()
    check_small()
    check_aliases()
    check_damage()
    check_warnings()
    check_graphs()
    check_order()
    check_threads()
    check_children()
    return summary()


sys.exit(main())
