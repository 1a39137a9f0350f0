# SPDX-License-Identifier: GPL-2.0-or-later
"""with annex.offload(budget="512M", storage="file:/data/annex.img"): an ordinary training loop."""
import contextlib
import errno
import os
import tempfile
import threading
import urllib.parse

import torch

from .library import Error, Library
from .memory import Memory
from .saved import Saver
from .state import Stepper

SPARSE = 16  # budgets that a new file may hold
turnstile = threading.Lock()


def split_file(uri):
    """Of a file: URI, its path and its parameters."""
    if not uri.startswith("file:"):
        return None, None
    body, _, query = uri[len("file:"):].partition("?")
    return urllib.parse.unquote(body), urllib.parse.parse_qsl(query)


class Offload:
    """@budget: bytes, or such as "512M". @storage: a device's URI, or several."""

    def __init__(self, budget, storage):
        self.library = Library()
        self.budget = self.library.size(budget)
        self.uris = [storage] if isinstance(storage, str) else list(storage)
        if not self.uris:
            raise Error(errno.EINVAL, "offload: no storage: file:PATH")
        self.memory = self.saver = self.stack = None

    def open(self):
        """The space. Files that it makes have no name as soon as they are open."""
        with contextlib.ExitStack() as stack:
            uris = [self.own_file(uri, stack) for uri in self.uris]
            return Memory(self.library, self.budget, uris)

    def own_file(self, uri, stack):
        """Where the file is not there: the URI of one that is this process's only."""
        path, query = split_file(uri)
        if path is None or os.path.exists(path):
            return uri
        try:
            file, own = tempfile.mkstemp(prefix=os.path.basename(path) + ".",
                                         dir=os.path.dirname(path) or ".")
        except OSError as error:
            raise Error(error.errno, f"offload: {path}: {error.strerror}") from None
        os.close(file)
        stack.callback(os.unlink, own)
        if "size" not in dict(query):
            query.append(("size", str(SPARSE * self.budget)))
        return "file:" + urllib.parse.quote(own) + "?" + urllib.parse.urlencode(query)

    def __enter__(self):
        if not turnstile.acquire(blocking=False):
            raise Error(errno.EBUSY, "offload: it is on already, and does not nest")
        with contextlib.ExitStack() as stack:
            stack.callback(turnstile.release)
            self.memory = self.open()
            self.library.give_memory_back()
            stack.callback(self.memory.close)
            self.saver, stepper = Saver(self.memory), Stepper(self.memory)
            stack.callback(stepper.give_back)
            stack.enter_context(stepper.active())
            stack.enter_context(torch.autograd.graph.saved_tensors_hooks(
                self.saver.pack, self.saver.unpack))
            self.stack = stack.pop_all()
        return self

    def __exit__(self, kind, error, trace):
        # A child that was forked has nothing of this.
        if os.getpid() != self.memory.pid:
            return
        self.stack.__exit__(kind, error, trace)
        failure, self.saver.failure = self.saver.failure, None
        # Through PyTorch's own code comes a RuntimeError that tells of it.
        if isinstance(error, RuntimeError) and failure and str(failure) in str(error):
            raise failure from None

    def stats(self):
        """Bytes moved and in use (struct annex_space_stats); @waited: seconds."""
        return self.memory.stats()


def offload(budget, storage):
    """While it lasts, tensors that autograd saves and optimizer state live in a space.

    At most @budget of them is in memory at a time, the rest on @storage.
    """
    return Offload(budget, storage)
