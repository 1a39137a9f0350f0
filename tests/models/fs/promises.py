# SPDX-License-Identifier: MIT
"""A writer on a file system that keeps, outside of it, what the file system has promised.

A call that changes names or attributes lasts when it has returned. Bytes last when fsync has
returned; before that, of the writes to a file the first ones may be there, each of them whole. The
call during which the file system ended has been done, or has not been.
"""
import collections
import errno
import mmap
import os
import random
import signal
import stat

GONE = (errno.ENOTCONN, errno.ECONNABORTED)
FILES = 40
FILE_BYTES = 1 << 20
ALL_BYTES = 5 << 20
POOL = random.Random(1).randbytes(3 << 20)


class Gone(Exception):
    """The process of the file system is gone."""


class Wrong(Exception):
    """A promise that was not kept, in words."""


class File:
    """@durable: durable bytes. @late: later changes, as (offset, bytes) or (size, None).
    @doubtful: the last of @late may not have been done. @modes: permissions that it may have."""

    def __init__(self, mode):
        self.durable = b""
        self.now = bytearray()
        self.late = []
        self.doubtful = False
        self.modes = {mode}

    def add(self, at, data):
        """A write (@data) or a new size (None), which has begun."""
        self.late.append((at, data))
        apply(self.now, at, data)
        self.doubtful = True

    def done(self):
        self.doubtful = False

    def lasts(self):
        self.durable = bytes(self.now)
        self.late = []

    def contents(self):
        """All that the file may hold: sizes last, and of the writes the first ones."""
        writes = sum(data is not None for _, data in self.late)
        for calls in (self.late, self.late[:-1]) if self.doubtful else (self.late,):
            for kept in range(writes, -1, -1):
                content, n = bytearray(self.durable), 0
                for at, data in calls:
                    n += data is not None
                    if data is None or n <= kept:
                        apply(content, at, data)
                yield content


def apply(content, at, data):
    if data is None:
        del content[at:]
        content.extend(bytes(at - len(content)))
        return
    content.extend(bytes(max(0, at - len(content))))
    content[at : at + len(data)] = data


