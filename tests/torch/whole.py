# SPDX-License-Identifier: MIT
"""Claims about the tensors of annex.offload: whole.py DIRECTORY-OF-annex [--check].

With --check it only says why the compiled part is missing, if it is. ANNEX_LIBRARY says which
library.
"""
import contextlib
import ctypes
import errno
import gc
import io
import os
import signal
import sys
import tempfile
import threading
import time
import warnings

sys.path.insert(0, sys.argv[1])
import numpy  # noqa: E402
import torch  # noqa: E402
import annex  # noqa: E402
import claims  # noqa: E402
from annex import available, block, library, native  # noqa: E402
from claims import alike, claim, summary  # noqa: E402
from models import convnet, mlp, numbers, transformer  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

F = torch.nn.functional
MIB = 1 << 20
WAIT = 120  # seconds that a plan may take to be made


def refused(words, number, pattern, call):
    claims.refused(words, (annex.Error, number), pattern, call)


def whole(memory="4M", storage="mem:256M", **options):
    return annex.offload(device_memory=memory, storage=storage, **options)


def closed(it):
    gc.collect()
    return not it.is_open()


def ordinary(model, x, target):
    loss = F.cross_entropy(model(x), target)
    loss.backward()
    return loss


def accumulated(model, x, target):
    losses = [F.cross_entropy(model(x[i::2]), target.view(len(x), -1)[i::2].flatten())
              for i in range(2)]
    for loss in losses:
        loss.backward()
    return losses[-1]


def recomputed(model, x, target):
    x = x.requires_grad_() if x.is_floating_point() else x
    loss = F.cross_entropy(checkpoint(model, x, use_reentrant=False), target)
    loss.backward()
    return loss


def mixed(model, x, target):
    with torch.autocast("cpu", torch.bfloat16):
        loss = F.cross_entropy(model(x).float(), target)
    loss.backward()
    return loss


def train(make, optimizer, around, backward=ordinary, iterations=6):
    """Losses, and all numbers afterwards. One iteration comes after @around, some are before."""
    torch.manual_seed(7)
    model, x, target = make()
    optimizer = optimizer(model.parameters())
    losses = []

    def run(count):
        for _ in range(count):
            optimizer.zero_grad(set_to_none=True)
            losses.append(backward(model, x, target).detach().clone())
            losses.extend(p.grad.clone() for p in model.parameters())
            optimizer.step()

    run(1)
    with around as it:
        run(iterations)
        stats = it.stats() if it else None
    run(1)
    return losses, numbers(model, optimizer), stats


