# SPDX-License-Identifier: MIT
"""libannex's devices, caches and arrays (annex/array.h), by ctypes."""
import ctypes
import errno
import warnings
from typing import Any, List, Optional

from .library import OUT, TEXT, U32, U64, VOID, Error, Library

VIEW_BYTES = 256  # more than any struct annex_array


class DevOpts(ctypes.Structure):
    _fields_ = [*[(name, ctypes.c_uint32) for name in ("queues", "depth", "max_transfer",
                                                       "timeout_ms")],
                ("provider", ctypes.c_void_p), ("sq", ctypes.c_int), ("cq", ctypes.c_int),
                ("alone", ctypes.c_bool)]


class CacheOpts(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint64), ("line", ctypes.c_uint32),
                ("devs", ctypes.POINTER(ctypes.c_void_p)), ("ndevs", ctypes.c_uint),
                ("nsid", ctypes.c_uint32), ("layout", ctypes.c_int), ("size", ctypes.c_uint64),
                ("provider", ctypes.c_void_p)]


class CacheStats(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in (
        "hits", "misses", "prefetches", "evictions", "writebacks", "errors", "bytes_read",
        "bytes_written", "bytes_asked", "depth_max")]


class Range(ctypes.Structure):
    _fields_ = [("offset", ctypes.c_uint64), ("len", ctypes.c_uint64)]


class Scheme(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("summary", ctypes.c_char_p), ("traits", ctypes.c_uint)]


STRUCTURES = {"annex_dev_opts": DevOpts, "annex_cache_opts": CacheOpts, "annex_scheme": Scheme,
              "annex_cache_stats": CacheStats, "annex_range": Range}
CALLS = {
    "annex_dev_claim": (VOID, U32, U64, U64),
    "annex_cache_create": (ctypes.POINTER(CacheOpts), OUT),
    "annex_cache_destroy": (VOID,),
    "annex_cache_flush": (VOID, U64, U64),
    "annex_array_init": (VOID, VOID, U64, U32, U64),
    "annex_array_gather": (VOID, VOID, ctypes.c_uint, VOID),
    "annex_array_scatter": (VOID, VOID, ctypes.c_uint, VOID),
}


class Arrays(Library):
    """The library's functions for arrays."""

    def __init__(self) -> None:
        super().__init__()
        dll = self.dll
        for call, arguments in CALLS.items():
            getattr(dll, call).argtypes = arguments
        for call, arguments in (("annex_cache_prefetch", (VOID, VOID, ctypes.c_uint)),
                                ("annex_array_prefetch", (VOID, U64, U64))):
            getattr(dll, call).argtypes = arguments
            getattr(dll, call).restype = ctypes.c_int64
        dll.annex_dev_close.restype = ctypes.c_int
        dll.annex_cache_get_stats.argtypes = (VOID, ctypes.POINTER(CacheStats))
        dll.annex_cache_get_stats.restype = None
        dll.annex_dev_traits.argtypes = (TEXT,)
        dll.annex_dev_traits.restype = ctypes.c_uint
        dll.annex_dev_scheme_at.argtypes = (ctypes.c_uint,)
        dll.annex_dev_scheme_at.restype = ctypes.POINTER(Scheme)
        self.schemes: List[str] = []
        while found := dll.annex_dev_scheme_at(len(self.schemes)):
            self.schemes.append(found.contents.name.decode())

    def scheme_of(self, text: str) -> Optional[str]:
        """The scheme of a device's URI. None: the text is no such URI."""
        scheme, colon, _ = text.partition(":")
        return scheme if colon and scheme in self.schemes else None

    def traits(self, uri: str) -> int:
        return int(self.dll.annex_dev_traits(uri.encode()))

    def bytes_of(self, what: str, size: Any) -> int:
        """Bytes, from a number or from one with a suffix."""
        value = U64()
        if self.dll.annex_parse_size(str(size).encode(), ctypes.byref(value)) < 0:
            raise Error(errno.EINVAL, f'open: {what}="{size}" is no size: 512M, 8G')
        return value.value

    def tell(self) -> None:
        """Raise the library's warnings as Python's."""
        for line in Library.warnings.take() if Library.warnings else ():
            warnings.warn(line, RuntimeWarning, stacklevel=4)
