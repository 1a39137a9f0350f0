# SPDX-License-Identifier: MIT
"""native.cpp, compiled at first use for the installed PyTorch, and kept.

It is found again by its source and by the version of PyTorch, in ${XDG_CACHE_HOME:-~/.cache}/annex.
"""
import collections
import contextlib
import ctypes
import errno
import gc
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

import torch

from .library import Error

SOURCES = [os.path.join(os.path.dirname(__file__), name) for name in (
    "native.cpp", "allocator.hpp", "block.hpp", "cuda.hpp", "iterations.hpp", "libannex.hpp",
    "moves.hpp", "operators.hpp", "progress.hpp", "work.hpp")]
HEADER = os.path.join("ATen", "core", "Tensor.h")
OBJECTS = ctypes.POINTER(ctypes.c_void_p)
U64 = ctypes.c_uint64
WORDS = 512  # bytes of a message
LOST = errno.EIO, errno.EILSEQ, errno.ENODEV  # with these, tensors are left empty
ITERATIONS = 8  # that a block remembers (progress.hpp)
HEAR = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
MOVE = ctypes.CFUNCTYPE(None)
KEY = "TESTING_ONLY_GenericMode"  # of dispatch, by which native.cpp sees operators


class Unavailable(Exception):
    """Why the compiled part cannot be built, and the package to install."""


class Refused(Error):
    """native.cpp raises it with words that begin with the errno. It becomes an Error."""

    def __new__(cls, words):
        number, _, rest = words.partition(" ")
        return Error(int(number), rest)


def storage_of(tensor):
    if hasattr(tensor, "untyped_storage"):
        return tensor.untyped_storage()
    return tensor.storage()._storage


def version():
    return re.match(r"(\d+)\.(\d+)", torch.__version__).groups()


def folder(name, holds, otherwise):
    """A folder of PyTorch's package, or the one where distributions put the file that it @holds."""
    path = os.path.join(os.path.dirname(torch.__file__), name)
    return path if os.path.exists(os.path.join(path, holds)) else otherwise


def cuda_flags():
    """Flags of the compiler for tensors on GPUs."""
    packages = os.path.join(os.path.dirname(torch.__file__), "..", "nvidia")
    major = (torch.version.cuda or "").split(".")[0]
    for place in (os.path.join(packages, f"cu{major}"), os.path.join(packages, "cuda_runtime"),
                  os.environ.get("CUDA_HOME", "/usr/local/cuda")):
        include = os.path.join(place, "include")
        if os.path.exists(os.path.join(include, "cuda_runtime_api.h")):
            return ["-DANNEX_CUDA", f"-I{include}", "-ltorch_cuda", "-lc10_cuda"]
    raise Unavailable("CUDA's headers are not here: install its toolkit, and set CUDA_HOME")


def command(compiler, output, cuda):
    major, minor = version()
    include = folder("include", HEADER, "/usr/include")
    if not os.path.exists(os.path.join(include, HEADER)):
        raise Unavailable("PyTorch's headers are not here: apt-get install libtorch-dev")
    library = folder("lib", "libc10.so", None)
    return [compiler, f"-std=c++{20 if int(major) > 1 else 17}", "-O2", "-fPIC", "-shared",
            f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}",
            f"-DANNEX_TORCH_MAJOR={major}", f"-DANNEX_TORCH_MINOR={minor}",
            f"-I{include}", f"-I{include}/torch/csrc/api/include",
            SOURCES[0], "-o", output, *([f"-L{library}"] if library else []),
            *(cuda_flags() if cuda else []), "-ltorch_cpu", "-lc10"]


