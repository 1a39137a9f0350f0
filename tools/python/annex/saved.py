# SPDX-License-Identifier: MIT
"""What autograd saves for backward, in regions.

A storage goes once, however many tensors are views of it, and comes back the same to every kernel:
so that kernels do the same sums in the same order.
"""
import contextlib
import ctypes
import weakref

import torch

from .library import Error
from .memory import SAVED
from .view import View, storage_of, tensor_over

SMALLEST = 65536  # bytes; less is not worth it

memcmp = ctypes.CDLL(None).memcmp
memcmp.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


def is_parameter(tensor):
    return isinstance(tensor, torch.nn.Parameter) or (tensor.is_leaf and tensor.requires_grad)


def worth_moving(tensor):
    if type(tensor) is not torch.Tensor or tensor.layout != torch.strided:
        return False
    if tensor.device.type not in ("cpu", "cuda") or tensor.is_quantized:
        return False
    if tensor.is_conj() or tensor.is_neg() or tensor.numel() == 0:
        return False
    # Parameters are there all the time anyway.
    if is_parameter(tensor) or (tensor._base is not None and is_parameter(tensor._base)):
        return False
    return storage_of(tensor).nbytes() >= SMALLEST


class Kept:
    """One that stays where it is. Autograd does not check it for changes, as there are hooks."""

    def __init__(self, tensor):
        self.tensor = tensor.detach()
        self.version = tensor._version

    def unpack(self):
        if self.tensor._version != self.version:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an "
                f"inplace operation: {list(self.tensor.shape)} is at version "
                f"{self.tensor._version}; expected version {self.version} instead")
        return self.tensor


class Moved:
    """One that is in a region."""

    def __init__(self, lease, turn, view):
        self.lease = lease
        self.turn = turn
        self.view = view

    def unpack(self):
        memory = self.lease.memory
        pin = memory.pin(self.lease)
        memory.prefetch_saved()
        return self.view.over(self.lease.region, pin)


class Saver:
    """The pair of hooks for torch.autograd.graph.saved_tensors_hooks. @failure: the last one.

    @tell is called with each.
    """

    def __init__(self, memory, tell):
        self.memory = memory
        self.tell = tell
        self.failure = None
        self.leases = weakref.WeakValueDictionary()

    @contextlib.contextmanager
    def noted(self):
        try:
            yield
        except Error as error:
            self.failure = Error(error.errno, error.strerror)  # with no frames, nor what is in them
            raise

    def pack(self, tensor):
        if not self.memory.is_here() or not worth_moving(tensor):
            return Kept(tensor)
        self.tell()
        with self.noted():
            return self.move(tensor)

    def unpack(self, packed_one):
        with self.noted():
            return packed_one.unpack()

    def move(self, tensor):
        """Copy it, unless the same bytes are there already.

        A tensor's version does not tell of writes by NumPy, DLPack, .data, or another storage of
        the same memory. So the bytes are compared, which takes less than to copy them. They are not
        brought back for that: if they have left, they are copied again.
        """
        view = View(tensor)
        source = view.source(tensor)
        key = (source.data_ptr(), source.element_size() * source.numel(), source.stride())
        if source.is_cuda:
            source = torch.empty_like(source, device="cpu", pin_memory=True).copy_(source)
        else:
            source = source.contiguous()
        lease = self.leases.get(key)
        if lease is None or not self.same(lease, view, source):
            lease = self.copy(tensor, view, source)
            self.leases[key] = lease
        return Moved(lease, self.memory.save(lease), view)

    def same(self, lease, view, source):
        """Whether a region is in memory, and holds these bytes."""
        pin = self.memory.pin_resident(lease)
        size = source.numel() * source.element_size()
        return pin is not None and memcmp(
            lease.region.address + view.skip, source.data_ptr(), size) == 0

    def copy(self, tensor, view, source):
        size = view.skip + source.numel() * source.element_size()
        name = f"saved {str(tensor.dtype)[6:]}{list(tensor.shape)}"
        lease = self.memory.allocate(size, name, SAVED)
        pin = self.memory.pin(lease)
        tensor_over(lease.region, view.dtype, pin, view.skip).copy_(source.flatten())
        return lease
