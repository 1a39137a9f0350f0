# SPDX-License-Identifier: MIT
"""Worker processes of multiprocessing ("fork") that use what their parent opened: workers.py
DIRECTORY-OF-annex. Each use is an error, nothing hangs, and the parent never notices.
ANNEX_LIBRARY says which library.
"""
import ctypes
import errno
import multiprocessing
import sys
import tempfile

sys.path.insert(0, sys.argv[1])
import torch  # noqa: E402
import annex  # noqa: E402
from annex import library  # noqa: E402
from claims import claim, summary  # noqa: E402

ELEMENTS = 4096
SECONDS = 60
fork = multiprocessing.get_context("fork")


class CacheOpts(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint64), ("line", ctypes.c_uint32),
                ("devs", ctypes.POINTER(ctypes.c_void_p)), ("ndevs", ctypes.c_uint),
                ("nsid", ctypes.c_uint32), ("layout", ctypes.c_int), ("size", ctypes.c_uint64),
                ("provider", ctypes.c_void_p)]


class Array:
    """Elements of 8 bytes on a device, behind a cache that holds half of them."""

    def __init__(self, uri):
        self.call = library.Library()
        self.device, self.cache = ctypes.c_void_p(), ctypes.c_void_p()
        self.view = (ctypes.c_uint64 * 16)()  # struct annex_array, and more
        self.call("annex_dev_open", uri.encode(), None, ctypes.byref(self.device))
        self.call("annex_cache_create", ctypes.byref(CacheOpts(
            bytes=ELEMENTS * 4, devs=ctypes.pointer(self.device), ndevs=1)),
            ctypes.byref(self.cache))
        self.call("annex_array_init", self.view, self.cache, ctypes.c_uint64(0), 8,
                  ctypes.c_uint64(ELEMENTS))

    def __len__(self):
        return ELEMENTS

    def __getitem__(self, i):
        value = ctypes.c_uint64()
        self.call("annex_array_get", self.view, ctypes.c_uint64(i), ctypes.byref(value))
        return value.value

    def __setitem__(self, i, value):
        self.call("annex_array_set", self.view, ctypes.c_uint64(i),
                  ctypes.byref(ctypes.c_uint64(value)))

    def close(self):
        """Return: 0 if all was written."""
        code = self.call.dll.annex_cache_destroy(self.cache)
        self.call.dll.annex_dev_close(self.device)
        return code


class Refusals(torch.utils.data.Dataset):
    """The words with which @work is refused."""

    def __init__(self, work):
        self.work = work

    def __len__(self):
        return 8

    def __getitem__(self, i):
        try:
            return f"not refused: {self.work(i)}"
        except (annex.Error, RuntimeError) as error:
            return str(error)


def in_pool(work):
    """What two workers return for the numbers 0 to 7."""
    global task
    task = work  # a function is not sent to workers, which have their parent's memory
    with fork.Pool(2) as pool:
        return pool.map_async(do_task, range(8)).get(SECONDS)


def do_task(i):
    return task(i)


def check_refused(words, pattern, work):
    """In a pool, which hands errors on, and in a DataLoader. (PyTorch makes a RuntimeError of an
    error in backward().)
    """
    try:
        in_pool(work)
        claim(f"{words}, in a pool, is refused", False)
    except (annex.Error, RuntimeError) as error:
        claim(f"{words}, in a pool, is refused: {error}", pattern in str(error) and
              getattr(error, "errno", errno.ECHILD) == errno.ECHILD)
    told = [line for batch in torch.utils.data.DataLoader(
        Refusals(work), num_workers=2, timeout=SECONDS, multiprocessing_context=fork)
        for line in batch]
    claim(f"{words}, in a DataLoader, is refused: {told}",
          len(told) == 8 and all(pattern in line for line in told))


def check_array(uri):
    array = Array(uri)
    for i in range(ELEMENTS):
        array[i] = i * i
    check_refused(f"{uri}: an element", "before fork()", lambda i: array[i * 500])
    check_refused(f"{uri}: a write", "before fork()", lambda i: array.__setitem__(i, 0))
    claim(f"{uri}: a worker closes its copies", in_pool(lambda i: 0 if i else array.close()) ==
          [0] * 8)
    claim(f"{uri}: the parent's elements", all(array[i] == i * i for i in range(ELEMENTS)))
    claim(f"{uri}: the parent's close", array.close() == 0)


def own_element(uri, i):
    array = Array(uri)
    value = array[i]
    return value if array.close() == 0 else None


def check_own(uri):
    array = Array(uri)
    for i in range(ELEMENTS):
        array[i] = i + 7
    claim("the elements are written", array.close() == 0)
    claim("workers that open the device themselves",
          in_pool(lambda i: own_element(uri, i * 512)) == [i * 512 + 7 for i in range(8)])


def check_offload(uri):
    """Tensors, a graph and optimizer state of a block."""
    weight = torch.nn.Parameter(torch.ones(256, 256))
    optimizer = torch.optim.Adam([weight])
    with annex.offload("16M", uri):
        items = [torch.full((1 << 20,), float(i)) for i in range(8)]
        check_refused("a tensor of the parent's", "parent", lambda i: items[i].sum().item())
        claim("the parent's tensors", [item[-1].item() for item in items] == list(range(8)))
        claim("workers have memory of their own", in_pool(
            lambda i: torch.full((1 << 18,), float(i)).mean().item()) == list(range(8)))
        other = torch.ones(256, 256, requires_grad=True)
        loss = (other * other).sin().sum()
        weight.grad = torch.ones(256, 256)
        optimizer.step()
        state = optimizer.state[weight]["exp_avg"]
        check_refused("state of the parent's", "parent", lambda i: state[i].sum().item())
        claim("the parent's state", abs(state.sum().item() - 6553.6) < 1)
        loss.backward()
        claim("the parent's graph", other.grad.abs().sum().item() > 0)


def main():
    torch.set_num_threads(1)  # OpenMP's others are not in a child
    with tempfile.TemporaryDirectory() as scratch:
        check_array("mem:1M")
        check_array(f"file:{scratch}/array?size=1M")
        check_own(f"file:{scratch}/own?size=1M")
        check_offload(f"file:{scratch}/storage?size=256M")
    sys.exit(summary())


main()
