# SPDX-License-Identifier: MIT
"""libannex's unified memory (annex/mem.h), by ctypes."""
import ctypes
import errno
import os

TIERS = 19  # of enum annex_tier
PAGE = 4096
M_MMAP_THRESHOLD, MMAP_THRESHOLD = -3, 1 << 17  # malloc.h; glibc's first threshold


class Error(OSError):
    """An error of libannex: its errno, and its words."""


class StoreOpts(ctypes.Structure):
    _fields_ = [("first", ctypes.c_uint64), ("bytes", ctypes.c_uint64), ("nsid", ctypes.c_uint32),
                ("read_rate", ctypes.c_double), ("write_rate", ctypes.c_double),
                ("depth", ctypes.c_uint32), ("timeout_ms", ctypes.c_uint32),
                ("provider", ctypes.c_void_p)]


class Namespace(ctypes.Structure):
    _fields_ = [("nsid", ctypes.c_uint32), ("block", ctypes.c_uint32), ("blocks", ctypes.c_uint64)]


class SpaceOpts(ctypes.Structure):
    _fields_ = [("device", ctypes.c_uint64), ("host", ctypes.c_uint64), ("node", ctypes.c_int),
                ("bind", ctypes.c_bool), ("cxl", ctypes.c_void_p), ("cxl_bytes", ctypes.c_uint64),
                ("stores", ctypes.POINTER(ctypes.c_void_p)), ("n_stores", ctypes.c_uint),
                ("size", ctypes.c_uint64), ("host_rate", ctypes.c_double),
                ("cxl_rate", ctypes.c_double), ("fault_bytes", ctypes.c_uint32),
                ("checksum", ctypes.c_bool), ("frames", ctypes.c_void_p)]


class SpaceStats(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in (
        "device", "kept", "host", "cxl", "stored", "in", "out", "below", "clean", "bounced",
        "faults", "write_faults", "reclaimed", "over")]


class GpuMemory(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in (
        "name", "device", "pinned", "put", "get", "fill", "reach", "unreach", "flush", "copier",
        "frames", "ctx")]


class HdmUsage(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in (
        "table", "poisoned", "used", "free", "largest")]


class ExecOpts(ctypes.Structure):
    _fields_ = [("policy", ctypes.c_char_p), ("record", ctypes.c_uint32),
                ("drift", ctypes.c_double), ("system", ctypes.c_void_p),
                ("timeout_ms", ctypes.c_uint32), ("own", ctypes.c_void_p)]


class ExecStats(ctypes.Structure):
    _fields_ = [("ns", ctypes.c_uint64), ("stall_ns", ctypes.c_uint64),
                ("planned", ctypes.c_bool), ("strayed", ctypes.c_bool),
                ("iterations", ctypes.c_uint64), ("plans", ctypes.c_uint64),
                ("plan_err", ctypes.c_int), ("planning", ctypes.c_bool),
                ("until_plan_ns", ctypes.c_uint64)]


class System(ctypes.Structure):
    _fields_ = [*[(name, ctypes.c_uint64) for name in ("gpu", "host", "cxl")],
                *[(name, ctypes.c_double) for name in ("pcie", "host_link", "cxl_rate", "ssd_read",
                                                       "ssd_write", "ssd_duplex")],
                *[(name, ctypes.c_uint64) for name in (
                    "ssd_read_ns", "ssd_write_ns", "ssd_bytes", "ssd_spare", "fault_ns",
                    "fault_bytes", "page_ns")],
                ("alloc", ctypes.c_double), ("gpus", ctypes.c_uint32), ("ssds", ctypes.c_uint32),
                ("strict", ctypes.c_bool), ("frees", ctypes.c_bool)]


class Plan(ctypes.Structure):
    _fields_ = [("policy", ctypes.c_char * 32), ("hash", ctypes.c_uint64),
                *[(name, ctypes.c_uint32) for name in ("n_kernels", "n_tensors", "flags",
                                                       "window")],
                *[(name, ctypes.c_uint64) for name in ("gpu", "host", "cxl")],
                ("n_steps", ctypes.c_size_t), ("steps", ctypes.c_void_p)]


class SimJob(ctypes.Structure):
    _fields_ = [("trace", ctypes.c_void_p), ("plan", ctypes.POINTER(Plan))]


