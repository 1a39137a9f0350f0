#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""refuse.py ERRNO WHAT... -- COMMAND... - Run a command with a seccomp filter, as containers have.

WHAT: userfaultfd (the call), kernel-faults (the call, but for the program's own touches),
device (what /dev/userfaultfd gives), move (pages, by a userfaultfd, as before Linux 6.8), io_uring,
remove (files and directories).
"""
import ctypes
import errno
import os
import platform
import struct
import sys

ARM = platform.machine() == "aarch64"
USERFAULTFD, IOCTL = (282, 29) if ARM else (323, 16)
IO_URING_SETUP = 425
REMOVE = (35,) if ARM else (84, 87, 263)  # unlinkat; rmdir, unlink
USERFAULTFD_IOC_NEW, UFFDIO_MOVE = 0xAA00, 0xC028AA05
UFFD_USER_MODE_ONLY = 1
LD, JEQ, JSET, RET = 0x20, 0x15, 0x45, 0x06
RET_ALLOW, RET_ERRNO = 0x7FFF0000, 0x00050000
PR_SET_SECCOMP, SECCOMP_MODE_FILTER, PR_SET_NO_NEW_PRIVS = 22, 2, 38


def arg(i):
    return 16 + 8 * i


def op(code, k, yes=0, no=0):
    return struct.pack("HBBI", code, yes, no, k)


def rule(what, err):
    """Loads the number of the call first; the last instruction is passed over, or refuses."""
    refuse = op(RET, RET_ERRNO | err)
    if what == "userfaultfd":
        return op(LD, 0) + op(JEQ, USERFAULTFD, 0, 1) + refuse
    if what == "io_uring":
        return op(LD, 0) + op(JEQ, IO_URING_SETUP, 0, 1) + refuse
    if what == "remove":
        return b"".join(op(LD, 0) + op(JEQ, call, 0, 1) + refuse for call in REMOVE)
    if what == "kernel-faults":
        return (op(LD, 0) + op(JEQ, USERFAULTFD, 0, 3) + op(LD, arg(0)) +
                op(JSET, UFFD_USER_MODE_ONLY, 1, 0) + refuse)
    if what in ("device", "move"):
        return (op(LD, 0) + op(JEQ, IOCTL, 0, 3) + op(LD, arg(1)) +
                op(JEQ, USERFAULTFD_IOC_NEW if what == "device" else UFFDIO_MOVE, 0, 1) + refuse)
    sys.exit(f"refuse.py: {what}?")


class Program(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def main():
    end = sys.argv.index("--")
    err = getattr(errno, sys.argv[1])
    code = b"".join(rule(what, err) for what in sys.argv[2:end]) + op(RET, RET_ALLOW)
    program = Program(len(code) // 8, code)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
            PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0):
        sys.exit(f"refuse.py: no filter: {os.strerror(ctypes.get_errno())}")
    command = sys.argv[end + 1:]
    os.execvp(command[0], command)


main()