def compare(words, make, optimizer, backward=ordinary, memory="4M"):
    plain = train(make, optimizer, contextlib.nullcontext(), backward)
    it = whole(memory)
    losses, values, stats = train(make, optimizer, it, backward)
    claim(f"{words}: the same losses and gradients", alike(plain[0], losses))
    claim(f"{words}: the same parameters and state", alike(plain[1], values))
    claim(f"{words}: tensors have left and returned: {stats}",
          stats["out"] > MIB and stats["in"] > MIB // 2 and stats["moved"] > 0)
    claim(f"{words}: never more than the budget: {stats}", stats["over"] == 0 and
          stats["ordinary"] == 0)
    claim(f"{words}: iterations are seen: {stats}", stats["iterations"] == 6)
    claim(f"{words}: all is freed", closed(it))


def has_fused():
    """On CPUs, since PyTorch 2.4."""
    try:
        fused([torch.zeros(1, requires_grad=True)])
    except (TypeError, RuntimeError):
        return False
    return True


def fused(p):
    return torch.optim.AdamW(p, lr=1e-3, fused=True)


def check_training():
    def sgd(p):
        return torch.optim.SGD(p, lr=1e-2, momentum=0.9)

    def adam(p):
        return torch.optim.AdamW(p, lr=1e-3)

    def foreach(p):
        return torch.optim.AdamW(p, lr=1e-3, foreach=True)

    compare("mlp, AdamW", mlp, adam)
    compare("convnet, SGD", convnet, sgd)
    compare("foreach", mlp, foreach)
    if has_fused():
        compare("fused, with less memory than its step", mlp, fused, memory="6M")
    compare("gradients of two batches", mlp, adam, accumulated)
    compare("checkpoints", mlp, adam, recomputed)
    compare("bfloat16", transformer, adam, mixed)
    if claims.ALL:
        compare("mlp, SGD", mlp, sgd)
        compare("convnet, AdamW", convnet, adam)
        compare("transformer, SGD", transformer, sgd)
        compare("transformer, AdamW", transformer, adam)
        compare("checkpoints of a transformer", transformer, sgd, recomputed)


def check_plans():
    for policy in ("annex", "none"):
        torch.manual_seed(7)
        model, x, target = mlp()
        optimizer = torch.optim.Adam(model.parameters())
        end = time.monotonic() + WAIT
        with whole(policy=policy) as it:
            stats = it.stats()
            while (stats["iterations"] < 8 or policy == "annex" and not stats["planned"] and
                   time.monotonic() < end):
                optimizer.zero_grad()
                ordinary(model, x, target)
                optimizer.step()
                stats = it.stats()
        claim(f"{policy}: plans: {stats}", (stats["plans"] > 0) == (policy == "annex"))
        claim(f"{policy}: they are followed", stats["planned"] == (policy == "annex"))
        del model, optimizer, x, target
        claim(f"{policy}: all is freed", closed(it))
    refused("no such policy", errno.EINVAL, "nonsense",
            lambda: whole(policy="nonsense").__enter__())


def check_entry():
    """Existing tensors: their storages move, unless their address was given away."""
    first = torch.arange(100000.0)
    view = first[500:].view(-1, 10)
    given = torch.arange(100000.0)
    array = given.numpy()
    taken = torch.from_numpy(numpy.arange(100000.0))
    exported = torch.arange(100000.0)
    capsule = torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(exported))
    shared = torch.arange(100000.0).share_memory_()
    small = torch.ones(100)
    stay = [given, taken, exported, shared, small]
    before = [t.data_ptr() for t in stay]
    place = first.data_ptr()
    base = torch.ones(300, 300, requires_grad=True) * 1
    parts = base.unbind()
    base.add_(1)  # PyTorch refuses most uses of the parts from now on
    with whole() as it:
        claim("a base moves whose views are stale", base.sum() == 180000 and len(parts) == 300)
        claim("a tensor moves", first.data_ptr() != place)
        claim("a view moves along", view.data_ptr() == first.data_ptr() + 2000)
        claim("others stay", [t.data_ptr() for t in stay] == before)
        stats = it.stats()
        claim(f"and are counted: {stats}", stats["stayed"] >= 4 and stats["moved"] >= 1)
        first.add_(1)
        array[0] = 7
        capsule[0] = 8
        claim("numbers", view[0, 0] == 501 and first.double().sum() == 100000 * 99999 / 2 + 100000)
        claim("tensors that stay are shared", given[0] == 7 and exported[0] == 8)
    claim("numbers afterwards", view[0, 0] == 501 and first[-1] == 100000)
    first[500] = 3
    claim("views afterwards", view[0, 0] == 3)
    claim("all is freed after entry", closed(it))


