# SPDX-License-Identifier: MIT
"""with annex.offload(device_memory="64M", storage="file:/data/annex.img"): all CPU tensors.

PyTorch allocates tensors of 64 KiB and more in a space of libannex. Each operator tells the library
which tensors it uses; the iterations of an optimizer are recorded and planned for (annex/exec.h).
"""
import contextlib
import ctypes
import errno
import gc
import os
import warnings
import weakref

import torch

from .compiled import recorded
from .library import Error, ExecOpts, ExecStats
from .native import Block, List, Native, Unavailable
from .offload import Offload
from .saved import SMALLEST
from .state import Lost
from .view import storage_of

Storage = type(storage_of(torch.empty(0)))
blocks = weakref.WeakSet()  # that have begun


class Absent(torch.Tensor):
    """In a child that was forked: a tensor that its parent has. Each use is an error."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        raise Error(errno.ECHILD, "offload: this tensor is with the parent of a process that was "
                    "forked inside of the block: use it there, or fork outside")


def once(objects):
    return list({id(o): o for o in objects}.values())


def tensors():
    """All that Python knows, with their gradients."""
    found = [o for o in gc.get_objects() if issubclass(type(o), torch.Tensor) and
             not issubclass(type(o), (Absent, Lost))]
    return once((*found, *[t.grad for t in found if t.is_leaf and t.grad is not None]))


def known():
    """All tensors and storages that Python knows.

    A storage's object, once made, lives as long as the storage in PyTorch 2. So each gets one.
    """
    with torch._C.DisableTorchFunction():
        found = tensors()
        storages = [o for o in gc.get_objects() if issubclass(type(o), Storage)]
        for tensor in found:
            with contextlib.suppress(RuntimeError, NotImplementedError):  # some have none
                storages.append(storage_of(tensor))
        return List(found, once(storages))


def in_child():
    """After fork(): the tensors of a space are with the parent."""
    if not any(block.state()[1] for block in blocks):
        return
    with torch._C.DisableTorchFunction(), torch.no_grad():
        for tensor in tensors():
            if Native.known.has(tensor):
                tensor.data = tensor.new_empty(0)
                tensor.__class__ = Absent


os.register_at_fork(after_in_child=in_child)


class Whole(Offload):
    """@device_memory: bytes, or such as "64M". @policy: of plans (annex/exec.h)."""

    def __init__(self, native, device_memory, storage, checksum, policy):
        super().__init__(device_memory, storage, checksum)
        self.native = native
        self.policy = policy
        self.block = self.space = self.planner = None
        self.pid = os.getpid()
        self.moved = self.stayed = 0
        self.last = {}

    def open_memory(self, uris):
        stores, self.space, self.planner = [], ctypes.c_void_p(), ctypes.c_void_p()
        try:
            self.space = self.library.open_space(uris, stores, device=self.budget,
                                                 checksum=self.checksum)
            opts = ExecOpts(policy=self.policy.encode())
            self.library("annex_exec_create", self.space, ctypes.byref(opts),
                         ctypes.byref(self.planner))
        except BaseException:
            self.library.dll.annex_space_destroy(self.space)
            for store in stores:
                self.library("annex_store_close", store)
            raise
        return Block(self.native, self.library, self.space, stores, self.planner, SMALLEST,
                     self.budget)

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self.enter_alone(stack)
            self.block = self.open()
            self.pid = os.getpid()
            blocks.add(self.block)
            stack.callback(self.block.leave)
            self.library.give_memory_back()
            self.tell()
            stack.callback(self.give_back)
            stack.callback(self.end)
            self.moved, self.stayed = self.block.move_in(known())
            stack.enter_context(recorded(self.block))
            self.block.begin()
            self.stack = stack.pop_all()
        return self

    def end(self):
        self.last = self.figures()
        planner, self.planner = self.planner, None
        if planner:
            self.block.end()

    def give_back(self):
        """Tensors that Python knows go to ordinary memory. Others keep the space."""
        gc.collect()
        self.block.move_out(known())

    def __exit__(self, kind, error, trace):
        if os.getpid() != self.pid:
            return
        self.stack.__exit__(kind, error, trace)
        with contextlib.suppress(*[RuntimeWarning] if error else []):
            self.tell()

    def figures(self):
        if not self.planner:
            return self.last
        planner = ExecStats()
        self.library.dll.annex_exec_get_stats(self.planner, ctypes.byref(planner))
        _, count, ordinary = self.block.state()
        return dict(self.library.space_stats(self.space), plans=planner.plans,
                    planned=planner.planned, iterations=planner.iterations,
                    plan_error=planner.plan_err, tensors=count, ordinary=ordinary,
                    moved=self.moved, stayed=self.stayed)

    def stats(self):
        """Bytes moved and in use (struct annex_space_stats).

        @plans: made so far; @planned: the last iteration was under one; @iterations; @plan_error:
        why there is no plan (errno, negative); @tensors: in the space now; @ordinary: bytes that
        the space had no addresses for; @moved, @stayed: storages at the beginning.
        """
        if os.getpid() != self.pid:
            raise Error(errno.ECHILD, "offload: its block began before fork()")
        figures = self.figures()
        self.tell()
        return figures

    def is_open(self):
        """Whether tensors are in the space. After the block these keep it."""
        return self.block.state()[0]


def offload(budget=None, storage=(), checksum=False, *, device_memory=None, policy="annex"):
    """While it lasts, tensors live in a space, and the rest of them is on @storage.

    With @budget: tensors that autograd saves, and optimizer state; at most @budget of them is in
    memory at a time. With @device_memory: all CPU tensors, at most so much in memory at a time,
    moved by a plan of @policy. With @checksum, what returns is compared with what has left, and an
    error is raised where it is another.
    """
    if device_memory is None:
        return Offload(budget, storage, checksum)
    base = Offload(device_memory, storage, checksum)
    try:
        native = Native.load(base.library)
    except Unavailable as reason:
        warnings.warn(f"offload: only saved tensors and optimizer state are moved: {reason}",
                      RuntimeWarning, stacklevel=2)
        return base
    return Whole(native, device_memory, storage, checksum, policy)