class Writer:
    """@names: path to a File, to None (a directory) or to a str (the target of a link). @after: the
    same after the call that is under way, if it changes names."""

    def __init__(self, top, own, shared, prefix, seed):
        self.top, self.own, self.shared, self.prefix = top, own, shared, prefix
        self.random = random.Random(seed)
        self.names = {own: None}
        self.after = None
        self.unnamed = []
        self.calls = 0
        self.doing = ""
        self.said = collections.deque(maxlen=10000)

    # Calls. Each is noted before it begins, and once more when it has returned.

    def call(self, words, function, *args):
        self.doing = words
        self.calls += 1
        self.said.append(words)
        try:
            return function(*args)
        except OSError as e:
            if e.errno in GONE or self.gone():
                raise Gone from e
            raise Wrong(f"{words}: {e.strerror}") from e

    def gone(self):
        """A write that was under way may have been cut short, or have another error."""
        try:
            os.statvfs(self.top)
        except OSError as e:
            return e.errno in GONE
        return False

    def all_of(self, bytes_written, data):
        if bytes_written == len(data):
            return
        if self.gone():
            raise Gone
        raise Wrong(f"{self.doing}: wrote {bytes_written} bytes")

    def path(self, name):
        return os.path.join(self.top, name)

    def change(self, words, after, function, *args):
        """A call that changes names."""
        self.after = after
        result = self.call(words, function, *args)
        self.names, self.after = after, None
        return result

    def first(self):
        os.umask(0)
        self.call(f"mkdir {self.own}", os.mkdir, self.path(self.own))

    def files(self):
        return [name for name, what in self.names.items() if isinstance(what, File)]

    def directories(self):
        return [name for name, what in self.names.items() if what is None]

    def new_name(self):
        n = self.random.randrange(10000)
        if self.random.random() < 0.3:
            return f"{self.shared}/{self.prefix}{n}"
        return f"{self.random.choice(self.directories())}/{n}"

    def open(self, name, flags):
        return self.call(f"open {name}", os.open, self.path(name), flags | os.O_CLOEXEC)

    def close(self, fd):
        try:
            os.close(fd)
        except OSError:
            pass

    # Steps of a writer, by chance.

    def create(self):
        name, mode = self.new_name(), self.random.choice((0o600, 0o644, 0o755))
        if name in self.names or len(self.files()) >= FILES:
            return self.unlink()
        file = File(mode)
        fd = self.change(
            f"create {name}", {**self.names, name: file}, os.open, self.path(name),
            os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode,
        )
        try:
            self.write_to(fd, name, file)
            if self.random.random() < 0.6:
                self.sync(fd, name, file)
        finally:
            self.close(fd)
        return None

    def bytes_to_write(self, at):
        n = int(2 ** self.random.uniform(0, 20.01))
        n = min(n, FILE_BYTES - at % 4096)
        start = self.random.randrange(len(POOL) - n)
        return POOL[start : start + n]

    def write_to(self, fd, name, file):
        at = self.random.choice((0, len(file.now), self.random.randrange(len(file.now) + 1)))
        if self.random.random() < 0.3:
            at = at // 4096 * 4096
        held = sum(len(self.names[f].now) for f in self.files())
        data = self.bytes_to_write(at)
        if at + len(data) > 2 * FILE_BYTES or held + len(data) > ALL_BYTES:
            self.truncate()
            return False
        # The kernel makes two writes of one that begins in a page that it does not have.
        first = -at % 4096
        for skip, part in ((0, data[:first]), (first, data[first:])):
            if part:
                file.add(at + skip, part)
        n = self.call(f"write {len(data)} at {at} to {name}", os.pwrite, fd, data, at)
        self.all_of(n, data)
        file.done()
        return True

    def sync(self, fd, name, file):
        self.call(f"fsync {name}", self.random.choice((os.fsync, os.fdatasync)), fd)
        file.lasts()

    def write(self):
        """Several writes, perhaps synchronous ones, or past the page cache; perhaps an fsync."""
        if not self.files():
            return self.create()
        name = self.random.choice(self.files())
        file = self.names[name]
        lasting = self.random.random() < 0.2
        fd = self.open(name, os.O_RDWR | (os.O_DSYNC if lasting else 0))
        try:
            for _ in range(self.random.choice((1, 1, 2, 5))):
                if self.write_to(fd, name, file) and lasting:
                    file.lasts()
            if self.random.random() < 0.4:
                self.sync(fd, name, file)
        finally:
            self.close(fd)
        return None

    def direct(self):
        """Whole pages past the page cache."""
        if not self.files():
            return self.create()
        name = self.random.choice(self.files())
        file = self.names[name]
        page = mmap.mmap(-1, 4096 * self.random.choice((1, 2, 16)))
        page[:] = POOL[self.calls % 4096 :][: len(page)]
        at = self.random.randrange(len(file.now) // 4096 + 1) * 4096
        fd = self.open(name, os.O_RDWR | os.O_DIRECT)
        try:
            file.add(at, bytes(page))
            n = self.call(f"write {len(page)} at {at} directly to {name}", os.pwrite, fd, page, at)
            self.all_of(n, page)
            file.done()
        finally:
            self.close(fd)
            page.close()
        return None

    def mapped(self):
        """A store to a mapping, in one page, which msync writes."""
        names = [name for name in self.files() if self.names[name].now]
        if not names:
            return self.create()
        name = self.random.choice(names)
        file = self.names[name]
        at = self.random.randrange(len(file.now))
        data = POOL[self.calls % 4096 :][: min(4096 - at % 4096, len(file.now) - at)]
        fd = self.open(name, os.O_RDWR)
        try:
            file.add(at, data)
            self.call(f"msync of {len(data)} at {at} of {name}", store, fd, len(file.now), at, data)
            file.done()
            file.lasts()
        finally:
            self.close(fd)
        return None

    def truncate(self):
        if not self.files():
            return None
        name = self.random.choice(self.files())
        file = self.names[name]
        size = self.random.choice((0, len(file.now) // 2, len(file.now) * 9 // 10))
        if self.random.random() < 0.3:
            size = min(len(file.now) + self.random.randrange(10000), FILE_BYTES)
        file.add(size, None)
        self.call(f"truncate {name} to {size}", os.truncate, self.path(name), size)
        file.done()
        return None

    def unlink(self):
        if not self.files():
            return None
        name = self.random.choice(self.files())
        if self.random.random() < 0.2 and len(self.unnamed) < 3:
            self.unnamed.append(self.open(name, os.O_RDWR))
        after = {n: what for n, what in self.names.items() if n != name}
        self.change(f"unlink {name}", after, os.unlink, self.path(name))
        return None

    def rename(self):
        if not self.files():
            return self.create()
        name = self.random.choice(self.files())
        to = self.random.choice((self.new_name(), self.random.choice(self.files())))
        if to in self.names and not isinstance(self.names[to], File):
            return None
        # Two names of one file: the call does nothing.
        after = {**self.names, to: self.names[name]}
        if name != to and self.names.get(to) is not self.names[name]:
            del after[name]
        self.change(
            f"rename {name} to {to}", after, os.rename, self.path(name), self.path(to)
        )
        return None

    def replace(self):
        """A new file under a temporary name, which then takes the place of another."""
        if not self.files():
            return self.create()
        to = self.random.choice(self.files())
        name = self.new_name()
        if name in self.names:
            return None
        file = File(0o644)
        fd = self.change(
            f"create {name}", {**self.names, name: file}, os.open, self.path(name),
            os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644,
        )
        try:
            self.write_to(fd, name, file)
            self.sync(fd, name, file)
        finally:
            self.close(fd)
        after = {n: what for n, what in self.names.items() if n != name}
        after[to] = file
        self.change(
            f"rename {name} to {to}", after, os.rename, self.path(name), self.path(to)
        )
        return None

    def link(self):
        name = self.new_name()
        if not self.files() or name in self.names or len(self.files()) >= FILES:
            return None
        of = self.random.choice(self.files())
        self.change(
            f"link {of} to {name}", {**self.names, name: self.names[of]}, os.link, self.path(of),
            self.path(name),
        )
        return None

    def symlink(self):
        name = self.new_name()
        if name in self.names or len(self.names) > FILES * 2:
            return None
        target = "t" * self.random.choice((3, 50, 300, 3000))
        self.change(
            f"symlink {name}", {**self.names, name: target}, os.symlink, target, self.path(name)
        )
        return None

    def mkdir(self):
        name = f"{self.random.choice(self.directories())}/{self.random.randrange(10000)}"
        if name in self.names or name.count("/") > 3 or len(self.directories()) > 12:
            return self.rmdir()
        self.change(f"mkdir {name}", {**self.names, name: None}, os.mkdir, self.path(name))
        return None

    def rmdir(self):
        empty = [
            d
            for d in self.directories()
            if d != self.own and not any(n.startswith(d + "/") for n in self.names)
        ]
        if not empty:
            return None
        name = self.random.choice(empty)
        after = {n: what for n, what in self.names.items() if n != name}
        self.change(f"rmdir {name}", after, os.rmdir, self.path(name))
        return None

    def rename_directory(self):
        name = self.random.choice(self.directories())
        parent = self.random.choice(self.directories())
        to = f"{parent}/{self.random.randrange(10000)}"
        if name == self.own or to in self.names or (parent + "/").startswith(name + "/"):
            return None
        after = {}
        for n, what in self.names.items():
            inside = n == name or n.startswith(name + "/")
            after[to + n[len(name) :] if inside else n] = what
        self.change(
            f"rename {name} to {to}", after, os.rename, self.path(name), self.path(to)
        )
        return None

    def chmod(self):
        if not self.files():
            return None
        name = self.random.choice(self.files())
        file, mode = self.names[name], self.random.choice((0o600, 0o640, 0o711))
        file.modes.add(mode)
        self.call(f"chmod {name}", os.chmod, self.path(name), mode)
        file.modes = {mode}
        return None

    def read(self):
        if not self.files():
            return None
        name = self.random.choice(self.files())
        content, now = self.content(name), self.names[name].now
        if content != now:
            if self.gone():
                raise Gone
            raise Wrong(
                f"{name}: a read gives {len(content)} bytes, not the {len(now)} that were written, "
                f"the first other one is at {first_other(content, now)}"
            )
        return None

    def content(self, name):
        fd = self.open(name, os.O_RDONLY)
        try:
            size = self.call(f"stat {name}", os.fstat, fd).st_size
            return self.call(f"read {name}", os.pread, fd, size + 1, 0)
        finally:
            self.close(fd)

    CHANCES = {
        create: 20, write: 30, direct: 8, mapped: 5, truncate: 6, unlink: 8, rename: 10,
        replace: 10, link: 4, symlink: 3, mkdir: 4, rmdir: 2, rename_directory: 3, chmod: 4,
        read: 8,
    }

    def load(self):
        """Work until the file system has gone."""
        kinds, weights = list(self.CHANCES), list(self.CHANCES.values())
        try:
            while True:
                self.random.choices(kinds, weights)[0](self)
        except Gone:
            pass
        for fd in self.unnamed:
            self.close(fd)
        self.unnamed = []

    # After it has come back.

    def found(self):
        """Present names, and their types."""
        found, inodes = {}, {}
        for name in self.walk(self.own, ""):
            st = self.call(f"stat {name}", os.lstat, self.path(name))
            if stat.S_ISDIR(st.st_mode):
                found[name] = None
            elif stat.S_ISLNK(st.st_mode):
                found[name] = self.call(f"readlink {name}", os.readlink, self.path(name))
            else:
                if st.st_ino not in inodes:
                    inodes[st.st_ino] = (stat.S_IMODE(st.st_mode), st.st_nlink, self.content(name))
                found[name] = (st.st_ino, *inodes[st.st_ino])
        return found

    def walk(self, top, prefix):
        yield top
        pending = [(top, prefix), (self.shared, self.prefix)]
        while pending:
            at, prefix = pending.pop()
            with self.call(f"readdir {at}", os.scandir, self.path(at)) as entries:
                for entry in sorted(entries, key=lambda e: e.name):
                    if not entry.name.startswith(prefix):
                        continue
                    yield f"{at}/{entry.name}"
                    if entry.is_dir(follow_symlinks=False):
                        pending.append((f"{at}/{entry.name}", ""))

    def verify(self):
        """Compare the file system with the promises, and continue with its state."""
        found = self.found()
        try:
            names = self.names
            taken = match(names, found)
        except Wrong as e:
            if self.after is None:
                raise Wrong(f"{e}; during {self.doing}") from e
            names = self.after
            try:
                taken = match(names, found)
            except Wrong as other:
                raise Wrong(f"{e}; and {other} if it was done: {self.doing}") from other
        for file, (mode, content) in taken.items():
            file.durable, file.now, file.late = content, bytearray(content), []
            file.doubtful, file.modes = False, {mode}
        self.names, self.after = names, None


def store(fd, size, at, data):
    """Bytes to a mapping, and msync, in a child: a page that cannot be read any more ends it."""
    child = os.fork()
    if not child:
        try:
            mapping = mmap.mmap(fd, size)
            mapping[at : at + len(data)] = data
            mapping.flush()
            os._exit(0)
        except OSError as e:
            os._exit(e.errno)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        status = errno.ENOTCONN if status == -signal.SIGBUS else max(status, errno.EINVAL)
        raise OSError(status, os.strerror(status))


def match(names, found):
    """Compare expected names and contents with found ones."""
    for name in sorted(names.keys() ^ found.keys()):
        raise Wrong(f"{name} is {'missing' if name in names else 'there'}")
    taken, inodes = {}, {}
    for name, what in names.items():
        there = found[name]
        if not isinstance(what, File):
            if what != there:
                raise Wrong(f"{name} is another kind of file or link")
            continue
        if not isinstance(there, tuple):
            raise Wrong(f"{name} is no file")
        ino, mode, links, content = there
        if inodes.setdefault(what, ino) != ino or list(names.values()).count(what) != links:
            raise Wrong(f"{name} has {links} links, or another file has its name")
        if mode not in what.modes:
            raise Wrong(f"{name} has mode {mode:o}")
        if what not in taken:
            check_content(name, what, content)
            taken[what] = (mode, content)
    return taken


def check_content(name, file, content):
    last = b""
    for last in file.contents():
        if last == content:
            return
    raise Wrong(
        f"{name} has {len(content)} bytes that it cannot have; {len(file.late)} calls were not "
        f"synced, {len(last)} bytes were before, the first other one of them is at "
        f"{first_other(last, content)}"
    )


def first_other(a, b):
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
