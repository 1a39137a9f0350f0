# SPDX-License-Identifier: MIT
"""The host's frames in the place of a GPU's memory, for blocks of annex.offload. A tensor's bytes
are there only while an operator uses it: any other touch of them crashes (lib/gpu/frames.c).
"""
import contextlib
import ctypes

from annex.library import GpuMemory
from annex.block import Offload


def host(it):
    find = it.library.dll.annex_gpu_memory_host
    find.restype = ctypes.POINTER(GpuMemory)
    return find().contents.frames


@contextlib.contextmanager
def instead():
    """While it lasts, blocks have them."""
    before, Offload.frames = Offload.frames, host
    try:
        yield
    finally:
        Offload.frames = before
