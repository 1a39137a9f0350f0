# SPDX-License-Identifier: MIT
"""Files of safetensors: 8 bytes with the length of a header, the header in JSON, and tensors.

Headers are hostile input: each number is checked before a tensor is read.
"""
from __future__ import annotations

import errno
import json
import math
import os
import stat
import typing

from .library import PAGE, Error

# Names of types: PyTorch's name, and bytes. A byte of BOOL may have any value, so it is a number.
DTYPES = {"BOOL": ("uint8", 1), "U8": ("uint8", 1), "I8": ("int8", 1), "I16": ("int16", 2),
          "U16": ("uint16", 2), "I32": ("int32", 4), "U32": ("uint32", 4), "I64": ("int64", 8),
          "U64": ("uint64", 8), "F8_E5M2": ("float8_e5m2", 1), "F8_E4M3": ("float8_e4m3fn", 1),
          "F8_E8M0": ("float8_e8m0fnu", 1), "F16": ("float16", 2), "BF16": ("bfloat16", 2),
          "F32": ("float32", 4), "F64": ("float64", 8), "C64": ("complex64", 8)}
LONGEST = 100_000_000  # bytes of a header, as in safetensors' own library
DIGITS = 19  # of a number
DIMENSIONS = 64  # of PyTorch's tensors
PIECE = 16 << 20  # bytes of a read
MEMBERS = {"dtype", "shape", "data_offsets"}


def wrong(path: str, words: str) -> Error:
    return Error(errno.EINVAL, f"{path}: {words}")


def shown(name: str) -> str:
    """A name in one short line."""
    return ascii(name if len(name) <= 100 else name[:100] + "...")


def number(text: str) -> int:
    if len(text) > DIGITS:
        raise ValueError(f"a number has {len(text)} digits")
    return int(text)


