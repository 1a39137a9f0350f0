# SPDX-License-Identifier: GPL-2.0-or-later
"""What autograd saves for backward, in regions.

A storage goes once, however many tensors are views of it, and comes back at the same strides: so
that kernels do the same sums in the same order.
"""
import contextlib
import ctypes
import weakref

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from .library import Error
from .memory import SAVED

SMALLEST = 65536  # bytes; less is not worth it
# A tensor that is less than such a part of its storage goes alone, closely packed.
PART = 4


def storage_of(tensor):
    if hasattr(tensor, "untyped_storage"):
        return tensor.untyped_storage()
    return tensor.storage()._storage


def tensor_over(region, dtype, owner):
    """A flat tensor over a region, which keeps the owner for as long as it lives."""
    array = (ctypes.c_char * region.bytes).from_address(region.address)
    array.owner = owner
    return torch.frombuffer(array, dtype=dtype)


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

    def __init__(self, lease, turn, tensor, whole):
        self.lease = lease
        self.turn = turn
        self.dtype = tensor.dtype
        self.device = tensor.device
        self.size = tensor.size()
        self.stride = tensor.stride() if whole else packed(tensor).stride()
        self.offset = tensor.storage_offset() if whole else 0

    def unpack(self):
        memory = self.lease.memory
        pin = memory.pin(self.lease)
        memory.prefetch_saved()
        flat = tensor_over(self.lease.region, self.dtype, pin)
        if self.device.type != "cpu":
            flat = flat.pin_memory().to(self.device, non_blocking=True)
        return flat.as_strided(self.size, self.stride, self.offset)


def packed(tensor):
    """Its like with no gaps between elements, without memory."""
    return torch.empty_like(tensor, device="meta")


def whole_storage(tensor):
    count = storage_of(tensor).nbytes() // tensor.element_size()
    return tensor.detach().as_strided((count,), (1,), 0)


class Saver:
    """The pair of hooks for torch.autograd.graph.saved_tensors_hooks. @failure: the last one."""

    def __init__(self, memory):
        self.memory = memory
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
        if not worth_moving(tensor):
            return Kept(tensor)
        with self.noted():
            return self.move(tensor)

    def unpack(self, packed_one):
        with self.noted():
            return packed_one.unpack()

    def move(self, tensor):
        storage = storage_of(tensor)
        whole = storage.nbytes() <= PART * tensor.numel() * tensor.element_size()
        # A storage's address is its own while the lease has a weak reference to it.
        key = (storage._cdata, storage.data_ptr(), tensor._version, tensor.element_size(),
               None if whole else
               (tensor.dtype, tensor.storage_offset(), tensor.size(), tensor.stride()))
        lease = self.leases.get(key)
        if lease is None:
            lease = self.copy(tensor, whole)
            lease.source = StorageWeakRef(storage)
            self.leases[key] = lease
        return Moved(lease, self.memory.save(lease), tensor, whole)

    def copy(self, tensor, whole):
        source = whole_storage(tensor) if whole else tensor.detach()
        size = source.numel() * source.element_size()
        name = f"saved {str(tensor.dtype)[6:]}{list(tensor.shape)}"
        lease = self.memory.allocate(size, name, SAVED)
        target = tensor_over(lease.region, tensor.dtype, self.memory.pin(lease))
        if not whole:
            target = target.as_strided(tensor.size(), packed(tensor).stride())
        if source.is_cuda:
            source = torch.empty_like(source, device="cpu", pin_memory=True).copy_(source)
        target.copy_(source)
        return lease
