#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""QEMU's monitor from outside.

qmp.py SOCKET COMMAND [KEY=VALUE]...   one command: qmp.py qmp device_del id=nvme0
qmp.py SOCKET --serve PORT             serve a guest until it ends: its output on its second
                                       serial port is printed, but for the lines
                                       "@host COMMAND [KEY=VALUE]...", which are carried out and
                                       answered with one line, "ok ..." or "error ..."; "@far ..."
                                       is for the other machine of a pair, whose socket is far/qmp

Besides QEMU's commands a guest has "peek file=cxl0 offset=0 bytes=4096": the MD5 of that data
in the memory of a CXL device; "label file=label0 words=NAMESPACE_INDEX": that, in its label
storage area, where the second index block is; "ndp do=serve file=cxl0 uncached=2M", do=kill,
do=end: the program $ANNEX serves a CXL device's memory as a near-data processor; "aer port=port0
error=DLP": a port has an error of PCI Express; and "wake": after the answer, a guest that sleeps
for too long is woken up.
"""
import hashlib
import json
import os
import re
import select
import socket
import subprocess
import sys
import time
from functools import partial

ASLEEP = 40  # seconds: longer than a guest sleeps until its clock rings


def connect(path):
    """QEMU makes its sockets a moment after its start."""
    deadline = time.monotonic() + 10
    while True:
        sock = socket.socket(socket.AF_UNIX)
        try:
            sock.connect(path)
            return sock
        except OSError:
            sock.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def value(text):
    """Numbers, true, lists and objects are as in JSON; anything else is a string."""
    try:
        return json.loads(text)
    except ValueError:
        return text


class Monitor:
    def __init__(self, path):
        sock = connect(path)
        sock.settimeout(10)
        self.file = sock.makefile("rw")
        self.reply()
        self.command("qmp_capabilities")

    def reply(self):
        while True:
            line = self.file.readline()
            if not line:
                raise ConnectionError("QEMU has ended")
            reply = json.loads(line)
            if "event" not in reply:
                return reply

    def command(self, name, *words):
        """Its words are KEY=VALUE. True and the answer, or False and why not."""
        pairs = (word.split("=", 1) for word in words)
        request = {"execute": name, "arguments": {key: value(text) for key, text in pairs}}
        self.file.write(json.dumps(request) + "\n")
        self.file.flush()
        reply = self.reply()
        if "error" in reply:
            return False, reply["error"]["desc"]
        return True, json.dumps(reply["return"])


def peek(file, offset, bytes):
    """Only the guest's own files."""
    if not re.fullmatch(r"(cxl|pmem)[0-9]+", file):
        raise ValueError(f"{file} is no CXL device's memory")
    with open(file, "rb") as memory:
        memory.seek(int(offset, 0))
        return hashlib.md5(memory.read(int(bytes, 0))).hexdigest()


def label(file, words):
    """At the beginning of a device's label storage area."""
    if not re.fullmatch(r"label[0-9]+", file):
        raise ValueError(f"{file} is no device's label storage area")
    with open(file, "r+b") as labels:
        labels.seek(256)
        labels.write(words.encode()[:16].ljust(16, b"\0"))
    return ""


def aer(monitor, port, error):
    """QEMU has this command for people only."""
    line = f"command-line=pcie_aer_inject_error {port} {error}"
    done, text = monitor.command("human-monitor-command", line)
    if not done or not text.startswith('"OK'):
        raise ValueError(text)
    return text


def media_event(monitor, **words):
    """QEMU 11 wants a sub-type, which QEMU 10 does not know."""
    words = [f"{key}={text}" for key, text in words.items()]
    done, text = monitor.command("cxl-inject-general-media-event", *words)
    if not done and "'sub-type' is missing" in text:
        done, text = monitor.command("cxl-inject-general-media-event", *words, "sub-type=0")
    if not done:
        raise ValueError(text)
    return text


def wake(monitor, port):
    """Until it speaks: a guest's clock may ring before a busy machine has put it to sleep."""
    since = None
    while not select.select([port], [], [], 0.2)[0]:
        asleep = '"suspended"' in monitor.command("query-status")[1]
        since = since or time.monotonic() if asleep else None
        if asleep and time.monotonic() - since > ASLEEP:
            monitor.command("system_wakeup")
            return


class Ndp:
    """One at a time, which ends with the guest."""

    def __init__(self):
        self.process = None

    def serve(self, file, uncached):
        if not re.fullmatch(r"cxl[0-9]+", file):
            raise ValueError(f"{file} is no CXL device's memory")
        command = [os.environ["ANNEX"], "ndp", "serve", "--guest", file, "--uncached", uncached]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        return self.process.stdout.readline()  # it says when it is ready

    def end(self, signal="terminate"):
        if not self.process:
            raise ValueError("there is no device")
        getattr(self.process, signal)()
        code = self.process.wait(10)
        self.process = None
        if signal == "terminate" and code:
            raise ValueError(f"it ended with {code}")
        return str(code)

    def carry_out(self, do, **words):
        if do == "serve":
            return self.serve(**words)
        return self.end({"kill": "kill", "end": "terminate"}[do])


ndp = Ndp()


def answer(monitor, words):
    try:
        ours = {
            "peek": peek,
            "label": label,
            "ndp": ndp.carry_out,
            "aer": partial(aer, monitor),
            "cxl-inject-general-media-event": partial(media_event, monitor),
        }.get(words[0])
        if ours:
            done, text = True, ours(**dict(word.split("=", 1) for word in words[1:]))
        else:
            done, text = monitor.command(*words)
    except (LookupError, OSError, TypeError, ValueError, subprocess.SubprocessError) as error:
        done, text = False, str(error)
    return ("ok " if done else "error ") + " ".join(text.split()) + "\n"


def serve(path, port):
    paths, monitors = {"@host": path, "@far": os.path.join("far", path)}, {}
    for line in port.makefile("r", errors="replace", newline="\n"):
        words = line.split()
        to = words[0] if words else ""
        if to in paths:
            if to not in monitors:
                monitors[to] = Monitor(paths[to])
            if words[1:] == ["wake"]:
                port.sendall(b"ok\n")
                wake(monitors[to], port)
            else:
                port.sendall(answer(monitors[to], words[1:]).encode())
        else:
            print(line.rstrip("\r\n"), flush=True)


def main(argv):
    if len(argv) < 3:
        sys.exit(__doc__)
    try:
        if argv[2] == "--serve":
            # The guest starts when its port is connected.
            port = connect(argv[3])
            try:
                serve(argv[1], port)
            finally:
                if ndp.process:
                    ndp.end("kill")
            return
        done, text = Monitor(argv[1]).command(*argv[2:])
    except (OSError, ValueError) as error:
        sys.exit(f"qmp: {argv[1]}: {error}")
    if not done:
        sys.exit(f"qmp: {text}")
    print(text)


main(sys.argv)
