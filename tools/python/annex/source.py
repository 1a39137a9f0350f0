# SPDX-License-Identifier: MIT
"""Names of stored arrays: files with and without a header, and URIs of devices."""
import contextlib
import errno
import math
import operator
import os
import urllib.parse
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from .calls import Arrays
from .library import Error
from .safetensors import File, shown

Path = Union[str, "os.PathLike[str]"]
Shape = Union[int, Sequence[int]]
VOLATILE = 8  # of enum annex_trait
MAGIC = b"\x93NUMPY"
CLAIM_FREE = "mem", "pci"  # schemes without readonly=


class Part(NamedTuple):
    """Rows that follow each other on one device. @offset: of the first one, in bytes."""

    name: str
    uri: str
    offset: int
    rows: int


class Source(NamedTuple):
    """The rows of an array, in the order of its parts. @volatile: they go with the handle."""

    dtype: "np.dtype[Any]"
    row: Tuple[int, ...]
    parts: List[Part]
    volatile: bool

    @property
    def row_bytes(self) -> int:
        return self.dtype.itemsize * math.prod(self.row)


def refuse(name: str, words: str, number: int = errno.EINVAL) -> Error:
    return Error(number, f"{name}: {words}")


def is_uri(library: Arrays, path: Path) -> bool:
    """Whether a text is a device's URI. Paths that look like one are ./mem:x, or a pathlib.Path."""
    return isinstance(path, str) and library.scheme_of(path) is not None


def uri_of(path: Path) -> str:
    """The URI of a file, whose path may have any character."""
    return "file:" + urllib.parse.quote_from_bytes(os.fsencode(os.path.abspath(path)), safe="/")


def with_parameter(uri: str, key: str, value: str) -> str:
    """@uri with a parameter, unless it has that."""
    _, mark, query = uri.partition("?")
    if any(item.partition("=")[0] == key for item in query.split("&")):
        return uri
    return f"{uri}{'&' if mark else '?'}{key}={value}"


def path_of(path: Path, uri: bool) -> Optional[str]:
    """The path of a file, also of a file: URI."""
    if not uri:
        return os.fspath(path)
    scheme, _, rest = str(path).partition(":")
    return os.fsdecode(urllib.parse.unquote_to_bytes(rest.partition("?")[0])) \
        if scheme == "file" else None


