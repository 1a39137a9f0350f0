# SPDX-License-Identifier: MIT
"""Claims about the arguments, errors and warnings of annex.offload, and about each optimizer:
offload.py DIRECTORY-OF-annex ANNEX. ANNEX_LIBRARY says which library.
"""
import contextlib
import ctypes
import errno
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
INCLUDE = os.path.join(HERE, "..", "..", "include")
sys.path[:0] = [os.path.abspath(sys.argv[1]), HERE]
import torch  # noqa: E402
import annex  # noqa: E402
from annex import block, library, native  # noqa: E402
from claims import alike, claim, summary  # noqa: E402
from models import small  # noqa: E402
from whole import (MIB, WAIT, closed, heard, ordinary, refused, run_in, train,  # noqa: E402
                   whole)


def check_optimizers():
    """Each optimizer of PyTorch, whose state leaves and returns."""
    makers = {name: getattr(torch.optim, name) for name in (
        "Adadelta", "Adagrad", "Adam", "Adamax", "AdamW", "ASGD", "NAdam", "RAdam", "RMSprop",
        "Rprop")}
    makers["SGD"] = lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)
    makers["RMSprop"] = lambda p: torch.optim.RMSprop(p, momentum=0.9, centered=True)
    makers["amsgrad"] = lambda p: torch.optim.Adam(p, amsgrad=True)
    for name, make in makers.items():
        plain = train(small, make, contextlib.nullcontext(), iterations=2)
        it = annex.offload("1280K", "mem:64M")
        values = train(small, make, it, iterations=2)
        claim(f"{name}: the same numbers", alike(plain[0], values[0]) and
              alike(plain[1], values[1]))
        claim(f"{name}: tensors have left: {values[2]}", values[2]["out"] > MIB // 4)
        claim(f"{name}: all is freed", closed(it))


def check_large():
    """Operators whose tensors are more than device memory run by page faults."""
    torch.manual_seed(7)
    side, other = torch.randn(512, 512), torch.randn(512, 512)

    def out():
        result = torch.ones(512, 512)
        torch.addcmul(side, side, other, out=result)
        return result

    def backward():
        x = side.clone().requires_grad_()
        x.sin().backward(other)
        return x.grad

    for words, work, name in (("a sum", lambda: side + other, "aten::add"),
                              ("a product", lambda: side @ other, "aten::mm"),
                              ("a kernel that makes nothing", out, "aten::addcmul"),
                              ("a list", lambda: torch.cat([side, other]), "aten::cat"),
                              ("tensors of its own", lambda: side[side > 0], "aten::index"),
                              ("backward", backward, "aten::mul")):
        right, results, it = work(), [], whole("2560K")
        told = heard(lambda: results.extend(run_in(it, lambda: (work(), work(), it.stats()))))
        stats = results.pop()
        claim(f"{words}, too large: the same numbers", alike(results, [right, right]))
        claim(f"{words}, too large: no more memory: {stats}", not stats["over"])
        claim(f"{words}, too large: one warning: {told}", len(told) == 1 and
              f"2.5 MiB is too small for {name}, which uses " in told[0] and
              float(told[0].split(" uses ")[1].split(" MiB ")[0]) > 2.5)
        results.clear()
        claim(f"{words}, too large: all is freed", closed(it))
    it = whole("3M")
    told = heard(lambda: run_in(it, lambda: side + other))
    claim(f"device memory that is just enough: {told}", not told)


def check_large_plan():
    """An iteration with an operator that is too large: a plan moves the tensors of the others."""
    model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(3)])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, target = torch.randn(640, 512), torch.randint(512, (640,))
    end = time.monotonic() + WAIT

    def iterate(it):
        while not it.stats()["planned"] and time.monotonic() < end:
            optimizer.zero_grad()
            ordinary(model, x, target)
            optimizer.step()
        return it.stats()

    it, stats = whole("3M"), []
    told = heard(lambda: stats.append(run_in(it, lambda: iterate(it))))
    claim(f"a plan beside an operator that is too large: {stats}, {told}", stats[0]["planned"] and
          len(told) == 2 and "too small for aten::addmm" in told[0] and "least" in told[1])


