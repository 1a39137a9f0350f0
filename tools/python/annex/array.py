# SPDX-License-Identifier: MIT
"""a = annex.open("features.npy", cache="512M"): rows on storage, as NumPy arrays and tensors."""
import ctypes
import errno
import operator
import os
import pathlib
import types
from typing import (TYPE_CHECKING, Any, Callable, Dict, Iterator, List, NamedTuple, NoReturn,
                    Optional, Sequence, Tuple, Type, Union)

import numpy as np

from .calls import Arrays
from .library import Error
from .opened import Forks, Opened, Options, View
from .source import Opener, Path, Shape, Source, refuse

if TYPE_CHECKING:
    import torch

INT64 = np.dtype(np.int64)
CHUNK = 1 << 24  # bytes of rows that are read and written at a time
MOST = 1 << 24  # indices of a call of the library
Index = Any  # an integer, a slice, or an array of integers or of booleans


def address(array: "np.ndarray") -> int:
    """Of a contiguous array. array.ctypes.data takes two microseconds."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]
    except (TypeError, ValueError):  # it is read only, empty, or of dates
        return int(array.ctypes.data)


class Run(NamedTuple):
    """Consecutive rows."""

    first: int
    length: int


class Rows:
    """Selected rows. @index: a Run, or an array of 64-bit integers in one dimension; @shape: of the
    rows.
    """

    __slots__ = "index", "shape"

    def __init__(self, index: "Union[Run, np.ndarray]", shape: Tuple[int, ...]) -> None:
        self.index, self.shape = index, shape

    def __len__(self) -> int:
        return self.index.length if isinstance(self.index, Run) else len(self.index)

    def piece(self, start: int, end: int) -> "np.ndarray":
        """Indices of the selected rows from @start to @end."""
        if isinstance(self.index, Run):
            first = self.index.first
            return np.arange(first + start, first + end, dtype=np.uint64)
        return self.index[start:end]


def out_of_bounds(index: int, length: int) -> IndexError:
    return IndexError(f"index {index} is out of bounds for axis 0 with size {length}")


def wrapped(index: "np.ndarray", length: int) -> "np.ndarray":
    """Indices from 0: a negative one counts from the end."""
    signed = index.view(np.int64)
    signed = np.where(signed < 0, signed + length, signed)
    bad = np.flatnonzero((signed < 0) | (signed >= length))
    if len(bad):
        raise out_of_bounds(int(index.view(np.int64)[bad[0]]), length)
    return signed.view(np.uint64)


def choose(key: Index, length: int) -> Rows:
    """The rows that a key selects, as NumPy has it. Indices in arrays are not checked here."""
    if type(key) is np.ndarray and key.dtype == INT64 and key.flags.c_contiguous:
        return Rows(key.reshape(-1), key.shape)
    if isinstance(key, slice):
        start, stop, step = key.indices(length)
        if step == 1:
            count = max(stop - start, 0)
            return Rows(Run(start, count), (count,))
        index = np.arange(start, stop, step, dtype=np.int64)
        return Rows(index.view(np.uint64), index.shape)
    if not isinstance(key, (np.ndarray, bool, np.bool_)):
        try:
            one = operator.index(key)
        except TypeError:
            pass
        else:
            if not -length <= one < length:
                raise out_of_bounds(one, length)
            return Rows(Run(one % length, 1), ())
    index = np.asarray(key)
    if index.dtype == bool:
        if index.shape != (length,):
            raise IndexError(f"a mask of shape {index.shape} selects among {length} rows: it "
                             f"must have the shape ({length},)")
        index = np.flatnonzero(index)
    elif not index.size:
        index = index.astype(np.int64)
    elif index.dtype.kind not in "iu":
        raise IndexError(f"rows are selected by integers, slices, and arrays of integers or of "
                         f"booleans, not by {index.dtype}")
    if index.dtype != np.uint64:
        index = index.astype(np.int64, copy=False)
    return Rows(np.ascontiguousarray(index).reshape(-1).view(np.uint64), index.shape)


def is_basic(key: Any) -> bool:
    return key is None or key is Ellipsis or isinstance(key, (int, slice, np.integer)) and \
        not isinstance(key, bool)


class Array:
    """Rows on storage, of which a cache holds those in use. Made by annex.open().

    a[i], a[i:j], a[i:j:k], a[index_array] and a[mask] are new NumPy arrays. More indices select
    within the rows that the first one names, as a[i:j, 0]. An array that was opened with
    mode="r+" is written by a[i] = row, a[i:j] = rows and a[index_array] = rows, and flush().

    Threads may share an array. With mode="r" a child that was forked opens it again at first use,
    with a cache of its own, and so does a process that receives it by pickle.
    """

    __array_ufunc__ = None

    def __init__(self, arguments: Dict[str, Any], library: Arrays, source: Source,
                 options: Options) -> None:
        self._arguments, self._library = arguments, library
        self._source, self._options = source, options
        self._row_bytes = source.row_bytes
        self._length = sum(part.rows for part in source.parts)
        self._opened: Optional[Opened] = Opened(library, source, options)

    @property
    def name(self) -> str:
        """The path or URI, of several ones the first."""
        return self._source.parts[0].name

    @property
    def mode(self) -> str:
        """"r", or "r+" if the array can be written."""
        return "r+" if self._options.write else "r"

    @property
    def shape(self) -> Tuple[int, ...]:
        """The number of rows, and the shape of a row."""
        return self._length, *self._source.row

    @property
    def dtype(self) -> "np.dtype[Any]":
        """The type of an element."""
        return self._source.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return 1 + len(self._source.row)

    @property
    def nbytes(self) -> int:
        """Bytes of all rows."""
        return self._length * self._row_bytes

    @property
    def closed(self) -> bool:
        """Whether close() has been called."""
        return self._opened is None

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        state = ", closed" if self.closed else ""
        return f"<annex.Array {self.name!r} {self.shape} {self.dtype} {self.mode!r}{state}>"

    def __reduce__(self) -> Tuple[Callable[..., "Array"], Tuple[Dict[str, Any]]]:
        if self.closed:
            raise self._error("the array is closed", errno.EBADF)
        self._again("an array is pickled")
        return opened_again, (self._arguments,)

    def __enter__(self) -> "Array":
        self._handles()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[types.TracebackType]) -> None:
        self.close()

    def __array__(self, *arguments: Any, **options: Any) -> NoReturn:
        raise TypeError(f"{self.name}: the array stays on storage: a[:] reads all of its "
                        f"{self.nbytes} bytes, and a[i:j] some rows")

    def __iter__(self) -> "Iterator[Any]":
        step = max(1, CHUNK // max(1, self._row_bytes))
        for start in range(0, self._length, step):
            yield from self[start:start + step]

    def __getitem__(self, key: Any) -> Any:
        """Rows, as a new NumPy array."""
        if not isinstance(key, tuple):
            if key is not Ellipsis and key is not None:
                return self.take(key)[()]
            key = (key,)
        return self._inner(key)

    def __setitem__(self, key: Index, value: Any) -> None:
        """Set whole rows. Of equal indices the last one wins."""
        opened = self._handles()
        if not self._options.write:
            raise self._error('the array is read only: open it with mode="r+"', errno.EROFS)
        if isinstance(key, tuple) or key is None or key is Ellipsis:
            raise IndexError(f"{self.name}: whole rows are assigned: a[i] = row, a[i:j] = rows")
        rows = choose(key, self._length)
        if not isinstance(value, np.ndarray):
            value = np.asarray(value, self.dtype)
        value = np.broadcast_to(value, rows.shape + self._source.row)
        if len(rows.shape) != 1:
            value = value.reshape(len(rows), *self._source.row)
        step = max(1, CHUNK // max(1, self._row_bytes))
        for start in range(0, len(rows), step):
            some = np.ascontiguousarray(value[start:start + step], self.dtype)
            self._move(opened, Rows(rows.piece(start, start + len(some)), (len(some),)),
                       address(some), "annex_array_scatter")

    def take(self, index: Index, out: "Optional[np.ndarray]" = None) -> "np.ndarray":
        """Rows by an integer, a slice, or an array of integers or booleans.

        @out: a contiguous array of the right shape and type that receives the rows, and is
        returned.
        """
        opened, rows = self._handles(), choose(index, self._length)
        shape = rows.shape + self._source.row
        if out is None:
            out = np.empty(shape, self.dtype)
        elif not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != self.dtype or \
                not out.flags.c_contiguous or not out.flags.writeable:
            raise ValueError(f"{self.name}: out must be a writable C-contiguous array of shape "
                             f"{shape} and type {self.dtype}")
        self._move(opened, rows, address(out))
        return out

    def torch(self, index: Index, out: "Optional[torch.Tensor]" = None) -> "torch.Tensor":
        """Rows as take() selects them, read into the memory of a tensor.

        @index may also be a tensor. @out: a contiguous tensor of the CPU, of the right shape and
        type, that receives the rows, and is returned. Its memory may be pinned.
        """
        import torch
        try:
            kind = torch.from_numpy(np.empty(0, self.dtype)).dtype
        except (TypeError, ValueError):
            raise TypeError(f"{self.name}: PyTorch has no type for {self.dtype}") from None
        opened, rows = self._handles(), choose(index, self._length)
        shape = rows.shape + self._source.row
        if out is None:
            out = torch.empty(shape, dtype=kind)
        elif not isinstance(out, torch.Tensor) or out.shape != shape or out.dtype != kind or \
                out.device.type != "cpu" or not out.is_contiguous():
            raise ValueError(f"{self.name}: out must be a contiguous tensor of the CPU, of shape "
                             f"{shape} and type {kind}")
        else:
            out.view(-1)[:0].zero_()  # autograd learns that it is written
        self._move(opened, rows, out.data_ptr())
        return out

    def prefetch(self, index: Index) -> int:
        """Start reading rows that are used soon, and do not wait for them.

        Rows for which the cache has no room are not read. Return: lines of the cache that are
        being read.
        """
        opened, rows = self._handles(), choose(index, self._length)
        if not isinstance(rows.index, Run):
            rows = Rows(wrapped(rows.index, self._length), rows.shape)
        return sum(self._ahead(opened, view, some) for view, some, _ in self._parts(opened, rows))

    def flush(self) -> None:
        """Make all rows that were written durable."""
        opened = self._handles()
        opened.flush()
        opened.library.tell()

    def stats(self) -> Dict[str, int]:
        """Counters of the cache since the array was opened: struct annex_cache_stats.

        hits and misses count lines; bytes_read / bytes_asked is the read amplification.
        """
        return self._handles().stats()

    def close(self) -> None:
        """Write changed rows, and free the cache. A second call does nothing.

        If rows cannot be written this is an Error, and the array stays open. A call of another
        thread that is under way ends first. An array that nothing refers to is closed, too.
        """
        opened = self._opened
        if opened is None:
            return
        if self._options.write and opened.forks == Forks.count:
            opened.flush()
        self._opened = None

    def _error(self, words: str, number: int = errno.EINVAL) -> Error:
        return refuse(self.name, words, number)

    def _again(self, why: str) -> None:
        """Refuse to open once more an array that cannot be."""
        if self._options.write:
            raise self._error(f'{why}, and mode="r+" has one process: open it with mode="r"',
                              errno.ECHILD)
        if self._source.volatile:
            raise self._error(f"{why}, and its data is in the memory of one process",
                              errno.ECHILD)

    def _handles(self) -> Opened:
        opened = self._opened
        if opened is None:
            raise self._error("the array is closed", errno.EBADF)
        if opened.forks == Forks.count:
            return opened
        self._again("the process was forked")
        with Forks.lock:
            if self._opened is opened:
                self._opened = Opened(self._library, self._source, self._options)
        return self._handles()

    def _parts(self, opened: Opened, rows: Rows) -> \
            "Iterator[Tuple[View, Union[Run, np.ndarray], Optional[np.ndarray]]]":
        """Of each view, the rows that it has, and their places among all. Indices are checked."""
        if len(opened.views) == 1:
            yield opened.views[0], rows.index, None
        elif opened.views and len(rows):
            index = rows.piece(0, len(rows))
            home = np.searchsorted(np.array(opened.starts, np.uint64), index, side="right") - 1
            for part in np.unique(home):
                where = np.flatnonzero(home == part)
                yield opened.views[part], index[where] - np.uint64(opened.starts[part]), where

    def _ahead(self, opened: Opened, view: View, rows: "Union[Run, np.ndarray]") -> int:
        dll, length = opened.library.dll, self._row_bytes
        if isinstance(rows, Run):
            count = dll.annex_array_prefetch(view.at, *rows)
        else:
            ranges = np.empty((len(rows), 2), np.uint64)
            ranges[:, 0] = rows * np.uint64(length) + np.uint64(view.part.offset)
            ranges[:, 1] = length
            count = dll.annex_cache_prefetch(view.cache, address(ranges), len(rows))
        if count < 0:
            raise self._error(opened.library.words(), -count)
        return int(count)

    def _move(self, opened: Opened, rows: Rows, memory: int,
              call: str = "annex_array_gather") -> None:
        """Read rows to an address, or write them from there."""
        if opened.alone and not isinstance(rows.index, Run) and len(rows.index) <= MOST and \
                getattr(opened.library.dll, call)(opened.alone, address(rows.index),
                                                  len(rows.index), memory) == 0:
            return
        if not opened.views or not len(rows):
            if not isinstance(rows.index, Run):
                wrapped(rows.index, self._length)
        elif len(opened.views) == 1:
            self._move_in(opened, opened.views[0], rows, memory, call)
        else:
            self._move_parts(opened, rows, memory, call)

    def _move_in(self, opened: Opened, view: View, rows: Rows, memory: int, call: str) -> None:
        """The same in one view. The library checks indices."""
        step = min(MOST, max(1, CHUNK // self._row_bytes)) if isinstance(rows.index, Run) else MOST
        function = getattr(opened.library.dll, call)
        for start in range(0, len(rows), step):
            index = rows.piece(start, min(start + step, len(rows)))
            at = memory + start * self._row_bytes
            code = function(view.at, address(index), len(index), at)
            if code == -errno.ERANGE:
                index = wrapped(index, self._length)
                code = function(view.at, address(index), len(index), at)
            if code < 0:
                raise self._error(opened.library.words(), -code)

    def _move_parts(self, opened: Opened, rows: Rows, memory: int, call: str) -> None:
        """The same in several views: all of them read at a time."""
        if not isinstance(rows.index, Run):
            rows = Rows(wrapped(rows.index, self._length), rows.shape)
        parts = list(self._parts(opened, rows))
        write = call == "annex_array_scatter"
        size = self._row_bytes
        space = (ctypes.c_ubyte * (len(rows) * size)).from_address(memory)
        table = np.ctypeslib.as_array(space).reshape(len(rows), size)
        for view, index, _ in () if write else parts:
            self._ahead(opened, view, index)
        for view, index, where in parts:
            some = table[where] if write else np.empty((len(index), size), np.uint8)
            self._move_in(opened, view, Rows(index, some.shape[:1]), address(some), call)
            if not write:
                table[where] = some

    def _inner(self, keys: Tuple[Any, ...]) -> Any:
        """a[i, j, ...]: NumPy applies the other indices to the rows."""
        if not keys:
            return self[:]
        first, rest = keys[0], keys[1:]
        if first is Ellipsis and sum(key is not None for key in rest) >= self.ndim:
            return self._inner(rest)
        if first is Ellipsis:
            first, rest = slice(None), (Ellipsis, *rest)
        if first is None:
            raise IndexError(f"{self.name}: the first index selects rows: a[:][None] has a new "
                             "axis")
        rows = choose(first, self._length)
        if isinstance(first, slice) and all(map(is_basic, rest)):
            return self._columns(rows, rest)
        if not rows.shape and isinstance(rows.index, Run):
            return self.take(slice(rows.index.first, rows.index.first + 1))[(0, *rest)]
        found = self.take(first).reshape(len(rows), *self._source.row)
        place: Any = slice(None) if isinstance(first, slice) else \
            np.arange(len(rows)).reshape(rows.shape)
        return found[(place, *rest)]

    def _columns(self, rows: Rows, rest: Tuple[Any, ...]) -> "np.ndarray":
        """Some of each row, with memory for few whole rows at a time."""
        step = max(1, CHUNK // max(1, self._row_bytes))
        inner = np.empty((0, *self._source.row), self.dtype)[(slice(None), *rest)]
        out = np.empty((len(rows), *inner.shape[1:]), self.dtype)
        for start in range(0, len(rows), step):
            some = self.take(rows.piece(start, min(start + step, len(rows))))
            out[start:start + len(some)] = some[(slice(None), *rest)]
        return out


def opened_again(arguments: Dict[str, Any]) -> Array:
    """An array that arrived by pickle."""
    return open(**arguments)


def named_again(library: Arrays, path: Path) -> Path:
    """A name that means the same in another folder."""
    if isinstance(path, str) and library.scheme_of(path):
        return path
    return pathlib.Path(os.path.abspath(path))


def open(path: "Union[Path, Sequence[Path]]", *, dtype: Any = None,
         shape: Optional[Shape] = None, offset: int = 0, tensor: Optional[str] = None,
         mode: str = "r",
         cache: "Union[int, str]" = "256M", line: "Union[int, str]" = 4096,
         timeout: float = 30.0) -> Array:
    """Open an array on storage, of which rows are read when they are used.

        a = annex.open("features.npy", cache="512M")
        a.shape, a.dtype, len(a)
        rows = a[index_array]              # a NumPy array; also a[i], a[i:j], a[mask], a[i, j]
        batch = a.torch(index)             # a tensor
        a.prefetch(next_index)             # starts to read rows, and does not wait

    @path: a .npy file; a file without a header, whose bytes @dtype and @shape describe; the URI of
    a device (file:, ng:, nvme:, unix:, pci:, mem:; see annex_uri(7)); or a list of these, whose
    rows follow each other. A path may have any character, while a URI has escapes (%3f for "?").
    "./mem:x" and pathlib.Path("mem:x") are paths.
    @dtype: type of an element, if there is no .npy header.
    @shape: likewise. (-1, 100), and -1 without @shape: as many rows as there are.
    @offset: likewise, bytes before the first row.
    @tensor: name of a tensor in a file of safetensors, whose rows these are.
    @mode: "r", or "r+" to write rows, too. Any number of programs may read a file; one that writes
    it has it to itself, and others are refused meanwhile (EBUSY).
    @cache: most bytes of rows in memory, for all files together. An array takes no more than it
    has itself.
    @line: bytes that are read and kept together, a power of two from 512 to 1M. Larger
    lines suit slices and rows of many kilobytes.
    @timeout: seconds after which a read or write has failed.

    An error of the library or of the file is an annex.Error, an OSError with a message of one
    line. An index out of bounds is an IndexError.
    """
    library = Arrays()
    if mode not in ("r", "r+"):
        raise Error(errno.EINVAL, f'open: mode {mode!r} is neither "r" nor "r+"')
    if not 0 < timeout < 4e6:
        raise Error(errno.EINVAL, f"open: timeout {timeout} is no number of seconds")
    paths: List[Path] = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    options = Options(mode == "r+", library.bytes_of("cache", cache),
                      library.bytes_of("line", line),
                      max(1, int(timeout * 1000)))
    if options.line < 512 or options.line & (options.line - 1) or options.line > 1 << 20:
        raise Error(errno.EINVAL, f"open: line {line} is no power of two from 512 to 1M")
    source = Opener(library, dtype, shape, offset, tensor, options.write).source(paths)
    return Array({"path": [named_again(library, one) for one in paths], "dtype": dtype,
                  "shape": shape, "offset": offset, "tensor": tensor, "mode": mode,
                  "cache": cache, "line": line, "timeout": timeout}, library, source, options)