def compile_to(path, cuda):
    """Compile, perhaps while another process does the same."""
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    if not compiler:
        raise Unavailable("there is no C++ compiler: apt-get install g++")
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        file, output = tempfile.mkstemp(dir=os.path.dirname(path))
    except OSError as error:
        raise Unavailable(f"{os.path.dirname(path)}: {error.strerror}") from None
    os.close(file)
    try:
        done = subprocess.run(command(compiler, output, cuda), stderr=subprocess.PIPE, check=False)
        if done.returncode:
            lines = done.stderr.decode(errors="replace").splitlines()
            told = next((line for line in lines if "error" in line), "g++ failed")
            raise Unavailable(f"{told}: apt-get install g++ libtorch-dev")
        os.chmod(output, 0o755)
        os.rename(output, path)
    finally:
        if os.path.exists(output):
            os.unlink(output)


def built(cuda):
    """Compile native.cpp unless it was. Return: its path."""
    key = hashlib.sha256(f"{torch.__version__} {cuda}".encode())
    for source in SOURCES:
        with open(source, "rb") as file:
            key.update(file.read())
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    path = os.path.join(cache, "annex", f"native-{key.hexdigest()[:32]}.so")
    if not os.path.exists(path):
        compile_to(path, cuda)
    return path


def are_given(tensors, held):
    """Of each tensor, whether something may refer to it that the garbage collector does not see. An
    array of NumPy is such, and keeps the tensor's address. @held: whether C++ holds it, too.
    """
    # Nothing refers to the last ones but this list and, of the second, C++.
    tensors = [*tensors, torch.empty(0), torch.empty(0, requires_grad=True)]
    node = tensors[-1].expand_as(tensors[-1]).grad_fn
    known = set(map(id, tensors))
    seen = collections.Counter(i for i in map(id, gc.get_referents(*gc.get_objects()))
                               if i in known)
    others = [sys.getrefcount(tensor) - seen[id(tensor)] for tensor in tensors]
    del node
    return [count > others[-1 if by else -2] for count, by in zip(others, held)]


class List(ctypes.Structure):
    """Tensors and storages of Python, each object once, and which may be given to arrays."""

    _fields_ = [("tensors", OBJECTS), ("storages", OBJECTS), ("n_tensors", ctypes.c_size_t),
                ("n_storages", ctypes.c_size_t), ("given", ctypes.POINTER(ctypes.c_bool))]

    def __init__(self, tensors, storages):
        self.kept = tensors, storages
        super().__init__(addresses(tensors), addresses(storages), len(tensors), len(storages),
                         (ctypes.c_bool * len(tensors))())

    def find_given(self, rigid):
        """@rigid: of each tensor, whether its storage is such that an array may have it: 1, or 2:
        C++ holds the tensor, too.
        """
        found = [i for i, how in enumerate(rigid) if how]
        if found:
            flags = are_given([self.kept[0][i] for i in found], [rigid[i] > 1 for i in found])
            for i, given in zip(found, flags):
                self.given[i] = given


class Count(ctypes.Structure):
    """Storages, and their bytes."""

    _fields_ = [("n", U64), ("bytes", U64)]


def addresses(objects):
    return (ctypes.c_void_p * len(objects))(*[o._cdata for o in objects])


class Iteration(ctypes.Structure):
    """An iteration that has ended (progress.hpp)."""

    _fields_ = [("ns", U64), ("stall_ns", U64), ("in", U64), ("out", U64),
                ("plan", ctypes.c_void_p)]


class Idle:
    """The dispatch key outside of blocks, where it does nothing.

    torch.compile() makes a graph anew when a thread's keys change, so the thread that imports this
    package always has the key.
    """

    fallback = None

    @classmethod
    def begin(cls):
        cls.fallback = torch._C._dispatch_library("IMPL", "_", KEY, __file__, 1)
        cls.fallback.fallback_fallthrough()

    @classmethod
    def end(cls):
        cls.fallback = None


if hasattr(torch._C, "_dispatch_tls_set_dispatch_key_included"):  # PyTorch 2
    Idle.begin()
    torch._C._dispatch_tls_set_dispatch_key_included(KEY, True)