def check_sparse():
    """An embedding of more than device memory: only touched parts of the table and state move."""
    def learn(around):
        torch.manual_seed(7)
        moved = []
        with around as it:
            table = torch.nn.Embedding(1 << 15, 64, sparse=True)
            optimizer = torch.optim.SparseAdam(table.parameters())
            for _ in range(4):
                before = it.stats().in_bytes if it else 0
                optimizer.zero_grad()
                table(torch.randint(1 << 15, (8,))).square().sum().backward()
                optimizer.step()
                moved.append(it.stats().in_bytes - before if it else 0)
        return [table.weight.detach()], moved

    it = whole("2M")
    plain, got = learn(contextlib.nullcontext())[0], []
    told = heard(lambda: got.extend(learn(it)))
    claim("an embedding beyond device memory: the same numbers", alike(plain, got[0]))
    claim(f"its rows move: {got[1]} bytes of {24 * MIB} in an iteration",
          max(got[1][1:]) < 4 * MIB)
    claim(f"it is told: {told}", "page faults" in told[0])
    got.clear()
    claim("all is freed after an embedding", closed(it))


def check_errors(scratch):
    refused("nesting", errno.EBUSY, "nest", lambda: run_in(whole(), lambda: run_in(
        whole(), lambda: None)))
    it = whole()
    try:
        with it:
            kept = torch.ones(100000)
            raise KeyError("a fault in the loop")
    except KeyError:
        pass
    claim("a loop that fails leaves nothing", closed(it) and kept.sum() == 100000)
    claim("a new tensor is ordinary", closed(it) and torch.ones(100000).sum() == 100000)
    refused("a device tier of a page", errno.EINVAL, "device tier",
            lambda: run_in(whole("4K"), lambda: None))
    path = os.path.join(scratch, "image")
    with whole("2M", f"file:{path}", checksum=True) as it:
        sum(torch.ones(100000) for _ in range(30))
        claim("its file has no name", not os.path.exists(path))
    claim("a file is freed", closed(it))
    claim("a size that is no multiple of a block",
          run_in(whole(2000001, f"file:{path}"), lambda: torch.ones(30000).sum()) == 30000)
    with open(path, "wb") as file:
        file.truncate(64 * MIB)
    refused("a file given twice", errno.EBUSY, path,
            lambda: run_in(whole(storage=[f"file:{path}", f"file:{path}"]), lambda: None))
    run_in(whole("2M", f"file:{path}"), lambda: sum(torch.ones(100000) for _ in range(30)))
    claim("a file that was there stays", os.listdir(scratch) == ["image"])
    os.unlink(path)


def check_arguments(scratch):
    refused("no size", errno.EINVAL, "device_memory", annex.offload)
    refused("two sizes", errno.EINVAL, "not both",
            lambda: annex.offload("8M", "mem:64M", device_memory="8M"))
    claim("budget is device_memory", annex.offload("8M", "mem:64M").memory ==
          annex.offload(budget="8M", storage="mem:64M").memory == whole("8M").memory == 8 * MIB)
    refused("a size that is none", errno.EINVAL, "12Q", lambda: whole("12Q"))
    room, block.available = block.available, lambda: 64 * MIB
    os.environ["LOCAL_WORLD_SIZE"] = "2"
    claim("a size by itself: three quarters of a rank's memory", whole("auto").memory == 24 * MIB)
    del os.environ["LOCAL_WORLD_SIZE"]
    with whole("auto", f"file:{scratch}/own") as it:
        torch.ones(1 << 20).sum()
        claim(f"and is used: {it.stats()}", it.memory == 48 * MIB and
              it.stats().least_bytes == 4 * MIB)
    block.available = room
    refused("no storage", errno.EINVAL, "storage", lambda: whole(storage=[]))
    refused("another scheme", errno.EPROTONOSUPPORT, "tape",
            lambda: run_in(whole(storage="tape:3"), lambda: None))
    refused("no such directory", errno.ENOENT, "nowhere",
            lambda: run_in(whole(storage="file:/nowhere/image"), lambda: None))
    refused("a path that is no text", errno.EINVAL, "file:PATH",
            lambda: whole(storage=pathlib.Path(scratch)))
    refused("None as storage", errno.EINVAL, "storage None is no text: file:PATH",
            lambda: annex.offload("8M", None))
    for uri in "file:", "file:?size=64M":
        refused("a path that is empty", errno.EINVAL, f"storage {uri} has no path: file:PATH",
                lambda uri=uri: whole(storage=["mem:64M", uri]))
    with contextlib.suppress(TypeError):
        claim(f"a third argument by place: {annex.offload('8M', 'mem:64M', '8Q')}", False)
    claim("a block that has not begun is not open", not whole().is_open())
    path = os.path.join(scratch, "image")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limits[1]))
    try:
        refused("a file that is not made", errno.EFBIG, path,
                lambda: whole("2M", f"file:{path}").__enter__())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)


