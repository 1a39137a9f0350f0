# SPDX-License-Identifier: MIT
"""Storage of a block: URIs of devices, and files that a block makes for itself."""
import contextlib
import errno
import os
import tempfile
import urllib.parse
from collections.abc import Iterable

from .library import PAGE, Error

SPARSE = 16  # sizes of device memory that a new file may hold


def split_file(uri):
    """Path and parameters of a file: URI; None, None of another one."""
    if not uri.startswith("file:"):
        return None, None
    body, _, query = uri[len("file:"):].partition("?")
    return urllib.parse.unquote(body), urllib.parse.parse_qsl(query)


def unnamed_file(directory, name):
    """A new file that goes with the process."""
    try:
        return os.open(directory, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError:  # not on this file system, or an error that mkstemp() meets again
        file, path = tempfile.mkstemp(prefix=name + ".", dir=directory)
        os.unlink(path)
        return file


def own_file(uri, memory, stack):
    """@uri, if its file exists; otherwise the URI of a new file without a name."""
    path, query = split_file(uri)
    if path is None or os.path.exists(path):
        return uri
    try:
        file = unnamed_file(os.path.dirname(path) or ".", os.path.basename(path))
    except OSError as error:
        raise Error(error.errno, f"offload: {path}: {error.strerror}") from None
    stack.callback(os.close, file)  # the library opens it for itself
    if "size" not in dict(query):
        query.append(("size", str(SPARSE * memory // PAGE * PAGE)))
    return f"file:/proc/self/fd/{file}?" + urllib.parse.urlencode(query)


class Storage:
    """@storage: a device's URI, or several. @memory: bytes of device memory."""

    def __init__(self, storage, memory):
        self.memory = memory
        several = isinstance(storage, Iterable) and not isinstance(storage, str)
        self.uris = list(storage) if several else [storage]
        if not all(isinstance(uri, str) for uri in self.uris):
            raise Error(errno.EINVAL, f"offload: storage {storage!r} is no text: file:PATH")
        if not self.uris:
            raise Error(errno.EINVAL, "offload: no storage: file:PATH")
        for uri in self.uris:
            if split_file(uri)[0] == "":
                raise Error(errno.EINVAL, f"offload: storage {uri} has no path: file:PATH")

    def open(self, create):
        """@create makes a space of URIs. Its errors name the paths that the program gave."""
        with contextlib.ExitStack() as stack:
            uris = [own_file(uri, self.memory, stack) for uri in self.uris]
            try:
                return create(uris)
            except Error as error:
                words = error.strerror
                for uri, own in zip(self.uris, uris):
                    if own != uri:
                        words = words.replace(split_file(own)[0], split_file(uri)[0])
                raise Error(error.errno, words) from None
