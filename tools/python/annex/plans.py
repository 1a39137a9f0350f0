# SPDX-License-Identifier: MIT
"""A planner's plan and trace (annex/exec.h), and the simulator's figures of them."""
import ctypes
import os

from .library import Error, SimJob, SimResult, System

FLAGS = ("strict", "frees")
# Options of annex plan and annex simulate, with their members and units.
OPTIONS = (("gpu", "gpu", 1), ("host", "host", 1), ("cxl", "cxl", 1), ("pcie", "pcie", 1),
           ("host-link", "host_link", 1), ("cxl-rate", "cxl_rate", 1),
           ("ssd-read", "ssd_read", 1), ("ssd-write", "ssd_write", 1),
           ("ssd-duplex", "ssd_duplex", 1),
           ("ssd-read-latency", "ssd_read_ns", 1000), ("ssd-write-latency", "ssd_write_ns", 1000),
           ("alloc", "alloc", 1), ("fault", "fault_ns", 1000), ("fault-size", "fault_bytes", 1),
           ("page", "page_ns", 1000), ("ssds", "ssds", 1))


def in_use(library, planner):
    """The plan in use, its trace and its system; None without one."""
    trace, system = ctypes.c_void_p(), ctypes.POINTER(System)()
    plan = library.dll.annex_exec_plan(planner, ctypes.byref(trace), ctypes.byref(system))
    return (plan, trace, system) if plan else None


def text_of(library, write, thing):
    """The text that a function of the library writes to a stdio stream."""
    libc = ctypes.CDLL(None)
    libc.open_memstream.restype = ctypes.c_void_p
    buffer, size = ctypes.c_void_p(), ctypes.c_size_t()
    stream = ctypes.c_void_p(libc.open_memstream(ctypes.byref(buffer), ctypes.byref(size)))
    if not stream:
        raise MemoryError("offload: no memory for the text of a plan or a trace")
    try:
        try:
            library(write, thing, stream)
        finally:
            libc.fclose(stream)
        return ctypes.string_at(buffer, size.value).decode()
    finally:
        libc.free(buffer)


def plan_text(library, found):
    return text_of(library, "annex_plan_write", found[0])


def trace_text(library, planner):
    """The trace of the plan in use, or of the last iteration."""
    found = in_use(library, planner)
    if found:
        return text_of(library, "annex_trace_write", found[1])
    trace = ctypes.c_void_p()
    library("annex_exec_trace", planner, ctypes.byref(trace))
    try:
        return text_of(library, "annex_trace_write", trace)
    finally:
        library.dll.annex_trace_free(trace)


def give(library, planner, paths):
    """Give the planner a plan of an earlier run: files of a plan and of its trace."""
    plan, trace = ctypes.c_void_p(), ctypes.c_void_p()
    path = paths[0]
    try:
        library("annex_plan_read", os.fsencode(path), ctypes.byref(plan))
        path = paths[1]
        library("annex_trace_read", os.fsencode(path), ctypes.byref(trace))
        path = paths[0]
        library("annex_exec_give", planner, trace, plan)
    except Error as error:
        library.dll.annex_plan_free(plan)
        library.dll.annex_trace_free(trace)
        raise Error(error.errno, f"offload: the plan of {path} is not used: "
                    f"{error.strerror}") from None


def bound(library, trace, system):
    """The lower bound of an iteration under any plan, in seconds."""
    vitality, seconds = ctypes.c_void_p(), ctypes.c_double()
    library("annex_vitality_create", trace, ctypes.byref(vitality))
    try:
        library("annex_bound", vitality, system, ctypes.byref(seconds))
    finally:
        library.dll.annex_vitality_destroy(vitality)
    return seconds.value


def machine(system):
    """The system as options of annex plan and annex simulate."""
    given = [(option, getattr(system, member) / unit) for option, member, unit in OPTIONS]
    return " ".join([f"--{option} {value:.3f}".rstrip("0").rstrip(".") for option, value in given] +
                    [f"--{flag}" for flag in FLAGS if getattr(system, flag)])


def described(library, found, iterations):
    """The figures of a plan for Offload.plan()."""
    plan, trace, system = found
    job, result = SimJob(trace, plan), SimResult()
    library("annex_simulate", ctypes.byref(job), 1, system, None, ctypes.byref(result))
    least = bound(library, trace, system)
    address = ctypes.addressof(plan.contents)
    times = sorted(i.ns / 1e9 for i in iterations if i.plan == address)
    measured = times[len(times) // 2] if times else None
    return {"policy": plan.contents.policy.decode(), "kernels": plan.contents.n_kernels,
            "steps": plan.contents.n_steps, "in_bytes": sum(getattr(result, "in")),
            "out_bytes": sum(result.out), "simulated_s": result.iteration, "bound_s": least,
            "ideal_s": result.ideal, "stalled_s": result.stalled, "measured_s": measured,
            "of_simulated": measured and measured / result.iteration,
            "of_bound": measured and measured / least, "machine": machine(system.contents)}