class Native:
    """The functions of native.cpp, once in a process for CPUs and once for GPUs (@cuda). @hear is
    called soon after a warning, @move before an optimizer steps that uses tensors outside.
    """

    known = {}

    def __init__(self, library, hear, move, cuda):
        self.hear, self.move = HEAR(hear), MOVE(move)
        try:
            path = built(cuda)
            # Tensors must not be in use while they move: that keeps Python's other threads waiting.
            dll = ctypes.PyDLL(path)
            waits = ctypes.CDLL(path)
        except OSError as error:
            raise Unavailable(str(error).splitlines()[0]) from None
        dll.annex_native_open.argtypes = (ctypes.c_char_p, ctypes.py_object, HEAR, MOVE,
                                          ctypes.c_void_p)
        dll.annex_native_open.restype = ctypes.c_char_p
        part = storage_of(torch.zeros(8))[1:2]
        missing = dll.annex_native_open(library.name.encode(), Refused, self.hear, self.move,
                                        part._cdata)
        if missing:
            raise Unavailable(f"{missing.decode()} is not in {library.name}: install this version "
                              "of Annex")
        dll.annex_native_enter.argtypes = (ctypes.c_void_p, OBJECTS, ctypes.c_size_t,
                                           ctypes.c_void_p, ctypes.c_void_p, U64, U64,
                                           ctypes.c_int, ctypes.c_bool, ctypes.c_bool,
                                           ctypes.c_bool)
        dll.annex_native_enter.restype = ctypes.c_void_p
        for function in (waits.annex_native_end, dll.annex_native_begin, dll.annex_native_leave,
                         dll.annex_native_clear, dll.annex_native_forget, dll.annex_native_has,
                         dll.annex_native_is_lost, dll.annex_native_planning):
            function.argtypes = (ctypes.c_void_p,)
        dll.annex_native_planning.restype = ctypes.c_char_p
        dll.annex_native_warnings.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t)
        waits.annex_native_step.argtypes = (ctypes.c_void_p, ctypes.c_bool, ctypes.c_char_p,
                                            ctypes.c_size_t)
        dll.annex_native_iterations.argtypes = (ctypes.c_void_p, ctypes.POINTER(Iteration))
        dll.annex_native_iterations.restype = ctypes.c_size_t
        dll.annex_native_mark_rigid.argtypes = (ctypes.c_void_p, OBJECTS, ctypes.c_size_t,
                                                ctypes.POINTER(ctypes.c_uint8))
        dll.annex_native_move_in.argtypes = (ctypes.c_void_p, ctypes.POINTER(List), ctypes.c_bool,
                                             ctypes.POINTER(Count), ctypes.POINTER(Count),
                                             ctypes.c_char_p, ctypes.c_size_t)
        dll.annex_native_move_out.argtypes = (ctypes.c_void_p, ctypes.POINTER(List), U64,
                                              ctypes.POINTER(U64), ctypes.c_char_p,
                                              ctypes.c_size_t)
        dll.annex_native_state.argtypes = (ctypes.c_void_p, ctypes.POINTER(U64))
        waits.annex_native_graph_begin.argtypes = (ctypes.c_char_p, OBJECTS,
                                                   ctypes.POINTER(ctypes.c_uint32),
                                                   ctypes.c_size_t, OBJECTS)
        waits.annex_native_graph_end.argtypes = (ctypes.c_void_p, OBJECTS, ctypes.c_size_t)
        self.dll, self.waits = dll, waits

    @classmethod
    def load(cls, library, hear, move, cuda=False):
        if cuda not in cls.known:
            cls.known[cuda] = cls(library, hear, move, cuda)
        return cls.known[cuda]

    def has(self, tensor):
        return bool(self.dll.annex_native_has(tensor._cdata))

    def is_lost(self, tensor):
        return bool(self.dll.annex_native_is_lost(tensor._cdata))