def check_missing(scratch):
    """No compiler, or no library: one line, and what to install."""
    program = """if True:
        import sys
        sys.path.insert(0, sys.argv[1])
        import annex
        try:
            annex.offload("8M", "mem:64M")
        except annex.Error as error:
            print(error)
        """
    for words, variables in (
            ("g++", {"XDG_CACHE_HOME": os.path.join(scratch, "cache"), "CXX": "no-such-compiler"}),
            ("make install", {"ANNEX_LIBRARY": "/nowhere/libannex.so"})):
        told = subprocess.run([sys.executable, "-c", program, sys.argv[1]], check=False,
                              env=dict(os.environ, **variables), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT).stdout.decode()
        claim(f"missing: {told}", told.count("\n") == 1 and words in told)


def check_failing_storage():
    def fill():
        kept = [torch.ones(256, 256) * i for i in range(40)]
        for tensor in kept:
            tensor.add_(1)

    for how in ("write", "read"):
        it = whole("2M", f"mem:64M?fault=error,op={how},count=0")
        warnings.simplefilter("ignore", RuntimeWarning)
        refused(f"storage that does not {how}", errno.EIO, "aten::", lambda: run_in(it, fill))
        claim(f"storage that does not {how}: all is freed", closed(it))


def check_full_storage():
    """A full disk below the storage: one sentence names it, its size, and the tensor once."""
    def fill():
        kept = [torch.full((MIB // 4,), float(i)) for i in range(12)]
        del kept

    it = whole("2M", "mem:64M?fault=error,op=write,count=0,status=0x81")
    try:
        run_in(it, fill)
        claim("a full storage", False)
    except annex.Error as error:
        claim(f"a full storage: {error}", error.errno == errno.ENOSPC and error.strerror ==
              "offload: aten::full: it cannot be moved to gpu: others cannot leave it for ssd0, of "
              f"{64 * MIB} bytes: No space left on device: the storage is full, make room on it")
    claim("a full storage: all is freed", closed(it))


def check_full():
    """A full disk when a block begins: an error in place of a SIGSEGV. All stay whole."""
    before = [torch.full((MIB // 4,), float(i)) for i in range(12)]
    large = torch.arange(MIB)  # of more than the device tier
    for how, status, number, pattern in (("is full", 0x81, errno.ENOSPC, "storage is full"),
                                         ("fails", 0x280, errno.EIO, "use another")):
        it = whole("2M", f"mem:64M?fault=error,op=write,count=0,status={status}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            refused(f"a block that begins where storage {how}", number, pattern,
                    lambda: run_in(it, lambda: None))
        claim(f"storage that {how}: tensors are whole",
              all((t == i).all() for i, t in enumerate(before)) and large.sum() == 549755289600)
        claim(f"storage that {how}: all is freed", closed(it))
    it = whole("2M")
    claim("a block that begins later has them", run_in(it, lambda: it.stats()["moved"] >= 13) and
          closed(it))


def check_touch():
    """No error can be raised where an array of NumPy is read: the process ends, with a line."""
    program = """if True:
        import sys, warnings
        sys.path.insert(0, sys.argv[1])
        warnings.simplefilter("ignore")
        import annex, torch
        with annex.offload(device_memory="2M", storage="mem:64M?fault=flip,op=read,count=0",
                           checksum=True):
            array = torch.ones(300000).numpy()
            kept = [torch.ones(100000) for _ in range(20)]
            array.sum()
        """
    ended = subprocess.run([sys.executable, "-c", program, sys.argv[1]], check=False,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    told = ended.stderr.decode()
    claim(f"a touch of lost bytes: {ended.returncode}: {told}",
          ended.returncode == -signal.SIGSEGV and told.count("\n") == 1 and
          told.startswith("annex: aten::ones: ") and "use another storage" in told)


def check_warnings():
    """A line of the library's own threads is a warning of Python's, once."""
    def fill():
        with annex.offload("4M", "mem:64M?fault=flip,op=read,after=5", checksum=True):
            kept = [torch.full((512, 512), float(i)) for i in range(40)]
            sum(kept)

    told = heard(fill)
    claim(f"a read that went wrong is told of: {told}",
          told and all("came back wrong" in line for line in told))
    claim("each line once", len(told) == len(set(told)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            fill()
            claim("a warning that is an error is raised", False)
        except RuntimeWarning:
            claim("and leaves nothing", run_in(whole(), lambda: torch.ones(10).sum()) == 10)


def check_damage():
    """Storage that gives other bytes back."""
    def fill():
        with annex.offload("4M", "mem:64M?fault=flip,op=read,count=0", checksum=True):
            kept = [torch.full((512, 512), float(i)) for i in range(40)]
            sum(kept)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        refused("damaged data", errno.EILSEQ, "aten::", fill)


def check_structures():
    """Python's and native.cpp's structures are the headers'."""
    headers = "cuda.h", "device.h", "exec.h", "hdm.h", "simulate.h"
    source = '#include <cstddef>\n#include "progress.hpp"\n' + "".join(
        f"#include <annex/{name}>\n" for name in headers)
    source += f"static_assert(ITERATIONS == {native.ITERATIONS});\n" \
        f"static_assert(ANNEX_TIERS == {library.TIERS});\n"
    own = {"Iteration": native.Iteration}
    own.update((f"struct {name}", kind) for name, kind in library.STRUCTURES.items())
    for name, kind in own.items():
        source += f"static_assert(sizeof({name}) == {ctypes.sizeof(kind)});\n"
        for field, _ in kind._fields_:
            source += f"static_assert(offsetof({name}, {field}) == " \
                f"{getattr(kind, field).offset});\n"
    for name, header, fields in (
            ("SpaceStats", "annex_space_stats", library.SpaceStats._fields_),
            ("ExecStats", "annex_exec_stats", library.ExecStats._fields_),
            ("Use", "annex_exec_use", (("ptr", None), ("how", None)))):
        source += f"static_assert(sizeof({name}) == sizeof(struct {header}));\n"
        for field, _ in fields:
            source += f"static_assert(offsetof({name}, {field}) == " \
                f"offsetof(struct {header}, {field}));\n"
    done = subprocess.run([os.environ.get("CXX", "g++"), "-std=c++17", "-fsyntax-only", "-x", "c++",
                           "-I", INCLUDE, "-I", os.path.dirname(native.SOURCES[0]), "-"],
                          input=source.encode(), stderr=subprocess.PIPE, check=False)
    claim(f"structures: {done.stderr.decode()}", done.returncode == 0)


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as scratch:
        check_missing(scratch)
    with tempfile.TemporaryDirectory() as scratch:
        check_arguments(scratch)
        check_errors(scratch)
    check_structures()
    check_large()
    check_large_plan()
    check_sparse()
    check_failing_storage()
    check_full_storage()
    check_full()
    check_touch()
    check_warnings()
    check_damage()
    check_optimizers()
    return summary()


if __name__ == "__main__":
    sys.exit(main())
