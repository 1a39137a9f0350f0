# SPDX-License-Identifier: MIT
"""with annex.offload(budget="512M", storage="file:/data/annex.img"): an ordinary training loop."""
import contextlib
import errno
import os
import tempfile
import threading
import urllib.parse
import warnings
import weakref

import torch

from .library import PAGE, Error, Library
from .memory import Memory
from .saved import Saver
from .state import Stepper, lose

SPARSE = 16  # budgets that a new file may hold
turnstile = threading.Lock()
memories = weakref.WeakSet()  # of blocks, also of past ones that something still uses


def in_child():
    """After fork(): the child is in no block, and has ordinary memory."""
    global turnstile
    turnstile = threading.Lock()
    Library.warnings = None  # the parent's
    for memory in memories:
        lose(memory)


os.register_at_fork(after_in_child=in_child)


def split_file(uri):
    """Of a file: URI, its path and its parameters."""
    if not uri.startswith("file:"):
        return None, None
    body, _, query = uri[len("file:"):].partition("?")
    return urllib.parse.unquote(body), urllib.parse.parse_qsl(query)


def unnamed_file(directory, name):
    """A new file that goes with the process."""
    try:
        return os.open(directory, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError:  # a file system that has none, or what the next attempt will tell
        file, path = tempfile.mkstemp(prefix=name + ".", dir=directory)
        os.unlink(path)
        return file


class Offload:
    """@budget: bytes, or such as "512M". @storage: a device's URI, or several."""

    def __init__(self, budget, storage, checksum):
        self.library = Library()
        self.checksum = checksum
        self.budget = self.library.size(budget)
        self.uris = [storage] if isinstance(storage, (str, os.PathLike)) else list(storage)
        if not all(isinstance(uri, str) for uri in self.uris):
            raise Error(errno.EINVAL, f"offload: storage {storage!r} is no text: file:PATH")
        if not self.uris:
            raise Error(errno.EINVAL, "offload: no storage: file:PATH")
        self.memory = self.saver = self.stack = None
        self.told = set()

    def open(self):
        """The space. Files that it makes have no name."""
        with contextlib.ExitStack() as stack:
            uris = [self.own_file(uri, stack) for uri in self.uris]
            try:
                return self.open_memory(uris)
            except Error as error:
                raise Error(error.errno, self.named(error.strerror, uris)) from None

    def named(self, words, uris):
        """The library's words with the program's paths in place of those of own files."""
        for uri, own in zip(self.uris, uris):
            if own != uri:
                words = words.replace(split_file(own)[0], split_file(uri)[0])
        return words

    def open_memory(self, uris):
        return Memory(self.library, self.budget, uris, self.checksum)

    @staticmethod
    def enter_alone(stack):
        """One block at a time, until @stack is left."""
        if not turnstile.acquire(blocking=False):
            raise Error(errno.EBUSY, "offload: it is on already, and does not nest")
        stack.callback(turnstile.release)

    def own_file(self, uri, stack):
        """Where the file is not there: the URI of one that is this process's only."""
        path, query = split_file(uri)
        if path is None or os.path.exists(path):
            return uri
        try:
            file = unnamed_file(os.path.dirname(path) or ".", os.path.basename(path))
        except OSError as error:
            raise Error(error.errno, f"offload: {path}: {error.strerror}") from None
        stack.callback(os.close, file)  # the library opens it for itself
        if "size" not in dict(query):
            query.append(("size", str(SPARSE * self.budget // PAGE * PAGE)))
        return f"file:/proc/self/fd/{file}?" + urllib.parse.urlencode(query)

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self.enter_alone(stack)
            self.memory = self.open()
            memories.add(self.memory)
            self.library.give_memory_back()
            stack.callback(self.memory.close)
            self.tell()
            self.saver, stepper = Saver(self.memory, self.tell), Stepper(self.memory)
            stack.callback(stepper.give_back)
            stack.enter_context(stepper.active())
            stack.enter_context(torch.autograd.graph.saved_tensors_hooks(
                self.saver.pack, self.saver.unpack))
            self.stack = stack.pop_all()
        return self

    def heard(self):
        """Warnings since the last call."""
        return Library.warnings.take()

    def tell(self):
        """Warnings of the library become Python's, each once in a block."""
        for line in self.heard():
            if line not in self.told:
                self.told.add(line)
                warnings.warn(line, RuntimeWarning, stacklevel=3)

    def __exit__(self, kind, error, trace):
        # A child that was forked has nothing of this.
        if not self.memory.is_here():
            return
        self.stack.__exit__(kind, error, trace)
        # Also where a warning is to be an exception, it must not take the place of another.
        with contextlib.suppress(*[RuntimeWarning] if error else []):
            self.tell()
        failure, self.saver.failure = self.saver.failure, None
        # Through PyTorch's own code comes a RuntimeError that tells of it.
        if isinstance(error, RuntimeError) and failure and str(failure) in str(error):
            raise failure from None

    def stats(self):
        """Bytes moved and in use (struct annex_space_stats); @waited: seconds."""
        figures = self.memory.stats()
        self.tell()
        return figures
