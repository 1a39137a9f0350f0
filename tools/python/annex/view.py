# SPDX-License-Identifier: MIT
"""How a tensor lies in its storage, and tensors that lie the same way in other memory."""
import ctypes
import math
import mmap

import torch

# A tensor whose elements are less than such a part of its storage goes without the rest.
PART = 4
ALIGNED = 64  # bytes: a line of a cache, and the longest vector
NORESERVE = 0x4000  # MAP_NORESERVE, which Python's mmap names since 3.12 only


def storage_of(tensor):
    if hasattr(tensor, "untyped_storage"):
        return tensor.untyped_storage()
    return tensor.storage()._storage


def tensor_over(region, dtype, owner, skip=0):
    """A flat tensor over a region without its first bytes; it keeps the owner while it lives."""
    array = (ctypes.c_char * region.bytes).from_address(region.address)
    array.owner = owner
    return torch.frombuffer(array, dtype=dtype, offset=skip)


def each_once(size, stride):
    """Sizes and strides of the same elements, each of them once, by falling strides.

    Of dimensions that overlap it is all from the first element to the last.
    """
    rows = sorted((step, count) for count, step in zip(size, stride) if count > 1 and step > 0)
    reach, overlap = 0, False
    for step, count in rows:
        overlap |= step <= reach
        reach += step * (count - 1)
    if overlap:
        return (reach + 1,), (1,)
    return tuple(count for _, count in reversed(rows)), tuple(step for step, _ in reversed(rows))


class View:
    """How a tensor lies in its storage: its type, strides and alignment, which kernels see.

    Saved is the whole storage (@whole), since its other views share that, or the elements alone.
    """

    def __init__(self, tensor):
        storage = storage_of(tensor)
        self.dtype = tensor.dtype
        self.device = tensor.device
        self.size = tensor.size()
        self.stride = tensor.stride()
        self.offset = tensor.storage_offset()
        self.rows = each_once(self.size, self.stride)
        self.count = storage.nbytes() // tensor.element_size()
        self.whole = self.count <= PART * math.prod(self.rows[0])
        self.align = storage.data_ptr() % ALIGNED
        self.skip = self.align if self.whole else 0

    def source(self, tensor):
        """What of the storage is to be saved."""
        plain = tensor.detach()
        if self.whole:
            return plain.as_strided((self.count,), (1,), 0)
        return plain.as_strided(*self.rows, self.offset)

    def spread(self, packed):
        """A storage of the same size. Only the elements are there: the rest is zeroes, and takes no
        memory.
        """
        memory = mmap.mmap(-1, self.align + self.count * packed.element_size(),
                           flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NORESERVE)
        flat = torch.frombuffer(memory, dtype=self.dtype, offset=self.align)
        flat.as_strided(*self.rows, self.offset).copy_(packed.view(self.rows[0]))
        return flat

    def gather(self, packed):
        """On a GPU, where all takes memory: the storage from its first element to its last."""
        reach = 1 + sum((n - 1) * step for n, step in zip(*self.rows))
        flat = packed.new_zeros(reach)
        flat.as_strided(*self.rows).copy_(packed.view(self.rows[0]))
        return flat.as_strided(self.size, self.stride)

    def over(self, region, owner):
        """The tensor, from a region that holds its source."""
        flat = tensor_over(region, self.dtype, owner, self.skip)
        if self.device.type != "cpu":
            flat = flat.pin_memory().to(self.device, non_blocking=True)
            if not self.whole:
                return self.gather(flat)
        elif not self.whole:
            flat = self.spread(flat)
        return flat.as_strided(self.size, self.stride, self.offset)