def heard(call):
    """The words of RuntimeWarnings."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        call()
    return [str(line.message) for line in told if line.category is RuntimeWarning]


def mapped(path, count, shared=False, step=1 << 18):
    """Tensors of 256 KiB in a mapped file, as safetensors makes them."""
    storage = torch.UntypedStorage.from_file(path, shared, 8 << 18)
    return [torch.empty(0).set_(storage[i * step:i * step + (1 << 18)]).view(256, 256)
            for i in range(count)]


def trained(parameters, around, by_hand):
    """Values after steps of descent by an optimizer, or by hand, and figures."""
    parameters = [torch.nn.Parameter(p) for p in parameters]
    optimizer = torch.optim.SGD(parameters, lr=0.1, momentum=0.9)
    x, stats = torch.ones(4, 256), []
    with around as it:
        for _ in range(4):
            loss = sum((x @ p).square().mean() for p in parameters)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            if not by_hand:
                optimizer.step()
            with torch.no_grad():
                if by_hand:
                    all(p.sub_(p.grad) is p for p in parameters)
            if it and by_hand:
                it.step()
            stats.append(it and it.stats())
    return [p.detach().clone() for p in parameters], stats


def check_doors(scratch):
    """Tensors of loaded and mapped files move in, if nothing else has their memory."""
    path, raw = os.path.join(scratch, "loaded"), os.path.join(scratch, "raw")
    torch.save([torch.full((256, 256), float(i)) for i in range(4)], path)
    loaded = torch.load(path)
    array = loaded[3].numpy()
    array_gone = loaded[2].numpy()
    del array_gone
    with whole("2M") as it:
        stats = it.stats()
        loaded[3].add_(1)
        claim(f"loaded tensors move, except for an array's: {stats}", stats["stayed"] == 1 and
              stats["stayed_bytes"] == 1 << 18 and stats["moved"] >= 3)
        claim("which has the tensor's numbers", array[0, 0] == 4 and loaded[2].sum() == 2 << 16)
    claim("all is freed after loading", closed(it) and loaded[3].sum() == 4 << 16)
    torch.manual_seed(7)
    torch.randn(8 << 16).numpy().tofile(raw)
    for by_hand in (False, True):
        plain, _ = trained(mapped(raw, 8), contextlib.nullcontext(), by_hand)
        for words, make in (("before", lambda: mapped(raw, 8)), ("in", lambda: None)):
            it = whole("4M")
            if make() is None:
                values, stats = run_in(it, lambda: trained(
                    mapped(raw, 8), contextlib.nullcontext(it), by_hand))
            else:
                values, stats = trained(make(), it, by_hand)
            words = f"a mapped file {words} the block, by hand {by_hand}: {stats[0]}"
            claim(f"the same numbers of {words}", alike(plain, values))
            claim(f"it moves: {words}, {stats[-1]}", stats[-1]["moved"] >= 8 and
                  not stats[-1]["outside"])
            del values
            claim(f"all is freed: {words}", closed(it))
    for words, make in (("a shared mapping", lambda: mapped(raw, 8, True)),
                        ("overlapping parts", lambda: mapped(raw, 8, step=1 << 17)),
                        ("NumPy", lambda: [torch.from_numpy(numpy.full((256, 256), 1.0,
                                                                       numpy.float32))
                                           for _ in range(8)])):
        told = heard(lambda: trained(make(), whole("2M"), False))
        claim(f"{words}: it is told, with bytes: {told}", len(told) == 1 and
              "MiB of tensors outside" in told[0] and "clone()" in told[0])


def check_numpy():
    with whole() as it:
        x = torch.arange(200000.0) * 2
        array = x.numpy()
        array[7] = -1
        claim("NumPy sees a tensor, and it sees NumPy", x[7] == -1 and array[8] == 16)
        y = torch.zeros(900000)  # makes the first leave
        claim("a tensor that has left", array[9] == 18 and y.sum() == 0)
        inner = torch.ones(100000).storage()
    claim("an array outlives the block", array[7] == -1 and it.is_open())
    x[7] = 5
    claim("and is the tensor's", array[7] == 5 and inner[0] == 1)
    del x
    claim("an array keeps the space", not closed(it) and array[199999] == 399998)
    del array, inner, y
    claim("until it is gone", closed(it))
    with whole() as it:
        handle = torch.utils.dlpack.to_dlpack(torch.full((100000,), 2.0))
    back = torch.utils.dlpack.from_dlpack(handle)
    claim("DLPack outlives the block", back.sum() == 200000 and it.is_open())
    del handle, back
    claim("and then it is freed", closed(it))


def check_saving(scratch):
    torch.manual_seed(7)
    path = os.path.join(scratch, "state")
    model, x, target = mlp()
    optimizer = torch.optim.Adam(model.parameters())
    with whole("4M") as it:
        ordinary(model, x, target)
        optimizer.step()
        torch.save([model.state_dict(), optimizer.state_dict()], path)
        buffer = io.BytesIO()
        torch.save(model.state_dict(), buffer)
        saved = numbers(model, optimizer)
        ordinary(model, x, target)
        optimizer.step()
        claim("training goes on", not alike(saved, numbers(model, optimizer)))
        states = torch.load(path)
        model.load_state_dict(states[0])
        optimizer.load_state_dict(states[1])
        claim("a state is loaded", alike(saved, numbers(model, optimizer)))
        buffer.seek(0)
        claim("from memory, too", alike([*states[0].values()], [*torch.load(buffer).values()]))
        del states
    claim("and is there afterwards", alike(saved, numbers(model, optimizer)))
    del saved, optimizer  # loaded tensors of its state stay where they are in PyTorch 2
    claim("all is freed after saving", closed(it))


def run_in(it, work):
    with it:
        return work()


def check_tiers(scratch):
    """Tensors leave for ordinary memory, then for CXL memory, then for storage."""
    path = os.path.join(scratch, "range")
    cxl = f"shm:{path}?size=3M"
    with whole("2M", "mem:64M", host="2M", cxl=cxl) as it:
        many = [torch.full((256, 1024), float(i)) for i in range(12)]
        stats = it.stats()
        claim(f"each has some: {stats}", stats["host"] == 2 * MIB and
              MIB < stats["cxl"] < 3 * MIB and stats["stored"] > 2 * MIB)
        claim("they come back", all(t.sum() == i << 18 for i, t in enumerate(many)))
    claim("all is freed with tiers", closed(it) and many[11].sum() == 11 << 18)
    with whole("2M", "mem:64M", cxl=cxl) as it:  # the range is free again
        claim("the range is there again", torch.ones(1 << 18).sum() == 1 << 18)
    os.unlink(path)
    refused("no such range", errno.ENOENT, "/nowhere",
            lambda: run_in(whole(cxl="shm:/nowhere/range?size=1M"), lambda: None))


def check_transforms():
    """Operators inside of torch.func's are operators, too: they wait for no fault."""
    if not hasattr(torch, "func"):  # PyTorch 1.13
        return
    def total(x, y):
        return (x * y).sin().sum()

    transforms = {"vmap": torch.func.vmap(torch.dot), "grad": torch.func.grad(total),
                  "grad of each": torch.func.vmap(torch.func.grad(total)),
                  "jvp": lambda x, y: torch.func.jvp(torch.sin, (x,), (y,))[1]}
    x, y = torch.rand(256, 256), torch.rand(256, 256)
    plain = [transform(x, y) for transform in transforms.values()]
    with whole(policy="none") as it:
        for (name, transform), result in zip(transforms.items(), plain):
            many = [torch.ones(MIB // 4) for _ in range(8)]  # the two leave for them
            before = it.stats()
            claim(f"{name}: the same numbers", torch.equal(transform(x, y), result))
            faults = it.stats()["faults"] - before["faults"]
            moved = it.stats()["in"] - before["in"]
            claim(f"{name}: {moved} bytes have come, {faults} faults", moved and not faults)
            del many


def check_blocks():
    x = torch.ones(300000)
    for i in range(2):
        with whole("2M") as it:
            x += 1
            y = torch.cat([x[:50000]] * 4)
        claim(f"block {i}: numbers", x[0] == 2 + i and y.sum() == 200000 * (2 + i))
        claim(f"block {i}: all is freed", closed(it))
    with whole("2M") as it:
        w = torch.ones(100000, requires_grad=True)
        loss = (w * w).exp().sum()
    claim("a graph keeps the space", not closed(it))
    with whole("2M") as second:
        loss.backward()
    del loss
    claim("and works in another block", torch.allclose(w.grad, 2 * w * w.exp()))
    del w
    claim("and then both are freed", closed(it) and closed(second))
    with whole("4M", "mem:1M") as it:
        many = [torch.full((50000,), float(i)) for i in range(100)]
        claim("a space without addresses: tensors are ordinary", it.stats()["ordinary"] > 0 and
              all(t[-1] == i for i, t in enumerate(many)))
    del many
    claim("all is freed without addresses", closed(it))


def check_leaving(scratch):
    """Tensors that memory has no room for stay in the space, and can be used and saved."""
    room = block.available
    path = os.path.join(scratch, "left")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with whole("2M", "mem:64M") as it:
            many = [torch.full((256, 1024), float(i)) for i in range(20)]
            block.available = lambda: 8 * MIB
        block.available = room
    stay = it.block.state()[1]
    claim(f"tensors stay, as many as there is no room for: {stay}", 13 <= stay <= 14)
    words = [str(line.message) for line in told if line.category is RuntimeWarning]
    claim(f"that is heard: {words}", len(words) == 1 and f"{stay * MIB} bytes" in words[0])
    claim("they are used", all(t.sum() == i << 18 for i, t in enumerate(many)))
    torch.save(many, path)
    claim("they are saved", alike(torch.load(path), many))
    device = it.library.space_stats(it.space)["kept"]
    del many
    claim("they are freed", closed(it) and not device)
    os.unlink(path)


def check_stuck():
    """Tensors that a graph keeps at the end of a block: it tells, and the next block takes them."""
    model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(3)])
    numbers_before = [p.detach().clone() for p in model.parameters()]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with whole("8M", "mem:64M") as first:
            value = (model(torch.ones(64, 512)) ** 2).mean()  # and no backward
    words = [str(line.message) for line in told if line.category is RuntimeWarning]
    claim(f"a graph that lives is heard of, with bytes: {words}",
          len(words) == 1 and f"{first.kept} bytes" in words[0] and first.kept >= 2 * MIB)
    del value
    claim("the graph has gone, and weights are there still", not closed(first))
    with whole("8M", "mem:64M") as second:
        claim("the next block takes them", not first.is_open() and second.stats()["stayed"] == 0)
    claim("they return from there", closed(second))
    claim("with their numbers", alike(numbers_before, [p.detach() for p in model.parameters()]))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        with whole("8M", "mem:64M") as first:
            value = (model(torch.ones(64, 512)) ** 2).mean()
        with whole("8M", "mem:64M") as second:
            kept = second.stats().stayed_bytes
            value.backward()
            value = optimizer.step()
            claim(f"a graph that ends in the next block: an optimizer's step takes them: {kept}",
                  kept >= 2 * MIB and not first.is_open())
    optimizer.zero_grad(set_to_none=True)
    claim("and they return, with their numbers", closed(second) and
          alike(numbers_before, [p.detach() for p in model.parameters()]))


