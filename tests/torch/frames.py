# SPDX-License-Identifier: MIT
"""The host's frames in the place of a GPU's memory, for blocks of annex.offload: a tensor's bytes
are there while an operator uses it, and otherwise nobody may touch them (lib/gpu/frames.c).
"""
import contextlib
import ctypes

from annex.library import GpuMemory
from annex.whole import Whole


def host(it):
    find = it.library.dll.annex_gpu_memory_host
    find.restype = ctypes.POINTER(GpuMemory)
    return find().contents.frames


@contextlib.contextmanager
def instead():
    """While it lasts, blocks have them."""
    before, Whole.frames = Whole.frames, host
    try:
        yield
    finally:
        Whole.frames = before
