# SPDX-License-Identifier: MIT
"""Claims about annex.open(), with NumPy as the reference: arrays.py DIRECTORY-OF-annex ANNEX.

It needs NumPy, and no PyTorch. ANNEX is the tool; ANNEX_LIBRARY says which library. ALL=1: more
random arrays.
"""
import contextlib
import ctypes
import errno
import gc
import json
import multiprocessing
import operator
import os
import pathlib
import pickle
import random
import subprocess
import sys
import tempfile
import threading
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS, TOOL = [os.path.abspath(path) for path in sys.argv[1:3]]
sys.path[:0] = [TOOLS, HERE]
import numpy as np  # noqa: E402
import annex  # noqa: E402
import claims  # noqa: E402
from claims import ALL, claim, summary  # noqa: E402

INCLUDE = os.path.join(HERE, "../../include")
SEED = int(os.environ.get("ANNEX_SEED", random.SystemRandom().randrange(1 << 32)))
DTYPES = ("u1", "<i2", ">i4", "f4", "f8", "c16", "?", "S3", "<U2", "M8[s]",
          [("a", "u1"), ("b", "f4")])
ROWS = ((), (1,), (3,), (100,), (5, 7), (384,), (2, 3, 4), (3000,))


def refused(words, number, pattern, call):
    claims.refused(words, (annex.Error, number), pattern, call)


def raises(words, kind, pattern, call):
    """As refused(), for errors that NumPy has, too."""
    try:
        call()
        claim(f"{words}: {kind.__name__}", False)
    except kind as error:
        claim(f"{words}: {error}", type(error) is kind and pattern in str(error) and
              "\n" not in str(error))


def same(a, b):
    """The same type, shape and bytes."""
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