def check_room(scratch):
    """Memory that is left, by files as control groups have them."""
    with open("/proc/meminfo", encoding="ascii") as file:
        total = next(int(line.split()[1]) << 10 for line in file if line.startswith("MemTotal"))
    claim("memory is available", 0 < available.available() <= total)
    for name, files in (("two", {"memory.max": 5000, "memory.current": 4000}),
                        ("one", {"memory.limit_in_bytes": 5000, "memory.usage_in_bytes": 4000}),
                        ("none", {"memory.max": "max", "memory.current": 4000})):
        group = os.path.join(scratch, name)
        os.mkdir(group)
        stat = {"memory.stat": "file 300\nshmem 100\ntotal_cache 300\ntotal_shmem 100"}
        for file, value in dict(files, **stat).items():
            with open(os.path.join(group, file), "w", encoding="ascii") as out:
                out.write(f"{value}\n")
        claim(f"a limit of group {name}",
              list(available.left(group)) == ([1200] if name != "none" else []))


def check_file(scratch):
    """A sparse file holds about the bytes that are stored, however long tensors come and go."""
    path = os.path.join(scratch, "sparse")
    with open(path, "wb"):
        pass
    with whole("2M", f"file:{path}?size=1G", policy="none") as it:
        most = 0
        for i in range(20):
            kept = [torch.full((256, 1024), float(i)) for _ in range(12)]
            most = max(most, it.stats()["stored"])
            del kept
        out = it.stats()["out"]
    used = os.stat(path).st_blocks * 512
    claim(f"a file has {used} bytes for {most}, of {out} that were written",
          most < used <= 2 * most + 17 * MIB < out)
    os.unlink(path)