def has_header(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError as error:
        raise Error(error.errno, f"{path}: {error.strerror}") from None


def read_header(path: str) -> Tuple["np.dtype[Any]", Tuple[int, ...], int]:
    """Of a .npy file the type, the shape and the offset of its data, all of which it has."""
    try:
        mapped = np.lib.format.open_memmap(path, mode="r")
    except OSError as error:
        raise Error(error.errno or errno.EIO, f"{path}: {error.strerror or error}") from None
    except Exception as error:  # a hostile header can raise any, as of its literals
        words = " ".join(str(error).split()) or type(error).__name__
        raise refuse(path, f"no complete .npy file: {words[:200]}") from None
    if not mapped.flags.c_contiguous:
        raise refuse(path, "an array in Fortran order has no contiguous rows: save "
                     "np.ascontiguousarray(a)")
    return mapped.dtype, mapped.shape, mapped.offset


def find_tensor(path: str, tensor: str) -> Tuple["np.dtype[Any]", Tuple[int, ...], int]:
    """The same of a tensor in a file of safetensors."""
    with contextlib.closing(File(path)) as file:
        for entry in file.entries:
            if entry.name == tensor:
                try:
                    return np.dtype(entry.dtype), tuple(entry.shape), entry.start
                except TypeError:
                    raise refuse(path, f"tensor {shown(tensor)} is {entry.dtype}, which NumPy does "
                                 "not have: give dtype=, shape= and offset="
                                 f"{entry.start}") from None
        names = ", ".join(shown(entry.name) for entry in file.entries[:3])
        raise refuse(path, f"no tensor {shown(tensor)} among its {len(file.entries)}: {names}...",
                     errno.ENOENT)


def whole_shape(shape: Shape) -> Tuple[int, ...]:
    try:
        return (operator.index(shape),)  # type: ignore[arg-type]
    except TypeError:
        return tuple(operator.index(n) for n in shape)  # type: ignore[union-attr]


def count_rows(name: str, row_bytes: int, size: int, offset: int) -> int:
    """Rows that a file of @size bytes has behind @offset."""
    if offset > size:
        raise refuse(name, f"offset {offset} is behind its end, {size}", errno.ERANGE)
    if not row_bytes:
        raise refuse(name, "rows of 0 bytes cannot be counted: give shape=")
    return (size - offset) // row_bytes


class Opener:
    """Options of annex.open() that say how bytes without a header are read."""

    def __init__(self, library: Arrays, dtype: Any, shape: Optional[Shape], offset: int,
                 tensor: Optional[str], write: bool) -> None:
        self.library, self.offset, self.write = library, operator.index(offset), write
        self.tensor = tensor
        self.dtype = None if dtype is None else np.dtype(dtype)
        self.shape = None if shape is None else whole_shape(shape)
        if self.dtype is not None and self.dtype.hasobject:
            raise Error(errno.EINVAL, "open: elements of Python objects are not bytes: give "
                        "another dtype=")
        if self.offset < 0:
            raise Error(errno.EINVAL, f"open: offset {offset} is negative")

    def part(self, path: Path) -> Tuple["np.dtype[Any]", Tuple[int, ...], Part]:
        """Type, shape of a row, and place of the rows of one file or device."""
        uri = is_uri(self.library, path)
        name = str(path) if uri else os.fspath(path)
        file = path_of(path, uri)
        address = str(path) if uri else uri_of(path)
        if not self.write and self.library.scheme_of(address) not in CLAIM_FREE:
            address = with_parameter(address, "readonly", "1")
        if self.dtype is None or self.tensor is not None:
            if file is None or (self.tensor is None and not has_header(file)):
                raise refuse(name, "no .npy file: give dtype= and shape=, or tensor= of a file of "
                             "safetensors")
            if self.dtype is not None or self.shape is not None or self.offset:
                raise refuse(name, "its own header has the type, the shape and the offset")
            dtype, shape, offset = read_header(file) if self.tensor is None else \
                find_tensor(file, self.tensor)
            if not shape:
                raise refuse(name, "an array without dimensions has no rows")
            return dtype, shape[1:], Part(name, address, offset, shape[0])
        shape = self.shape or (-1,)
        rows = shape[0]
        if rows < -1 or any(n < 0 for n in shape[1:]):
            raise refuse(name, f"shape {shape} has a negative size")
        if rows == -1:
            size = os.path.getsize(file) if file and os.path.isfile(file) else \
                self.library.capacity(address)
            rows = count_rows(name, self.dtype.itemsize * math.prod(shape[1:]), size, self.offset)
        return self.dtype, shape[1:], Part(name, address, self.offset, rows)

    def source(self, paths: Sequence[Path]) -> Source:
        """All rows of several files, one file after the other."""
        if not paths:
            raise Error(errno.EINVAL, "open: no file")
        if len(paths) > 1 and self.shape is not None and self.shape[:1] != (-1,):
            raise Error(errno.EINVAL, "open: shape= of several files begins with -1: each has its "
                        "own number of rows")
        found = [self.part(path) for path in paths]
        dtype, row, first = found[0]
        for other, its_row, part in found[1:]:
            if other != dtype or its_row != row:
                raise refuse(part.name, f"rows of {other} {its_row}, and {first.name} has "
                             f"{dtype} {row}")
        volatile = any(self.library.traits(part.uri) & VOLATILE for _, _, part in found)
        return Source(dtype, row, [part for _, _, part in found], volatile)