class Random:
    def __init__(self, seed):
        self.numbers = np.random.default_rng(seed)

    def below(self, limit):
        return int(self.numbers.integers(limit))

    def choose(self, some):
        return some[self.below(len(some))]

    def array(self, least=0):
        dtype, row = np.dtype(self.choose(DTYPES)), self.choose(ROWS)
        cells = int(np.prod(row))
        count = (least + self.below(1 + min(2000, 100000 // cells))) * cells
        data = self.numbers.bytes(count * dtype.itemsize)
        if dtype.kind in "SU?":
            letters = self.numbers.integers(2, size=count)
            return letters.astype(dtype).reshape(-1, *row)
        return np.frombuffer(data, dtype).reshape(-1, *row)

    def bound(self, length):
        return self.choose((None, self.below(3 * length + 3) - length - 1))

    def key(self, length):
        """Of rows: any that NumPy takes."""
        kind = self.below(7)
        if kind == 0 and length:
            return self.below(2 * length) - length
        if kind == 1:
            return slice(self.bound(length), self.bound(length))
        if kind == 2:
            return slice(self.bound(length), self.bound(length),
                         self.choose((-7, -2, -1, 1, 2, 3, 100)))
        if kind == 3:
            return self.numbers.random(length) < 0.1
        shape = self.choose(((0,), (1,), (self.below(300),), (3, 5), (2, 0), ()))
        if not length:
            return np.zeros((0,), np.int64)
        dtype = self.choose((np.int64, np.int32, np.int16, np.uint64, np.uint16))
        low = -length if np.dtype(dtype).kind == "i" else 0
        index = self.numbers.integers(low, length, shape).astype(dtype)
        return index.tolist() if kind == 4 and index.ndim == 1 and index.size else index

    def keys(self, shape):
        """Of several dimensions."""
        inner = tuple(self.choose((self.below(n), slice(None), slice(0, n, 2), Ellipsis))
                      for n in shape[1:1 + self.below(len(shape))] if n)
        if inner.count(Ellipsis) > 1:
            inner = ()
        return (self.key(shape[0]), *inner)


def stored(folder, array, rng):
    """An array in files, and how it is opened."""
    form = rng.below(3)
    path = os.path.join(folder, f"a{rng.below(1 << 30)}")
    options = {"line": rng.choose((512, 1024, 4096, "64K")), "cache": rng.choose(("64K", "1M"))}
    if form == 0 or not array.size:
        path += ".npy"
        np.save(path, array)
    elif form == 1:
        offset = rng.choose((0, 1, 7, 512, 4097))
        with open(path, "wb") as file:
            file.write(os.urandom(offset) + array.tobytes() + os.urandom(rng.below(50)))
        options.update(dtype=array.dtype, shape=array.shape, offset=offset)
    else:
        ends = sorted(rng.below(len(array) + 1) for _ in range(3))
        paths = []
        for number, part in enumerate(np.split(array, ends)):
            paths.append(f"{path}-{number}.npy")
            np.save(paths[-1], part)
        path = paths
    return path, options


def check_random(folder, number):
    rng = Random((SEED, number))
    array = rng.array()
    path, options = stored(folder, array, rng)
    words = f"ANNEX_SEED={SEED}, array {number}: {array.dtype} {array.shape} {options}"
    with annex.open(path, **options) as a:
        claim(f"{words}: its shape and type",
              (a.shape, a.dtype, a.ndim, len(a), a.nbytes) ==
              (array.shape, array.dtype, array.ndim, len(array), array.nbytes))
        for _ in range(12):
            key = rng.key(len(array))
            claim(f"{words}: a[{key!r}]", same(a[key], array[key]))
            claim(f"{words}: take({key!r})", same(a.take(key)[()], array[key]))
            keys = rng.keys(array.shape)
            claim(f"{words}: a[{keys!r}]", same(a[keys], array[keys]))
            claim(f"{words}: prefetch", a.prefetch(key) >= 0)
        claim(f"{words}: all", same(a[:], array))
        claim(f"{words}: one by one", array.nbytes > 1 << 20 or
              all(same(x, y) for x, y in zip(a, array)))


def check_written(folder, number):
    """Random writes, and the file after them."""
    rng = Random((SEED, number, 1))
    array = rng.array(1).copy()
    path = os.path.join(folder, f"w{number}.npy")
    np.save(path, array)
    size = os.path.getsize(path)
    words = f"ANNEX_SEED={SEED}, written array {number}: {array.dtype} {array.shape}"
    with annex.open(path, mode="r+", line=rng.choose((512, 4096)), cache="64K") as a:
        for _ in range(12):
            key = rng.key(len(array))
            value = array[rng.numbers.integers(len(array), size=array[key].shape[:np.ndim(
                array[key]) - array.ndim + 1])]
            if rng.below(4) == 0:
                value = array[0]
            array[key] = value
            a[key] = value
            claim(f"{words}: a[{key!r}] = ...", same(a[key], array[key]))
        a.flush()
        claim(f"{words}: as it was written", same(a[:], array))
    claim(f"{words}: in the file", same(np.load(path), array) and os.path.getsize(path) == size)


def check_forms(folder):
    """Names of arrays, and how they are read."""
    array = np.arange(8192, dtype="f4").reshape(-1, 16)
    raw, npy = os.path.join(folder, "raw ?&%=#ä"), os.path.join(folder, "x?readonly=1&%41.npy")
    array.tofile(raw)
    np.save(npy, array)
    pairs = (
        ("a path with every character", (npy,), {}), ("a pathlib.Path", (pathlib.Path(npy),), {}),
        ("rows of a file", (raw,), {"dtype": "f4", "shape": (512, 16)}),
        ("as many rows as there are", (raw,), {"dtype": "f4", "shape": (-1, 16)}),
        ("the URI of a file", ("file:" + npy.replace("%", "%25").replace("?", "%3f"),), {}))
    for words, path, options in pairs:
        with annex.open(*path, **options) as a:
            claim(words, same(a[:], array) and a.mode == "r")
    with annex.open(raw, dtype="<u2", offset=2) as a:
        claim("one dimension, from an offset", same(a[:], array.view("<u2").reshape(-1)[1:]))
    with annex.open([raw, raw], dtype="f4", shape=(-1, 16)) as a:
        claim("two files", same(a[[0, 600, -1]], array[[0, 88, -1]]) and len(a) == 1024)
    with annex.open("mem:64K", dtype="u1", mode="r+") as a:
        a[5:8] = [1, 2, 3]
        claim("memory", a[4:9].tolist() == [0, 1, 2, 3, 0] and len(a) == 65536)
    with contextlib.chdir(folder) if hasattr(contextlib, "chdir") else contextlib.nullcontext():
        np.save("mem:1M", array)
        os.rename("mem:1M.npy", "mem:1M")
        for name in ("./mem:1M", pathlib.Path("mem:1M")):
            with annex.open(name) as a:
                claim(f"a path that looks like a URI: {name!r}", same(a[:], array))
    for fortran in (np.asfortranarray(np.arange(5)), np.asfortranarray(np.zeros((1, 4)))):
        np.save(npy, fortran)
        with annex.open(npy) as a:
            claim("Fortran order of one row or column", same(a[:], fortran))
    np.save(npy, np.zeros((0, 5)))
    with annex.open(npy) as a:
        claim("no rows", a[:].shape == (0, 5) and a.prefetch(slice(None)) == 0)
        raises("a row of none", IndexError, "out of bounds", lambda: a[0])
        raises("rows of none", IndexError, "out of bounds", lambda: a[[0]])


def header(text, version=1):
    """A .npy file of a header alone."""
    data = text.encode("latin1")
    return b"\x93NUMPY" + bytes([version, 0]) + len(data).to_bytes(2, "little") + data


def check_refused_files(folder):
    path = os.path.join(folder, "bad.npy")
    np.save(path, np.arange(1000.0))
    with open(path, "rb") as file:
        good = file.read()
    np.save(path, np.array([{}, []], object), allow_pickle=True)
    with open(path, "rb") as file:
        objects = file.read()
    descr = "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }\n"
    cases = [("objects", objects), ("truncated", good[:-1]), ("a truncated header", good[:40]),
             ("only magic", good[:6]), ("another version", header(descr % "(1,)", 9)),
             ("too many rows", header(descr % "(1000000000000000000000,)")),
             ("a negative shape", header(descr % "(-1,)") + good),
             ("a negative product", header(descr % "(-2, -2)") + good),
             ("no dimension", header(descr % "()") + good),
             ("code", header("__import__('os').abort()\n")), ("not a dictionary", header("1\n")),
             ("deep", header("(" * 9000 + "\n")), ("zeroes", header("\0" * 90)),
             ("no descr", header("{}\n")), ("a descr of objects", header(
                 "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n")),
             ("an unknown descr", header(
                 "{'descr': 'xyz', 'fortran_order': False, 'shape': (1,), }\n"))]
    for words, data in cases:
        with open(path, "wb") as file:
            file.write(data)
        refused(f"a .npy file with {words}", errno.EINVAL, "bad.npy", lambda: annex.open(path))
    rng = Random((SEED, 77))
    for _ in range(2000 if ALL else 100):
        data = bytearray(good[:128])
        for _ in range(1 + rng.below(4)):
            data[rng.below(128)] = rng.below(256)
        with open(path, "wb") as file:
            file.write(data)
        with contextlib.suppress(annex.Error):
            annex.open(path).close()
    np.save(path, np.asfortranarray(np.zeros((3, 4))))
    refused("Fortran order", errno.EINVAL, "ascontiguousarray", lambda: annex.open(path))
    os.remove(path)
    refused("no file", errno.ENOENT, "bad.npy", lambda: annex.open(path))
    refused("a folder", errno.EISDIR, folder, lambda: annex.open(folder))
    raw = os.path.join(folder, "raw")
    np.arange(1024).tofile(raw)
    for words, number, pattern, options in (
            ("no type", errno.EINVAL, "dtype=", {}),
            ("too many rows", errno.ERANGE, "exceed", {"dtype": "f8", "shape": 1025}),
            ("an offset behind the end", errno.ERANGE, "behind", {"dtype": "f8", "offset": 9000}),
            ("an offset below 0", errno.EINVAL, "negative", {"dtype": "f8", "offset": -8}),
            ("a negative shape", errno.EINVAL, "negative", {"dtype": "f8", "shape": (2, -1)}),
            ("objects", errno.EINVAL, "objects", {"dtype": "O"}),
            ("rows of no bytes", errno.EINVAL, "0 bytes", {"dtype": "V0"}),
            ("a mode", errno.EINVAL, "r+", {"dtype": "f8", "mode": "w"}),
            ("a size", errno.EINVAL, "512M", {"dtype": "f8", "cache": "many"}),
            ("a line", errno.EINVAL, "power of two", {"dtype": "f8", "line": 5000}),
            ("a timeout", errno.EINVAL, "seconds", {"dtype": "f8", "timeout": 0})):
        refused(words, number, pattern, lambda options=options: annex.open(raw, **options))
    weights = os.path.join(folder, "weights")
    wanted = np.random.default_rng(SEED).random((30, 100), "f4")
    with open(weights, "wb") as file:
        text = json.dumps({"half": {"dtype": "BF16", "shape": [3], "data_offsets": [0, 6]}, "w": {
            "dtype": "F32", "shape": [30, 100], "data_offsets": [6, 12006]}}).encode()
        file.write(len(text).to_bytes(8, "little") + text + bytes(6) + wanted.tobytes())
    with annex.open(weights, tensor="w") as a:
        claim("a tensor of safetensors", same(a[:], wanted))
        claim("and again by pickle", same(pickle.loads(pickle.dumps(a))[7:9], wanted[7:9]))
    refused("no such tensor", errno.ENOENT, "no tensor 'v'", lambda: annex.open(
        weights, tensor="v"))
    refused("a type that NumPy lacks", errno.EINVAL, "bfloat16", lambda: annex.open(
        weights, tensor="half"))
    refused("a tensor of another file", errno.EINVAL, "safetensors", lambda: annex.open(
        raw, tensor="w"))
    refused("a tensor's own type", errno.EINVAL, "its own", lambda: annex.open(
        weights, tensor="w", dtype="f4"))
    refused("an array's own shape", errno.EINVAL, "its own", lambda: annex.open(
        saved(folder, np.arange(4)), shape=4))
    refused("no files", errno.EINVAL, "no file", lambda: annex.open([]))
    refused("files of different rows", errno.EINVAL, "other.npy", lambda: annex.open(
        [saved(folder, np.zeros((2, 3))), saved(folder, np.zeros((2, 4)), "other.npy")]))
    refused("a device that is not there", errno.ENOENT, "nowhere", lambda: annex.open(
        "unix:/nowhere?part=x", dtype="f4", shape=1))
    refused("an unknown parameter", errno.EINVAL, "colour", lambda: annex.open(
        f"file:{raw}?colour=red", dtype="f4"))


def saved(folder, array, name="some.npy"):
    path = os.path.join(folder, name)
    np.save(path, array)
    return path


def check_refused_uses(folder):
    array = np.arange(3000.0).reshape(-1, 3)
    a = annex.open(saved(folder, array))
    for index in (1000, -1001, [0, 1000], [-1001], np.array([5, 1 << 62])):
        raises(f"a[{index}]", IndexError, "out of bounds for axis 0 with size 1000",
               lambda index=index: a[index])
        raises(f"prefetch({index})", IndexError, "out of bounds",
               lambda index=index: a.prefetch(index))
    for index in (1.5, "x", [1.5], True, np.ones(7, bool), np.ones((1000, 3), bool), object()):
        raises(f"a[{index!r:.30}]", IndexError, "", lambda index=index: a[index])
    raises("an inner index", IndexError, "", lambda: a[0, 3])
    raises("too many", IndexError, "", lambda: a[0, 0, 0])
    raises("a new axis", IndexError, "new axis", lambda: a[None])
    raises("np.asarray(a)", TypeError, "a[:]", lambda: np.asarray(a))
    raises("np.add", TypeError, "", lambda: np.add(a, 1))
    raises("a + 1", TypeError, "", lambda: operator.add(a, 1))
    for out in (np.empty(3), np.empty((2, 3), "f4"), np.empty((2, 6))[:, ::2], [[0] * 3] * 2,
                np.broadcast_to(0.0, (2, 3))):
        raises("out=", ValueError, "out must be", lambda out=out: a.take([0, 1], out=out))
    out = np.empty((2, 3))
    claim("out=", a.take([5, -1], out=out) is out and same(out, array[[5, -1]]))
    refused("writing", errno.EROFS, "r+", lambda: a.__setitem__(0, 1))
    refused("a writer beside a reader", errno.EBUSY, "some.npy", lambda: annex.open(
        saved_again(folder), mode="r+"))
    a.close()
    a.close()
    claim("closed", a.closed and "closed" in repr(a) and a.shape == (1000, 3))
    for call in (lambda: a[0], lambda: a.prefetch([0]), a.stats, a.flush, a.__enter__,
                 lambda: pickle.dumps(a), lambda: a.__setitem__(0, 1)):
        refused("a use of a closed array", errno.EBADF, "closed", call)
    with annex.open(saved_again(folder), mode="r+") as a:
        for value in (np.zeros(4), np.zeros((2, 3))):
            raises("rows of another shape", ValueError, "", lambda v=value: a.__setitem__(0, v))
        raises("an index out of bounds", IndexError, "out of bounds",
               lambda: a.__setitem__([0, 5000], 7.0))
        claim("nothing was written", same(a[:], array))
        raises("a part of a row", IndexError, "whole rows", lambda: a.__setitem__((0, 0), 1))
        refused("a reader beside a writer", errno.EBUSY, "some.npy",
                lambda: annex.open(saved_again(folder)))
        refused("pickle", errno.ECHILD, "r+", lambda: pickle.dumps(a))


def saved_again(folder):
    return os.path.join(folder, "some.npy")


def child(call):
    """Whether a forked child that makes a call ends well."""
    process = os.fork()
    if not process:
        status = 1
        with contextlib.suppress(BaseException):
            status = 0 if call() else 1
        os._exit(status)
    return os.waitpid(process, 0)[1] == 0


def refuses(call):
    try:
        call()
    except annex.Error as error:
        return error.errno == errno.ECHILD
    return False


def check_fork(folder):
    array = np.random.default_rng(SEED).random((5000, 9))
    path = saved(folder, array)
    a = annex.open(path, cache="64K")
    a.take([0, 1])
    index = np.arange(0, 5000, 7)
    claim("a child opens it again", child(lambda: same(a[index], array[index])))
    claim("and its child", child(lambda: child(lambda: same(a[index], array[index])) and
                                 same(a[3], array[3])))
    claim("a child closes it", child(lambda: a.close() is None and a.closed))
    claim("and the parent does not notice", same(a[index], array[index]))
    a.close()
    with annex.open(path, mode="r+") as a:
        a[0] = 5
        claim("a child does not write", child(lambda: refuses(lambda: a[0]) and
                                              a.close() is None))
    claim("what the parent wrote", np.load(path)[0].tolist() == [5] * 9)
    with annex.open("mem:1M", dtype="u1") as a:
        claim("memory is of one process", child(lambda: refuses(lambda: a[0])))
        refused("and not pickled", errno.ECHILD, "memory", lambda: pickle.dumps(a))


def total(a):
    return a[:].sum()


def check_pickle(folder):
    array = np.arange(12000).reshape(-1, 4)
    with annex.open(saved(folder, array), line=512) as a:
        b = pickle.loads(pickle.dumps(a))
        claim("pickle", same(b[:], array) and b.stats() is not a.stats())
        with contextlib.chdir("/") if hasattr(contextlib, "chdir") else contextlib.nullcontext():
            claim("in another folder", same(pickle.loads(pickle.dumps(b))[7], array[7]))
        for method in ("fork", "spawn"):
            with multiprocessing.get_context(method).Pool(2) as pool:
                claim(f"workers by {method}", pool.map(total, [a] * 3) == [array.sum()] * 3)
        b.close()


def open_files():
    return len(os.listdir("/proc/self/fd"))


def check_lifetime(folder):
    path = saved(folder, np.arange(100000))
    annex.open(path).close()
    before = open_files()
    for _ in range(5):
        a = annex.open(path)
        claim("open", a[7] == 7 and open_files() > before)
        del a
        claim("closed when nothing refers to it", open_files() == before)
    a = annex.open(path)
    loop = [a]
    loop.append(loop)
    del a, loop
    gc.collect()
    claim("closed when it is collected", open_files() == before)
    a = annex.open(path, mode="r+")
    a[1] = 77
    del a
    claim("a collected array was written", np.load(path)[1] == 77)
    program = """if True:
        import sys
        sys.path.insert(0, sys.argv[1])
        import annex
        a = annex.open(sys.argv[2], mode="r+")
        a[2] = 78
        """
    subprocess.run([sys.executable, "-c", program, TOOLS, path], check=True)
    claim("an array at the end of the process was written", np.load(path)[2] == 78)
    a = annex.open(f"file:{path}?fault=error,op=write,count=0", dtype="i8", shape=100,
                   mode="r+")
    a[0] = 1
    refused("flush() of a failing device", errno.EIO, "", a.flush)
    refused("close() of a failing device", errno.EIO, "", a.close)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        del a
    claim(f"lost data is a warning: {told}", any("lost" in str(w.message) for w in told))
    a = annex.open(f"file:{path}?fault=error,op=read,count=0", dtype="i8", shape=100)
    refused("a failing read", errno.EIO, path, lambda: a[0])


def check_threads(folder):
    """Many threads, of which one closes the array under the others."""
    array = np.random.default_rng(SEED).integers(1 << 60, size=(20000, 25))
    path = saved(folder, array)
    with annex.open(path, cache="256K") as a:
        bad = []

        def read(seed):
            numbers = np.random.default_rng((SEED, seed))
            for _ in range(30):
                index = numbers.integers(-20000, 20000, 100)
                if not same(a[index], array[index]):
                    bad.append(index)

        run_threads(read, 6)
        claim(f"threads read the same: {bad[:1]}", not bad)
        claim(f"figures: {a.stats()}", a.stats()["bytes_asked"] >= 6 * 30 * 100 * 200 and
              a.stats()["evictions"] > 0)
    a, ends = annex.open(path, cache="256K"), []

    def use(seed):
        numbers = np.random.default_rng((SEED, seed))
        try:
            while True:
                a[numbers.integers(20000, size=50)]
                if len(ends) == 0 and a.stats()["misses"] > 1000:
                    a.close()
        except annex.Error as error:
            ends.append(error.errno)

    run_threads(use, 4)
    claim(f"closed under threads: {ends}", ends == [errno.EBADF] * 4)


def run_threads(call, count):
    threads = [threading.Thread(target=call, args=(seed,)) for seed in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def check_served(folder):
    """Arrays of processes that share a daemon's part."""
    array = np.arange(4096 * 8, dtype="u4").reshape(-1, 8)
    sock = os.path.join(folder, "sock")
    daemon = subprocess.Popen([TOOL, "serve", "--socket", sock, "mem:64M"],
                              stdout=subprocess.PIPE, text=True)
    try:
        claim("the daemon is ready", daemon.stdout.readline().startswith("ready:"))
        subprocess.run([TOOL, "part", "add", sock, "x", "1M"], check=True,
                       stdout=subprocess.DEVNULL)
        options = {"dtype": "u4", "shape": (4096, 8), "offset": 400}
        with annex.open(f"unix:{sock}?part=x", mode="r+", **options) as a:
            a[:] = array
        with annex.open(f"unix:{sock}?part=x", **options) as a:
            claim("a daemon's part", same(a[::-1], array[::-1]))
            claim("a child shares it", child(lambda: same(a[[5, 9]], array[[5, 9]])))
    finally:
        daemon.terminate()
        daemon.wait()
        daemon.stdout.close()


def check_import(folder):
    """Packages that are not there are missed when they are used."""
    program = """if True:
        import sys
        sys.path.insert(0, sys.argv[1])
        sys.modules.update(dict.fromkeys(sys.argv[3].split(",")))
        import annex
        for name in sys.argv[4].split(","):
            try:
                getattr(annex, name)
            except ImportError as error:
                print(error)
        print(annex.Error.__name__)
        if "numpy" not in sys.argv[3]:
            print(annex.open(sys.argv[2])[3])
        """
    for absent, names, words in (
            ("torch", "offload,Dataset,Ahead,load", ["PyTorch 1.13"] * 4 + ["Error", "9"]),
            ("numpy,torch", "open", ["NumPy", "Error"])):
        told = subprocess.run([sys.executable, "-c", program, TOOLS, saved(
            folder, np.arange(9) ** 2), absent, names], stdout=subprocess.PIPE, check=True,
            text=True).stdout.splitlines()
        claim(f"without {absent}: {told}", len(told) == len(words) and all(
            word in line for word, line in zip(words, told)))
    claim("dir(annex)", "open" in dir(annex) and "offload" in dir(annex))
    raises("no such name", AttributeError, "colour", lambda: annex.colour)


def check_structures():
    """Python's structures are the headers'."""
    from annex import calls
    lines = [f"#include <annex/{name}.h>" for name in ("array", "device")]
    lines += ["#include <assert.h>", "#include <stddef.h>",
              f"static_assert(sizeof(struct annex_array) <= {calls.VIEW_BYTES}, \"\");"]
    for name, kind in calls.STRUCTURES.items():
        lines.append(f'static_assert(sizeof(struct {name}) == {ctypes.sizeof(kind)}, "");')
        lines += [f"static_assert(offsetof(struct {name}, {field}) == "
                  f'{getattr(kind, field).offset}, "");' for field, _ in kind._fields_]
    done = subprocess.run([os.environ.get("CC", "cc"), "-std=gnu11", "-fsyntax-only", "-I", INCLUDE,
                           "-x", "c", "-"], input="\n".join(lines) + "\n", text=True,
                          stderr=subprocess.PIPE, check=False)
    claim(f"structures: {done.stderr}", done.returncode == 0)


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_import(folder)
        check_structures()
        check_forms(folder)
        check_refused_files(folder)
        check_refused_uses(folder)
        check_lifetime(folder)
        check_fork(folder)
        check_pickle(folder)
        check_threads(folder)
        check_served(folder)
        for number in range(300 if ALL else 25):
            check_random(folder, number)
            check_written(folder, number)
    return summary()


if __name__ == "__main__":
    sys.exit(main())
