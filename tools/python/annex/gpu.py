# SPDX-License-Identifier: MIT
"""A GPU whose memory is the device tier, by libannex-cuda (annex/cuda.h)."""
import ctypes
import errno
import os

import torch

from .library import OUT, Error, GpuMemory

NAME = "libannex-cuda.so"


def number_of(device):
    """The number of the GPU that a PyTorch device is; None: it is the processor."""
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError):
        found = None
    if found is None or found.type not in ("cpu", "cuda"):
        raise Error(errno.EINVAL, f'offload: device {device!r}: "cpu", "cuda" or "cuda:1"')
    if found.type == "cpu":
        return None
    if not torch.cuda.is_available():
        raise Error(errno.ENODEV, "offload: PyTorch finds no GPU here that CUDA can use")
    torch.cuda.init()
    return torch.cuda.current_device() if found.index is None else found.index


class Gpu:
    """An open GPU. It stays open as long as the process lives, like PyTorch's own contexts."""

    opened = {}

    def __init__(self, library, number):
        self.number = number
        # Beside the library, or where the system finds both.
        path = os.path.join(os.path.dirname(library.name), NAME)
        try:
            dll = ctypes.CDLL(path if os.path.dirname(path) else NAME + ".0")
        except OSError as missing:
            raise Error(errno.ENOENT, f"offload: {missing}: make CUDA=1 in Annex's sources builds "
                        "it") from None
        memory = ctypes.POINTER(GpuMemory)()
        dll.annex_cuda_open.argtypes = (ctypes.c_int, OUT)
        code = dll.annex_cuda_open(number, ctypes.cast(ctypes.byref(memory), OUT))
        if code < 0:
            raise Error(-code, f"offload: {library.words()}")
        self.memory = memory.contents

    @classmethod
    def open(cls, library, number):
        if number not in cls.opened:
            cls.opened[number] = cls(library, number)
        return cls.opened[number]

    def warm(self):
        """Have CUDA's libraries make their workspaces for this thread and stream, in ordinary
        memory. They keep these.
        """
        x = torch.ones(64, 64, device=f"cuda:{self.number}", requires_grad=True)
        torch.addmm(x, x, x).sum().backward()
