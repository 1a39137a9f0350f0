# SPDX-License-Identifier: MIT
"""with annex.offload("64M", "file:/data/annex.img"): an ordinary training loop.

PyTorch allocates tensors of 64 KiB and more in a space of libannex. Each operator tells the library
which tensors it uses. The iterations of an optimizer are recorded and planned (annex/exec.h).
"""
from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import errno
import gc
import os
import threading
import types
import typing
import warnings
import weakref

import torch

from . import plans
from .available import available
from .compiled import recorded
from .gpu import Gpu, number_of
from .interrupts import Interrupts
from .library import PAGE, Error, ExecOpts, ExecStats, Library, ranks
from .native import Block, Count, List, Native, Unavailable, storage_of
from .stats import Stats
from .storage import Storage


STORAGE = type(storage_of(torch.empty(0)))
SMALLEST = 65536  # bytes: smaller tensors stay in ordinary memory
STDERR = 2
PARTS = 8  # of available memory: one is left to other programs
turnstile = threading.Lock()
begun = weakref.WeakSet()  # blocks
STAY = ("offload: memory has no room for all tensors: %u bytes of them stay where they are, and "
        "keep the space: save them, and drop them")
KEPT = ("offload: a graph of autograd, an array or a traceback keeps %u bytes of tensors, which "
        "stay in the space: drop it, and the next block takes the tensors over")
FULL = ("offload: the storage has no room: new tensors are in ordinary memory, beyond "
        "device_memory: give it more (file:PATH?size=64G, or a list of devices)")


class Absent(torch.Tensor):
    """A parent's tensor in a forked child. Each use is an error."""

    number = errno.ECHILD
    told = ("offload: this tensor is with the parent of a process that was forked inside of the "
            "block: use it there, or fork outside (DataLoader: num_workers=0, or "
            "persistent_workers that start before the block)")

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        raise Error(cls.number, cls.told)


class Gone(Absent):
    """A tensor that failing storage had when the block ended. PyTorch's kernels would crash."""

    number = errno.EIO
    told = "offload: this tensor was on storage that fails, and is lost: load or compute it again"


def once(objects):
    return list({id(o): o for o in objects}.values())


def gradient(tensor):
    try:
        return tensor.grad if tensor.is_leaf else None
    except RuntimeError:  # PyTorch refuses to look at a view whose base was written since
        return None


def objects_of(*kinds):
    """All objects of these classes and of their subclasses."""
    objects = gc.get_objects()
    classes = {kind for kind in set(map(type, objects)) if issubclass(kind, kinds)}
    return [o for o in objects if type(o) in classes]


def tensors(objects):
    """The tensors among objects, with their gradients."""
    found = [o for o in objects if isinstance(o, torch.Tensor) and not isinstance(o, Absent)]
    return once((*found, *[g for g in map(gradient, found) if g is not None]))


def known():
    """All tensors and storages that Python knows.

    A storage's object, once made, lives as long as the storage in PyTorch 2. So each gets one.
    """
    with torch._C.DisableTorchFunction():
        objects = objects_of(torch.Tensor, STORAGE)
        found = tensors(objects)
        storages = [o for o in objects if isinstance(o, STORAGE)]
        for tensor in found:
            with contextlib.suppress(RuntimeError, NotImplementedError):  # some have none
                storages.append(storage_of(tensor))
        return List(found, once(storages))


def become(kind, is_one):
    """Turn tensors whose bytes are gone into objects of @kind."""
    with torch._C.DisableTorchFunction(), torch.no_grad():
        for tensor in tensors(objects_of(torch.Tensor)):
            if is_one(tensor):
                tensor.data = tensor.new_empty(0)
                tensor.__class__ = kind


def in_child():
    """After fork(): the tensors of a space are with the parent, and the child is in no block."""
    global turnstile
    turnstile = threading.Lock()
    Library.warnings = None  # the parent's
    natives = list(Native.known.values())
    if any(it.block.state()[1] for it in begun):
        become(Absent, lambda tensor: tensor.device.type == "cpu" and
               any(native.has(tensor) for native in natives))