def unique(pairs: list[tuple[str, typing.Any]]) -> dict[str, typing.Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def parse(path: str, text: bytes) -> dict[str, typing.Any]:
    """An object of JSON."""
    try:
        found = json.loads(text.decode(), parse_int=number, object_pairs_hook=unique)
    except RecursionError:
        raise wrong(path, "its JSON is nested too deeply") from None
    except ValueError as error:
        raise wrong(path, f"its JSON is damaged: {str(error)[:200]}") from None
    if not isinstance(found, dict):
        raise wrong(path, "its JSON is no object")
    return found


def counts(value: typing.Any, most: int) -> bool:
    """Whether this is a list of up to @most numbers from 0."""
    return (isinstance(value, list) and len(value) <= most and
            all(type(n) is int and n >= 0 for n in value))


class Entry(typing.NamedTuple):
    """A tensor of a file. @dtype: PyTorch's name. @start: its first byte in the file."""

    name: str
    dtype: str
    shape: list[int]
    start: int
    bytes: int


class File:
    """@path: an open file, whose header is correct. @entries: its tensors in the order of bytes."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self.fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise Error(error.errno, f"{path}: {error.strerror}") from None
        try:
            self.entries = self.read_header()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        os.close(self.fd)

    def read_header(self) -> list[Entry]:
        info = os.fstat(self.fd)
        if not stat.S_ISREG(info.st_mode):
            raise wrong(self.path, "it is no regular file")
        size = info.st_size - 8
        length = int.from_bytes(self.read(8, 0), "little") if size >= 0 else 0
        if not 0 < length <= size:
            raise wrong(self.path, "it is no file of safetensors: its header exceeds the file")
        if length > LONGEST:
            raise wrong(self.path, f"its header has {length} bytes, and {LONGEST} are the most")
        header = parse(self.path, self.read(length, 8))
        header.pop("__metadata__", None)
        found = sorted((self.entry(name, told) for name, told in header.items()),
                       key=lambda entry: (entry.start, entry.bytes))
        end = 0
        for entry in found:
            if entry.start != end:
                how = "overlaps another one" if entry.start < end else "leaves a hole before it"
                raise wrong(self.path, f"tensor {shown(entry.name)} {how}")
            end += entry.bytes
        if end != size - length:
            raise wrong(self.path, f"its tensors have {end} bytes, and the file has "
                        f"{size - length} for them")
        return [entry._replace(start=entry.start + 8 + length) for entry in found]

    def entry(self, name: str, told: typing.Any) -> Entry:
        """A tensor, as the header describes it, with its first byte counted from the header."""
        where = f"tensor {shown(name)}"
        if not isinstance(told, dict) or told.keys() != MEMBERS:
            raise wrong(self.path, f"{where} is not described by dtype, shape and data_offsets")
        dtype, shape, offsets = told["dtype"], told["shape"], told["data_offsets"]
        if not isinstance(dtype, str) or dtype not in DTYPES:
            raise wrong(self.path, f"{where} has an unknown dtype, {shown(str(dtype))}")
        if not counts(shape, DIMENSIONS):
            raise wrong(self.path, f"{where} has a shape that is no list of up to {DIMENSIONS} "
                        "numbers")
        if not counts(offsets, 2) or len(offsets) != 2 or offsets[0] > offsets[1]:
            raise wrong(self.path, f"{where} has data_offsets that are no range")
        kind, size = DTYPES[dtype]
        if offsets[1] - offsets[0] != size * math.prod(shape):
            raise wrong(self.path, f"{where} has {offsets[1] - offsets[0]} bytes, which differs "
                        "from its shape")
        return Entry(name, kind, shape, offsets[0], offsets[1] - offsets[0])

    def read(self, length: int, start: int) -> bytes:
        """Bytes of the header."""
        memory = bytearray(length)
        self.read_into(memoryview(memory), start, "its header")
        return bytes(memory)

    def read_into(self, memory: memoryview, start: int, what: str) -> None:
        """Fill @memory. The page cache then drops these pages, since they are read once."""
        done = 0
        while done < len(memory):
            try:
                got = os.preadv(self.fd, [memory[done:done + PIECE]], start + done)
            except OSError as error:
                raise Error(error.errno, f"{self.path}: {what}: {error.strerror}") from None
            if not got:
                raise Error(errno.EIO, f"{self.path}: {what}: the file has become shorter")
            first = (start + done) // PAGE * PAGE
            os.posix_fadvise(self.fd, first, start + done + got - first, os.POSIX_FADV_DONTNEED)
            done += got


def files_of_index(path: str) -> list[str]:
    """The files that an index names. They are in its folder."""
    try:
        with open(path, "rb") as file:
            text = file.read(LONGEST + 1)
    except OSError as error:
        raise Error(error.errno, f"{path}: {error.strerror}") from None
    if len(text) > LONGEST:
        raise wrong(path, f"it has more than {LONGEST} bytes")
    told = parse(path, text).get("weight_map")
    if not isinstance(told, dict) or not told:
        raise wrong(path, "it has no weight_map")
    for name, file in told.items():
        if not isinstance(file, str) or not file or os.path.basename(file) != file or \
           file in (".", "..") or "\0" in file:
            raise wrong(path, f"tensor {shown(name)} is not in a file of the index's folder")
    return [os.path.join(os.path.dirname(path), file) for file in sorted(set(told.values()))]


def files_of(path: str) -> list[str]:
    """The files of a path, which is a file, an index, or a folder."""
    if path.endswith(".index.json"):
        return files_of_index(path)
    if not os.path.isdir(path):
        return [path]
    index = os.path.join(path, "model.safetensors.index.json")
    if os.path.exists(index):
        return files_of_index(index)
    found = sorted(name for name in os.listdir(path) if name.endswith(".safetensors"))
    if not found:
        raise Error(errno.ENOENT, f"{path}: no *.safetensors in this folder")
    return [os.path.join(path, name) for name in found]
