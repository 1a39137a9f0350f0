# SPDX-License-Identifier: MIT
"""Runs of torch_train.py, each in a process of its own, and swap on the same disk."""
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MIB = 1 << 20
LEAST = MIB  # of device memory
SLACK = 256 * MIB  # of swap
LIMIT = 1200  # seconds of a run
USER = 65534
GROUPS = "/sys/fs/cgroup"


class Failed(Exception):
    """Why a run gave nothing, in a line."""


def memory_group():
    """Where a new group belongs: below this process's own; with cgroup v2 beside it."""
    with open("/proc/self/cgroup", encoding="ascii") as file:
        lines = [line.rstrip("\n").split(":", 2) for line in file]
    for _, controllers, path in lines:
        if "memory" in controllers.split(","):
            return f"{GROUPS}/memory{path}"
    beside = os.path.dirname(GROUPS + lines[-1][2].rstrip("/"))
    with open(f"{beside}/cgroup.subtree_control", encoding="ascii") as file:
        if "memory" not in file.read().split():
            raise Failed(f"no cgroup can limit memory below {beside}")
    return beside


def command(*words):
    """A command of the administrator's."""
    path = "/usr/sbin:/sbin:" + os.environ.get("PATH", "")
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False,
                          env=dict(os.environ, PATH=path))
    if done.returncode:
        raise Failed(done.stderr.decode(errors="replace").strip().splitlines()[-1])


def limit(group, memory):
    """Only swap makes room: cgroup v1 kills early if its swappiness is less."""
    for name, value in (("memory.max", memory), ("memory.limit_in_bytes", memory),
                        ("memory.swappiness", 200)):
        if os.path.exists(os.path.join(group, name)):
            with open(os.path.join(group, name), "w", encoding="ascii") as file:
                file.write(str(value))


@contextlib.contextmanager
def swap(directory, size, memory):
    """A group of processes that take so much memory at most, and swap to a file there."""
    with contextlib.ExitStack() as stack:
        try:
            group = f"{memory_group()}/annex-bench-{os.getpid()}"
            os.mkdir(group)
            stack.callback(os.rmdir, group)
            limit(group, memory)
            path = os.path.join(directory, "swap")
            with open(path, "xb") as file:
                stack.callback(os.unlink, path)
                os.fchmod(file.fileno(), 0o600)
                for _ in range(size // MIB + 1):
                    file.write(bytes(MIB))
            command("mkswap", path)
            command("swapon", path)
            stack.callback(command, "swapoff", path)
        except OSError as error:
            raise Failed(f"{error.filename}: {error.strerror}") from None
        yield group


class Runs:
    """@directory: storage of all ways is files there."""

    def __init__(self, directory, threads):
        self.threads = threads
        self.directory = directory
        self.scratch = tempfile.TemporaryDirectory(dir=directory)
        os.chmod(self.scratch.name, 0o777)
        self.base = None

    def __enter__(self):
        self.base = self.run("base", {})["peak"]
        return self

    def __exit__(self, *_):
        self.scratch.cleanup()

    def run(self, way, config, user=None, group=None):
        """The report of a way to train, with @taken: bytes beyond a process that loaded all."""
        job = dict(config, way=way, threads=self.threads, group=group,
                   storage=f"file:{self.scratch.name}/storage?direct=1")
        environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
        if user is not None:
            environment["XDG_CACHE_HOME"] = self.cache()
        try:
            done = subprocess.run(
                [sys.executable, os.path.join(HERE, "torch_train.py"), json.dumps(job)],
                env=environment, user=user, group=user, extra_groups=[] if user else None,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            raise Failed(f"{way}: no end in {LIMIT} s") from None
        except OSError as error:  # Python that a user may not run
            raise Failed(f"{way}: {error.filename}: {error.strerror}") from None
        if done.returncode < 0:
            raise Failed(f"{way}: killed by signal {-done.returncode}" +
                         ", in the memory that annex takes" * bool(group))
        if done.returncode:
            raise Failed(done.stderr.decode(errors="replace").strip().splitlines()[-1])
        report = json.loads(done.stdout)
        if self.base:
            report["taken"] = report.get("peak", 0) - self.base
        return report

    def swapping(self, config, memory):
        """As run(), with at most so much memory beyond a process that loaded all."""
        with swap(self.directory, 4 * memory + SLACK, memory) as group:
            return self.run("swap", config, group=group)

    def cache(self):
        """The compiled part of the package, for a user without access to root's."""
        mine = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        copy = os.path.join(self.scratch.name, "cache")
        shutil.copytree(os.path.join(mine, "annex"), os.path.join(copy, "annex"),
                        dirs_exist_ok=True)
        return copy
