# SPDX-License-Identifier: MIT
"""Memory that this process can still take."""
import contextlib
import os

GROUPS = "/sys/fs/cgroup"
FILES = (("memory.max", "memory.current", "file", "shmem"),  # cgroup v2
         ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_cache", "total_shmem"))  # v1


def read(*path):
    with open(os.path.join(*path), encoding="ascii") as file:
        return file.read()


def groups():
    """The memory control groups of this process, and their ancestors."""
    for line in read("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        top = os.path.join(GROUPS, "memory") if controllers else GROUPS
        while path.strip("/"):
            yield top + path
            path = os.path.dirname(path)
        yield top


def left(group):
    """Bytes until its limit. Pages of files can be evicted, pages of shared memory cannot."""
    for limit, used, files, shared in FILES:
        with contextlib.suppress(OSError, ValueError):  # there is none, or it is "max"
            stat = dict(line.split() for line in read(group, "memory.stat").splitlines())
            yield (int(read(group, limit)) - int(read(group, used)) + int(stat[files]) -
                   int(stat[shared]))


def available():
    """Bytes."""
    memory = dict(line.split(":") for line in read("/proc/meminfo").splitlines())
    found = [int(memory["MemAvailable"].split()[0]) << 10]
    with contextlib.suppress(OSError):
        for group in groups():
            found.extend(left(group))
    return max(min(found), 0)
