# SPDX-License-Identifier: MIT
"""A user of the wheel, without PyTorch and without a compiler: wheel.py FILE. It reads the lines of
a file through a cache, and compares them.
"""
import ctypes
import os
import sys

import annex
from annex.library import Library

LINE = 4096


class CacheOpts(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint64), ("line", ctypes.c_uint32),
                ("devs", ctypes.POINTER(ctypes.c_void_p)), ("ndevs", ctypes.c_uint),
                ("nsid", ctypes.c_uint32), ("layout", ctypes.c_int), ("size", ctypes.c_uint64),
                ("provider", ctypes.c_void_p)]


def main():
    library = Library()
    assert os.path.dirname(library.name) == os.path.dirname(annex.__file__), library.name
    with open(sys.argv[1], "rb") as file:
        wanted = file.read()
    device, cache, line = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    library("annex_dev_open", f"file:{sys.argv[1]}?readonly=1".encode(), None,
            ctypes.byref(device))
    opts = CacheOpts(bytes=1 << 20, line=LINE, devs=ctypes.pointer(device), ndevs=1)
    library("annex_cache_create", ctypes.byref(opts), ctypes.byref(cache))
    for n in range(len(wanted) // LINE):
        library("annex_cache_pin", cache, ctypes.c_uint64(n), 0, ctypes.byref(line))
        read = ctypes.string_at(line.value, LINE)
        library.dll.annex_cache_unpin(cache, ctypes.c_uint64(n), 0)
        assert read == wanted[n * LINE:(n + 1) * LINE], n
    library("annex_cache_destroy", cache)
    library.dll.annex_dev_close(device)
    print(f"{len(wanted)} bytes by {library.name}")


if __name__ == "__main__":
    main()