class Block:
    """A block of native.cpp: a space for PyTorch's tensors. @gpu: its number; -1: the processor.
    @plans: whether the policy makes plans. @lines: whether progress is shown. @learns: whether the
    first operator begins an iteration; otherwise the first one that training has.
    """

    def __init__(self, native, library, space, stores, cxl, planner, smallest, budget, gpu, plans,
                 lines, learns):
        self.native = native
        self.library = library
        array = (ctypes.c_void_p * len(stores))(*[store.value for store in stores])
        self.handle = native.dll.annex_native_enter(space, array, len(stores), cxl, planner,
                                                    smallest, budget, gpu, plans, lines, learns)

    def __del__(self):
        self.native.dll.annex_native_forget(self.handle)

    def begin(self):
        Idle.end()
        code = self.native.dll.annex_native_begin(self.handle)
        if code < 0:
            raise Error(-code, "offload: another allocator is in use" if not self.library.words()
                        else self.library.words())

    def end(self):
        """End the block, also one that has not begun."""
        self.native.waits.annex_native_end(self.handle)
        if not Idle.fallback:
            Idle.begin()

    @contextlib.contextmanager
    def graph(self, name, uses):
        """One operator. @uses: tensors, with READ or WRITE. Its results are put into the list."""
        run, results = ctypes.c_void_p(), []
        code = self.native.waits.annex_native_graph_begin(
            name.encode(), addresses([tensor for tensor, _ in uses]),
            (ctypes.c_uint32 * len(uses))(*[how for _, how in uses]), len(uses), ctypes.byref(run))
        if code < 0:
            raise Error(-code, self.library.words())
        try:
            yield results
        finally:
            if run:
                self.native.waits.annex_native_graph_end(run, addresses(results), len(results))

    def step(self, graph=False):
        """End an iteration. @graph: after a graph that was an optimizer's step."""
        words = ctypes.create_string_buffer(WORDS)
        if self.native.waits.annex_native_step(self.handle, graph, words, WORDS) < 0:
            raise Refused(words.value.decode(errors="replace"))

    def iterations(self):
        """The last iterations, in no order."""
        found = (Iteration * ITERATIONS)()
        return list(found)[:self.native.dll.annex_native_iterations(self.handle, found)]

    def planning(self):
        return self.native.dll.annex_native_planning(self.handle).decode()

    def warnings(self):
        words = ctypes.create_string_buffer(8 * WORDS)
        self.native.dll.annex_native_warnings(self.handle, words, len(words))
        return words.value.decode(errors="replace").splitlines()

    def clear(self):
        self.native.dll.annex_native_clear(self.handle)

    def leave(self):
        self.native.dll.annex_native_leave(self.handle)

    def find_given(self, objects):
        rigid = (ctypes.c_uint8 * objects.n_tensors)()
        self.native.dll.annex_native_mark_rigid(self.handle, objects.tensors, objects.n_tensors,
                                                rigid)
        objects.find_given(rigid)

    def move_in(self, objects, used=False):
        """Move tensors to the space: with @used, only if operators use them. Return: counts of
        storages that moved, and of storages that stayed.
        """
        words, moved, stayed = ctypes.create_string_buffer(WORDS), Count(), Count()
        self.find_given(objects)
        if self.native.dll.annex_native_move_in(self.handle, ctypes.byref(objects), used,
                                                ctypes.byref(moved), ctypes.byref(stayed), words,
                                                WORDS) < 0:
            raise Refused(words.value.decode(errors="replace"))
        return moved, stayed

    def move_out(self, objects, most):
        """Move up to @most bytes. Return: the bytes beyond, which stay."""
        words, beyond = ctypes.create_string_buffer(WORDS), U64()
        self.find_given(objects)
        code = self.native.dll.annex_native_move_out(self.handle, ctypes.byref(objects), most,
                                                     ctypes.byref(beyond), words, WORDS)
        if code < 0:
            told = words.value.decode(errors="replace") or os.strerror(-code)
            raise Error(-code, f"offload: {told}: tensors are lost, use another storage"
                        if -code in LOST else told)
        return beyond.value

    def state(self):
        """Whether the space is open, tensors in it, bytes that it had no addresses for, bytes of
        the tensors in it, bytes that the last iteration used outside, and bytes that the largest
        operator uses.
        """
        out = (U64 * 6)()
        self.native.dll.annex_native_state(self.handle, out)
        return bool(out[0]), *out[1:]