os.register_at_fork(after_in_child=in_child)


def hear(_):
    """Give warnings at once, before the block ends. Return: 0, for C."""
    for it in list(begun):
        if it.planner and it.pid == os.getpid():
            it.tell()
    return 0


def move_used():
    """Move tensors to the space that operators use outside of it, in the block's thread."""
    for it in list(begun):
        if it.planner and it.pid == os.getpid():
            with contextlib.suppress(Error):  # the tensors stay, and are whole
                it.moved_later += it.block.move_in(known(), used=True)[0].n


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Offload:
    """@memory: bytes of device memory. @policy: of plans (annex/exec.h). @plan: files of a plan and
    of its trace, or None. @progress: whether a line on stderr shows it; None: if that is a
    terminal. @gpu: the GPU whose tensors move; None: the processor's do.
    """

    def __init__(self, library, native, memory, storage, checksum, policy, plan, progress, host,
                 cxl, gpu):
        self.library, self.native, self.gpu = library, native, gpu
        self.memory = memory
        self.storage = Storage(storage, memory)
        self.checksum = checksum
        self.host = library.size(host)
        self.cxl = cxl
        self.policy, self.files = policy, plan
        self.lines = os.isatty(STDERR) if progress is None else progress
        self.interrupts = Interrupts(Offload.__enter__, Offload.__exit__)
        self.block = self.space = self.planner = self.stack = self.thread = None
        self.pid = os.getpid()
        self.moved, self.stayed = Count(), Count()
        self.moved_later = self.beyond = self.kept = 0
        self.told = set()
        self.last = Stats()

    def frames(self):
        """Memory for the device tier (annex/frames.h); None: the process's."""
        return self.gpu and self.gpu.memory.frames

    def create(self, uris):
        """The space, and its planner."""
        stores, self.space, self.planner = [], ctypes.c_void_p(), ctypes.c_void_p()
        cxl, size = self.library.open_range(self.cxl) if self.cxl else (ctypes.c_void_p(), 0)
        try:
            self.space = self.library.open_space(uris, stores, device=self.memory, host=self.host,
                                                 cxl=cxl, cxl_bytes=size, checksum=self.checksum,
                                                 frames=self.frames(),
                                                 provider=self.gpu and self.gpu.memory.pinned)
            opts = ExecOpts(policy=self.policy.encode())
            self.library("annex_exec_create", self.space, ctypes.byref(opts),
                         ctypes.byref(self.planner))
        except BaseException:
            self.library.dll.annex_space_destroy(self.space)
            for store in stores:
                self.library("annex_store_close", store)
            self.library.dll.annex_hdm_close(cxl)
            raise
        return Block(self.native, self.library, self.space, stores, cxl, self.planner, SMALLEST,
                     self.memory, self.gpu.number if self.gpu else -1, self.policy != "none",
                     self.lines, bool(self.files))

    @staticmethod
    def enter_alone(stack):
        """One block at a time, until @stack is left."""
        if not turnstile.acquire(blocking=False):
            raise Error(errno.EBUSY, "offload: it is on already, and does not nest")
        stack.callback(turnstile.release)

    def __enter__(self) -> Offload:
        with contextlib.ExitStack() as stack:
            self.interrupts.watch()
            stack.callback(self.interrupts.end)
            self.enter_alone(stack)
            self.block = self.storage.open(self.create)
            self.pid, self.thread = os.getpid(), threading.get_ident()
            begun.add(self)
            stack.callback(self.block.leave)
            self.library.give_memory_back()
            self.tell()
            if self.files:
                self.take_plan()
            stack.callback(self.give_back)
            stack.callback(self.end)
            if self.gpu:
                self.gpu.warm()
            self.moved, self.stayed = self.block.move_in(known())
            if self.gpu:
                torch.cuda.empty_cache()
            stack.enter_context(recorded(self.block))
            self.block.begin()
            self.stack = stack.pop_all()
        if self.interrupts.waits:
            self.__exit__(None, None, None)
        return self

    def take_plan(self):
        """Follow a plan of an earlier block. One that does not fit is only told of."""
        try:
            plans.give(self.library, self.planner, self.files)
        except Error as error:
            if error.errno != errno.EINVAL:
                raise
            warnings.warn(error.strerror, RuntimeWarning, stacklevel=4)

    def end(self):
        self.last = self.figures()
        planner, self.planner = self.planner, None
        if planner:
            self.block.end()

    def give_back(self):
        """Move tensors that Python knows to ordinary memory, as far as there is room. Others keep
        the space, until they are freed, or the next block takes them.
        """
        gc.collect()
        try:
            self.beyond = self.block.move_out(known(), available() // PARTS * (PARTS - 1))
            self.kept = self.block.state()[3] - self.beyond
        except Error:
            become(Gone, self.native.is_lost)
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: types.TracebackType | None) -> None:
        if os.getpid() != self.pid:
            self.interrupts.end()
            return
        self.stack.__exit__(kind, error, trace)
        # A warning that is to be an exception must not take the place of another one.
        with contextlib.suppress(*[RuntimeWarning] if error else []):
            self.tell()

    def heard(self):
        """Warnings of the library since the last call, and warnings of the block."""
        lines = Library.warnings.take()
        if self.block:
            lines += self.block.warnings()
            lines += [FULL] if self.block.state()[2] else []
            lines += [STAY % self.beyond] if self.beyond else []
            lines += [KEPT % self.kept] if self.kept else []
            if not self.told.issuperset(lines):
                self.block.clear()
        return lines

    def tell(self):
        """Give each warning once in a block, as Python's."""
        for line in self.heard():
            if line not in self.told:
                self.told.add(line)
                warnings.warn(line, RuntimeWarning, stacklevel=3)

    def figures(self):
        if not self.planner:
            return dataclasses.replace(self.last, state="ended")
        planner = ExecStats()
        self.library.dll.annex_exec_get_stats(self.planner, ctypes.byref(planner))
        _, count, ordinary, _, outside, least = self.block.state()
        space = self.library.space_stats(self.space)
        faults = {name: space.pop(name) for name in ("faults", "write_faults")}
        return Stats(plans=planner.plans, planned=planner.planned, iterations=planner.iterations,
                     plan_error=planner.plan_err, tensors=count, ordinary_bytes=ordinary,
                     moved=self.moved.n + self.moved_later, stayed=self.stayed.n,
                     stayed_bytes=self.stayed.bytes, outside_bytes=outside, least_bytes=least,
                     state=self.block.planning(), iteration_s=planner.ns / 1e9,
                     stall_s=planner.stall_ns / 1e9, until_plan_s=planner.until_plan_ns / 1e9,
                     **faults, **{f"{name}_bytes": value for name, value in space.items()})

    def inside(self, name):
        """Refuse function @name outside of the block's thread, which runs the iterations."""
        if os.getpid() != self.pid:
            raise Error(errno.ECHILD, "offload: its block began before fork()")
        if not self.planner:
            raise Error(errno.EINVAL, f"offload: call {name}() inside of the block")
        if threading.get_ident() != self.thread:
            raise Error(errno.EINVAL, f"offload: call {name}() in the thread that began the block")

    def stats(self) -> Stats:
        """Figures of the block: help(annex.Stats) explains them."""
        if os.getpid() != self.pid:
            raise Error(errno.ECHILD, "offload: its block began before fork()")
        figures = self.figures()
        self.tell()
        return figures

    def plan(self, path: str | os.PathLike[str] | None = None) -> dict[str, typing.Any] | None:
        """Figures of the plan in use, as a dict; None: there is none (stats()["state"]).

        Each kind of iteration has its plan; this is the last iteration's. It is written to @path,
        for annex plan show.

        @policy: that made it.
        @kernels: kernels of the iteration.
        @steps: steps of the plan.
        @in_bytes, @out_bytes: moved in an iteration.
        @simulated_s: seconds of an iteration by the simulator.
        @stalled_s: seconds of these in which kernels wait.
        @bound_s: seconds that no plan can beat.
        @ideal_s: seconds with memory for everything.
        @measured_s: median of the last iterations under it; None: there is none yet.
        @of_simulated: @measured_s / @simulated_s.
        @of_bound: @measured_s / @bound_s.
        @machine: options for annex plan show.
        """
        self.inside("plan")
        found = plans.in_use(self.library, self.planner)
        if not found:
            return None
        if path is not None:
            write(path, plans.plan_text(self.library, found))
        return plans.described(self.library, found, self.block.iterations())

    def trace(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """The iteration that the plan in use was made of, or the last one, as annex-trace/1
        (docs/trace-format.md): written to @path, or returned.
        """
        self.inside("trace")
        text = plans.trace_text(self.library, self.planner)
        if path is None:
            return text
        write(path, text)
        return None

    def step(self) -> None:
        """End an iteration. From the first call on, optimizers' steps end none.

        A program without an optimizer calls it after each call of its model, and gets a plan.
        """
        self.inside("step")
        self.block.step()

    def is_open(self) -> bool:
        """Whether the space exists: until the block has ended, and its last tensor has gone."""
        return bool(self.block and self.block.state()[0])


def automatic(gpu: typing.Any) -> int:
    """Bytes of device memory: three quarters of the memory that is left for this rank."""
    free = torch.cuda.mem_get_info(gpu.number)[0] if gpu else available() // ranks()[1]
    return free // 4 * 3 // PAGE * PAGE


def offload(budget: int | str | None = None, storage: str | typing.Iterable[str] = (),
            *, checksum: bool = False, device_memory: int | str | None = None,
            device: str | int | torch.device = "cpu", host: int | str = 0,
            cxl: str | None = None, policy: str = "annex",
            plan: tuple[str, str] | None = None, progress: bool | None = None) -> Offload:
    """While the block lasts, tensors of @device live in a space: at most @device_memory of them are
    in its memory at a time, and the others are on @storage.

    Training: an optimizer's step() ends an iteration.

        with annex.offload("8G", "file:/data/annex.img"):
            for x, target in batches:
                optimizer.zero_grad()
                loss(model(x), target).backward()
                optimizer.step()

    Other programs, such as inference, end an iteration themselves:

        with annex.offload("8G", "file:/data/annex.img") as it:
            for x in batches:
                y = model(x)
                it.step()

    @device_memory: bytes, or a text such as "8G". "auto": three quarters of the memory that is
    left, in control groups and among ranks, when this function is called. @budget: its short form.
    @storage: URI of a device, or several. A file that does not exist is made for the block.
    @checksum: compare bytes that return with the bytes that left. A difference is an error.
    @device: "cpu", "cuda" or "cuda:1".
    @host: bytes of ordinary memory beside, to which tensors move before @storage.
    @cxl: CXL memory to which tensors move: "numa:1?size=8G", or another range.
    @policy: of the plans that move tensors. "none": tensors arrive when operators use them.
    @plan: files that it.plan() and it.trace() have written in an earlier block, ("a.plan",
    "a.trace"). That plan is followed from the first iteration on.
    @progress: whether a line on stderr shows iterations. None: if that is a terminal.
    """
    if budget is None and device_memory is None:
        raise Error(errno.EINVAL, 'offload: no size: device_memory="8G", or "auto"')
    if budget is not None and device_memory is not None:
        raise Error(errno.EINVAL, "offload: give device_memory, or budget as its short form, not "
                    "both")
    library = Library()
    size = budget if device_memory is None else device_memory
    number = number_of(device)
    gpu = None if number is None else Gpu.open(library, number)
    memory = automatic(gpu) if size == "auto" else library.size(size)
    try:
        native = Native.load(library, hear, move_used, bool(gpu))
    except Unavailable as reason:
        raise Error(errno.EOPNOTSUPP, f"offload: its compiled part is missing: {reason}") from None
    return Offload(library, native, memory, storage, checksum, policy, plan, progress, host, cxl,
                   gpu)
