#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One measurement on a directory, or the check of its files, for tests/models/fs/real.sh.

  measure.py create DIR FILES   make files: write 4 KiB, fsync, close; prints files a second
  measure.py created DIR FILES  their bytes are there
  measure.py fill FILE MIB      make a file to be read
  measure.py read FILE MIB      read it from its beginning, each byte compared; prints MB a second
"""
import ctypes
import os
import sys
import time

CHUNK = 1 << 20
SEED = bytes(range(251)) * (2 * CHUNK // 251)


def page(number):
    return SEED[number % 1000 :][:4088] + number.to_bytes(8, "little")


def chunk(number):
    """Each chunk is different: its number, and a part of the seed."""
    return number.to_bytes(8, "little") + SEED[number * 7 % 1000 :][: CHUNK - 8]


def create(at, files):
    names = [os.path.join(at, str(i)) for i in range(files)]
    pages = [page(i) for i in range(files)]
    began = time.monotonic()
    for name, data in zip(names, pages):
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        os.write(fd, data)
        os.fsync(fd)
        os.close(fd)
    print(files / (time.monotonic() - began))


def created(at, files):
    for i in range(files):
        with open(os.path.join(at, str(i)), "rb") as file:
            if file.read() != page(i):
                sys.exit(f"measure: file {i} has other bytes than it was written")


def fill(name, chunks):
    with open(name, "wb", buffering=0) as file:
        for i in range(chunks):
            file.write(chunk(i))
        os.fsync(file.fileno())


def read(name, chunks):
    buffer = ctypes.create_string_buffer(CHUNK)
    seed = ctypes.create_string_buffer(SEED)
    memcmp = ctypes.CDLL(None).memcmp
    with open(name, "rb", buffering=0) as file:
        began = time.monotonic()
        for i in range(chunks):
            n = file.readinto(buffer)
            same = ctypes.byref(seed, i * 7 % 1000)
            if (
                n != CHUNK
                or buffer[:8] != i.to_bytes(8, "little")
                or memcmp(ctypes.byref(buffer, 8), same, ctypes.c_size_t(CHUNK - 8))
            ):
                sys.exit(f"measure: MiB {i} has other bytes than it was written")
        print(chunks * CHUNK / 1e6 / (time.monotonic() - began))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    {"create": create, "created": created, "fill": fill, "read": read}[sys.argv[1]](
        sys.argv[2], int(sys.argv[3])
    )