def check_threads():
    """Tensors of other threads are in the space, and come by faults."""
    sums = []

    def work(seed):
        kept = [torch.full((100000,), float(seed + i)) for i in range(20)]
        sums.append(sum(t.double().sum().item() for t in kept) == 100000 * sum(
            seed + i for i in range(20)))

    with whole("4M") as it:
        threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
        for thread in threads:
            thread.start()
        work(3)
        for thread in threads:
            thread.join()
        queue = [torch.ones(100000) * 3]
    claim(f"threads have the right sums: {sums}", sums == [True] * 4)
    thread = threading.Thread(target=queue.clear)
    thread.start()
    thread.join()
    claim("all is freed after threads", closed(it))


def check_child(words, work):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            os._exit(0 if work() else 1)
        except BaseException as error:  # pylint: disable=broad-except
            print(f"{words}: {error!r}", flush=True)
            os._exit(2)
    status = os.waitpid(child, 0)[1]
    claim(f"{words}: {status}", status == 0)


def check_children():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # OpenMP's others are not in a child
    before = torch.ones(100000)
    with whole("2M") as it:
        inside = torch.full((100000,), 3.0)

        def lost(tensor):
            try:
                tensor.sum()
                return False
            except annex.Error as error:
                return error.errno == errno.ECHILD

        def own_block():
            with whole("2M") as second:
                total = sum((torch.ones(100000) * i).sum().item() for i in range(30))
            return total == 100000 * 435 and closed(second)

        def drop():
            nonlocal inside
            inside = None
            gc.collect()
            return torch.ones(1000000).sum() == 1000000

        check_child("a child has ordinary memory", lambda: torch.ones(100000).sum() == 100000)
        check_child("its parent's tensors are errors", lambda: lost(inside) and lost(before))
        check_child("a child has a block of its own", own_block)
        check_child("a child drops its parent's tensors", drop)
        data = torch.utils.data.TensorDataset(torch.arange(64.0).reshape(8, 8))
        total = sum(x.sum().item() for (x,) in torch.utils.data.DataLoader(
            data, num_workers=2, timeout=60))
        claim("workers of a loader", total == 64 * 63 / 2)
        claim("the parent has its tensors", inside.sum() == 300000 and before.sum() == 100000)
    claim("all is freed after children", closed(it))
    torch.set_num_threads(threads)