class SimResult(ctypes.Structure):
    _fields_ = [*[(name, ctypes.c_double) for name in ("ideal", "iteration", "stalled",
                                                       "overlapped")],
                ("stalled_kernels", ctypes.c_uint32), ("iterations", ctypes.c_uint32),
                ("steady", ctypes.c_bool), ("faults", ctypes.c_uint64),
                ("in", ctypes.c_uint64 * TIERS), ("out", ctypes.c_uint64 * TIERS),
                *[(name, ctypes.c_uint64) for name in ("ssd_copied", "ssd_updated", "gpu_peak",
                                                       "host_peak", "cxl_peak")]]


STRUCTURES = {"annex_exec_opts": ExecOpts, "annex_exec_stats": ExecStats,
              "annex_gpu_memory": GpuMemory, "annex_hdm_usage": HdmUsage,
              "annex_ns": Namespace, "annex_plan": Plan, "annex_sim_job": SimJob,
              "annex_sim_result": SimResult, "annex_system": System, "annex_store_opts": StoreOpts,
              "annex_space_opts": SpaceOpts, "annex_space_stats": SpaceStats}

VOID, U64, U32, TEXT = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_char_p
OUT = ctypes.POINTER(VOID)
# Functions that return 0 or a negative errno.
CALLS = {
    "annex_parse_size": (TEXT, ctypes.POINTER(U64)),
    "annex_dev_open": (TEXT, VOID, OUT),
    "annex_dev_ns": (VOID, U32, ctypes.POINTER(Namespace)),
    "annex_store_open": (TEXT, ctypes.POINTER(StoreOpts), OUT),
    "annex_store_close": (VOID,),
    "annex_hdm_open": (TEXT, VOID, OUT),
    "annex_hdm_get_usage": (VOID, ctypes.POINTER(HdmUsage)),
    "annex_space_create": (ctypes.POINTER(SpaceOpts), OUT),
    "annex_exec_create": (VOID, ctypes.POINTER(ExecOpts), OUT),
    "annex_exec_trace": (VOID, OUT),
    "annex_exec_give": (VOID, VOID, VOID),
    "annex_trace_read": (TEXT, OUT),
    "annex_plan_read": (TEXT, OUT),
    "annex_trace_write": (VOID, VOID),
    "annex_plan_write": (ctypes.POINTER(Plan), VOID),
    "annex_vitality_create": (VOID, OUT),
    "annex_bound": (VOID, ctypes.POINTER(System), ctypes.POINTER(ctypes.c_double)),
    "annex_simulate": (ctypes.POINTER(SimJob), ctypes.c_uint, ctypes.POINTER(System), VOID,
                       ctypes.POINTER(SimResult)),
}
# Functions that a library without jansson lacks, as tests/gpu/run.sh builds one.
READERS = "annex_trace_read", "annex_plan_read"
# Functions that return nothing.
ENDS = {
    "annex_dev_close": (VOID,),
    "annex_hdm_close": (VOID,),
    "annex_space_destroy": (VOID,),
    "annex_space_get_stats": (VOID, ctypes.POINTER(SpaceStats)),
    "annex_exec_get_stats": (VOID, ctypes.POINTER(ExecStats)),
    "annex_set_log": (VOID, VOID),
    "annex_trace_free": (VOID,),
    "annex_plan_free": (VOID,),
    "annex_vitality_destroy": (VOID,),
}


def ranks():
    """Which of how many processes on this machine this one is, as torchrun tells."""
    return int(os.environ.get("LOCAL_RANK", 0)), int(os.environ.get("LOCAL_WORLD_SIZE", 1))


class WarningPipe:
    """Warnings of the library, by a pipe.

    No code of Python may run in the library's threads. They would wait for the interpreter's lock,
    and the thread that has it may wait for memory that they bring.
    """

    def __init__(self, dll):
        self.end, write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.fd = ctypes.c_int(write)
        dll.annex_set_log(dll.annex_log_to_fd, ctypes.byref(self.fd))

    def take(self):
        """Return the warnings since the last call, a line each."""
        try:
            return os.read(self.end, 1 << 16).decode(errors="replace").splitlines()
        except BlockingIOError:
            return []


def path_of_library():
    """The library that ANNEX_LIBRARY names, the one of a wheel, or the system's."""
    own = os.path.join(os.path.dirname(__file__), "libannex.so")
    return os.environ.get("ANNEX_LIBRARY") or (own if os.path.exists(own) else "libannex.so.0")


