# SPDX-License-Identifier: MIT
"""Devices, caches and views that an array reads through, and their end."""
import atexit
import ctypes
import errno
import os
import threading
import warnings
import weakref
from typing import Any, Callable, Dict, List, NamedTuple, Tuple

from .calls import VIEW_BYTES, Arrays, CacheOpts, CacheStats, DevOpts
from .library import VOID, Error, Namespace
from .source import Part, Source

LEAST_LINES = 64  # of each part's cache
WHOLE = 2**64 - 1


class Options(NamedTuple):
    """@cache, @line: bytes."""

    write: bool
    cache: int
    line: int
    timeout_ms: int


class View(NamedTuple):
    """A part of an array, with its cache. @memory: its struct annex_array."""

    part: Part
    cache: Any
    memory: Any

    @property
    def at(self) -> int:
        return ctypes.addressof(self.memory)


class Forks:
    """How many forks this process is away from the one that imported this module.

    @lock: of a child's threads that open an array again.
    """

    count = 0
    lock = threading.Lock()

    @classmethod
    def child(cls) -> None:
        cls.count += 1
        cls.lock = threading.Lock()


os.register_at_fork(after_in_child=Forks.child)
written: "weakref.WeakSet[Opened]" = weakref.WeakSet()


def release(library: Arrays, ends: List[Tuple[str, Any]], forks: int) -> None:
    """Destroy caches and close devices. In a child, that only frees memory."""
    while ends:
        name, handle = ends.pop()
        code = getattr(library.dll, name)(handle)
        if code < 0 and forks == Forks.count:
            warnings.warn(f"{library.words() or name}: data that was written to an array is lost",
                          RuntimeWarning, stacklevel=2)


class Opened:
    """Handles of the library, of one process. They are closed when nothing refers to this object.

    A call has a reference to it for as long as it runs, so that another thread can close the array
    meanwhile. @alone: the address of the only view, or 0.
    """

    def __init__(self, library: Arrays, source: Source, options: Options) -> None:
        self.library, self.forks, self.options = library, Forks.count, options
        self.views: List[View] = []
        self.starts: List[int] = []
        self.row_bytes = source.row_bytes
        ends: List[Tuple[str, Any]] = []
        total = sum(part.rows for part in source.parts)
        try:
            rows = 0
            for part in source.parts:
                if part.rows and self.row_bytes:
                    self.views.append(self._view(part, part.rows / total, ends))
                    self.starts.append(rows)
                rows += part.rows
        except BaseException:
            release(library, ends, self.forks)
            raise
        self.alone = self.views[0].at if len(self.views) == 1 else 0
        # At the end of the process other threads may still be in a call: caches are only flushed.
        weakref.finalize(self, release, library, ends, self.forks).atexit = False
        if options.write:
            written.add(self)
        library.tell()

    def _view(self, part: Part, share: float, ends: List[Tuple[str, Any]]) -> View:
        """@share: of the cache."""
        library, options, line = self.library, self.options, self.options.line
        device, cache, namespace = VOID(), VOID(), Namespace()
        library("annex_dev_open", part.uri.encode(),
                ctypes.byref(DevOpts(timeout_ms=options.timeout_ms)),
                ctypes.byref(device))
        ends.append(("annex_dev_close", device))
        library("annex_dev_ns", device, 1, ctypes.byref(namespace))
        end = part.offset + part.rows * self.row_bytes
        if end > namespace.block * namespace.blocks:
            raise Error(errno.ERANGE, f"{part.name}: {part.rows} rows of {self.row_bytes} bytes "
                        f"from {part.offset} exceed its {namespace.block * namespace.blocks} bytes")
        if options.write:
            first = part.offset // namespace.block
            library("annex_dev_claim", device, 1, first, -(-end // namespace.block) - first)
        lines = -(-end // line) - part.offset // line
        devices = (ctypes.c_void_p * 1)(device)
        library("annex_cache_create", CacheOpts(
            bytes=line * min(max(int(options.cache * share) // line, LEAST_LINES), lines + 1),
            line=line, devs=devices, ndevs=1,
            size=min(-(-end // line) * line, namespace.block * namespace.blocks),
        ), ctypes.byref(cache))
        ends.append(("annex_cache_destroy", cache))
        memory = ctypes.create_string_buffer(VIEW_BYTES)
        library("annex_array_init", memory, cache, part.offset, self.row_bytes, part.rows)
        return View(part, cache, memory)

    def flush(self) -> None:
        for view in self.views:
            self.library("annex_cache_flush", view.cache, 0, WHOLE)

    def stats(self) -> Dict[str, int]:
        total = dict.fromkeys((field[0] for field in CacheStats._fields_), 0)
        for view in self.views:
            stats = CacheStats()
            self.library.dll.annex_cache_get_stats(view.cache, ctypes.byref(stats))
            for name in total:
                join: Callable[..., int] = max if name == "depth_max" else int.__add__
                total[name] = join(total[name], getattr(stats, name))
        return total


def flush_written() -> None:
    """At the end of the process: arrays that it has not closed."""
    for opened in list(written):
        if opened.forks == Forks.count:
            opened.flush()


atexit.register(flush_written)