def check_allocator():
    """PyTorch's own uses of an allocator, by its addresses."""
    with whole("2M") as it:
        x = torch.ones(10)
        x.resize_(100000)
        x.fill_(3)
        storage = torch.ones(100000).storage()
        storage.resize_(200000)
        claim("resized tensors", x.sum() == 300000 and storage[99999] == 1)
        claim("64 bytes", all(torch.empty(n).data_ptr() % 64 == 0 for n in (20000, 30001)))
        empty = torch.empty(100000)
        ctypes.memset(empty.data_ptr(), 0, 400000)
        claim("memory that C writes", empty.sum() == 0)
    x.resize_(300000)
    claim("a tensor of the block is resized after it", x[99999] == 3)
    del x, storage, empty
    claim("all is freed by the allocator", closed(it))


def main():
    try:
        native.Native.load(library.Library(), block.hear, block.move_used)
    except native.Unavailable as reason:
        print(reason)
        return 1
    if "--check" in sys.argv:
        return 0
    warnings.simplefilter("ignore", FutureWarning)
    warnings.simplefilter("ignore", UserWarning)
    with tempfile.TemporaryDirectory() as scratch:
        check_doors(scratch)
        check_saving(scratch)
        check_leaving(scratch)
        check_tiers(scratch)
        check_room(scratch)
        check_file(scratch)
    check_entry()
    check_numpy()
    check_stuck()
    check_allocator()
    check_transforms()
    check_blocks()
    check_threads()
    check_children()
    check_plans()
    check_training()
    return summary()


if __name__ == "__main__":
    sys.exit(main())