class Library:
    """The library's functions. They raise Error where C returns a negative errno."""

    warnings = None  # one in a process, since the library has one log

    def __init__(self):
        self.name = path_of_library()
        try:
            self.dll = ctypes.CDLL(self.name)
            for call, arguments in CALLS.items():
                if call not in READERS or hasattr(self.dll, call):
                    getattr(self.dll, call).argtypes = arguments
            for end, arguments in ENDS.items():
                getattr(self.dll, end).argtypes = arguments
                getattr(self.dll, end).restype = None
            self.dll.annex_exec_plan.argtypes = (VOID, OUT, ctypes.POINTER(ctypes.POINTER(System)))
            self.dll.annex_exec_plan.restype = ctypes.POINTER(Plan)
            self.dll.annex_last_error.restype = TEXT
            self.dll.annex_strerror.restype = TEXT
        except (OSError, AttributeError) as missing:
            raise Error(errno.ENOENT, f"{missing}: run make in Annex's sources, then make install, "
                        "or set ANNEX_LIBRARY to build/libannex.so") from None
        if not Library.warnings:
            Library.warnings = WarningPipe(self.dll)

    def __call__(self, name, *arguments):
        """Call a function; raise its errno and annex_last_error()."""
        code = getattr(self.dll, name)(*arguments)
        if code < 0:
            raise Error(-code, self.words() or
                        f"{name}: {self.dll.annex_strerror(code).decode()}")

    def words(self):
        return self.dll.annex_last_error().decode(errors="replace")

    def capacity(self, uri):
        """Bytes of a device."""
        device, namespace = ctypes.c_void_p(), Namespace()
        self("annex_dev_open", uri.encode(), None, ctypes.byref(device))
        try:
            self("annex_dev_ns", device, 1, ctypes.byref(namespace))
            return namespace.block * namespace.blocks
        finally:
            self.dll.annex_dev_close(device)

    def part_of(self, uri, least):
        """The part of a file for this process, among ranks. None: all of it."""
        rank, count = ranks()
        if count < 2 or not uri.startswith("file:") or uri.startswith("file:/proc/self/"):
            return None
        part = self.capacity(uri) // count // PAGE * PAGE
        if part < least:
            raise Error(errno.ENOSPC, f"offload: {uri} has {part} bytes for each of {count} ranks, "
                        f"and {least} are the least: make it larger")
        return StoreOpts(first=rank * part, bytes=part)

    def open_range(self, uri):
        """CXL memory: a range, and the bytes that a space can have of it."""
        cxl, usage = ctypes.c_void_p(), HdmUsage()
        self("annex_hdm_open", uri.encode(), None, ctypes.byref(cxl))
        try:
            self("annex_hdm_get_usage", cxl, ctypes.byref(usage))
        except Error:
            self.dll.annex_hdm_close(cxl)
            raise
        return cxl, usage.largest // PAGE * PAGE

    def open_space(self, uris, stores, provider=None, **opts):
        """A space over storage. Opened stores are added to @stores. @provider: of their buffers."""
        for uri in uris:
            store = ctypes.c_void_p()
            part = self.part_of(uri, opts["device"]) or StoreOpts()
            part.provider = provider
            self("annex_store_open", uri.encode(), part, ctypes.byref(store))
            stores.append(store)
        array = (ctypes.c_void_p * len(stores))(*[store.value for store in stores])
        space = ctypes.c_void_p()
        self("annex_space_create", ctypes.byref(SpaceOpts(
            stores=array, n_stores=len(stores), **opts)), ctypes.byref(space))
        return space

    def space_stats(self, space):
        stats = SpaceStats()
        self.dll.annex_space_get_stats(space, ctypes.byref(stats))
        return {name: getattr(stats, name) for name, _ in SpaceStats._fields_}

    @staticmethod
    def give_memory_back():
        """Have malloc return freed memory of large tensors to the system, from now on.

        glibc learns to keep up to 32 MB at a time, in pieces that later tensors do not fit into.
        """
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt:
            mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD)

    def size(self, text):
        """Bytes, from a number or from one with a suffix."""
        value = U64()
        if self.dll.annex_parse_size(str(text).encode(), ctypes.byref(value)) < 0:
            raise Error(errno.EINVAL, f'offload: "{text}" is no size: 512M, 8G')
        return value.value
