#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kill the process of a mounted file system, and look whether it has kept its promises.

  kills.py ANNEX [ROUNDS [SEED]]

In each of ROUNDS rounds (20) writers work on a file system until its process gets SIGKILL, at a
random moment. Then annex fs fsck finds it clean; it is mounted again; and each
writer finds its promises kept (promises.py). Every fourth time the process that mounts it again
is killed as well. After EPOCH rounds there is a new file system, of another size and with other
options. One line for each round that is wrong; the last line counts. KEEP=DIR has copies of the
device as each wrong round found it.
"""
import json
import os
import random
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

from promises import Wrong, Writer

WRITERS = 4
EPOCH = 25
LOAD_MS = (50, 300)
ANSWER_S = 120
SHARED = "shared"


class Failed(Exception):
    """A round was wrong, in words."""


class Server:
    """The process of a mount."""

    def __init__(self, annex, top):
        self.annex, self.top = annex, top
        self.at = os.path.join(top, "full")
        self.device = os.path.join(top, "device")
        self.uri, self.options = None, []
        self.process = None
        os.mkdir(self.at)

    def run(self, *args):
        return subprocess.run(
            [self.annex, "fs", *args], capture_output=True, text=True, timeout=ANSWER_S, check=False
        )

    def mkfs(self, rng):
        """A file system, and options to mount it with, by chance."""
        size, dram = rng.choice((64, 80, 128)), rng.choice((1, 2, 4))
        self.uri = f"cxlssd:{self.device}?durable=host&dram={dram}M"
        if os.path.exists(self.device):
            os.unlink(self.device)
        done = self.run("mkfs", f"{self.uri}&size={size}M")
        if done.returncode:
            raise Failed(f"mkfs: {done.stderr.strip()}")
        self.options = ["--alpha", str(rng.choice((1, 50, 100))), "--cache", rng.choice(
            ("2M", "8M", "64M")), self.uri]

    def begin(self):
        """Start the process; it is not mounted yet."""
        with open(os.path.join(self.top, "said"), "w", encoding="utf-8") as said:
            self.process = subprocess.Popen(
                [self.annex, "fs", "mount", "-f", *self.options, self.at], stdout=said, stderr=said
            )

    def mounted(self):
        with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
            return any(line.split()[4] == self.at for line in mounts)

    def mount(self):
        """The kernel tells when mounts have changed."""
        with open("/proc/self/mountinfo", "rb") as mounts:
            changed = select.poll()
            changed.register(mounts, select.POLLPRI)
            self.begin()
            until = time.monotonic() + ANSWER_S
            while not self.mounted():
                if self.process.poll() is not None or time.monotonic() > until:
                    self.detach()
                    raise Failed(f"it cannot be mounted: {self.said()}")
                changed.poll(100)

    def said(self):
        with open(os.path.join(self.top, "said"), encoding="utf-8", errors="replace") as said:
            return said.read().strip().replace("\n", "; ")

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def detach(self):
        self.kill()
        while self.mounted():
            subprocess.run(["fusermount3", "-u", "-z", self.at], check=True, timeout=ANSWER_S)

    def unmount(self):
        subprocess.run(["fusermount3", "-u", self.at], check=True, timeout=ANSWER_S)
        status = self.process.wait(ANSWER_S)
        self.process = None
        if status:
            raise Failed(f"the process ended with status {status}: {self.said()}")

    def check(self):
        """Nothing is wrong. Return: whether nothing is left to be done either: a mount frees files
        that had no name and were open, and blocks behind a new size."""
        done = self.run("fsck", "--json", self.uri)
        if done.returncode:
            words = (done.stdout + done.stderr).strip().replace("\n", "; ")
            raise Failed(f"fsck, status {done.returncode}: {words}")
        return not json.loads(done.stdout)["unfinished"]

    def check_all(self):
        """What a mount does when it begins, it has done."""
        if not self.check():
            raise Failed("fsck: the mount has not finished what the kill interrupted")


class Client:
    """A writer in a process of its own. It outlives the mount, so its memory is its log."""

    def __init__(self, number, at):
        self.number, self.at = number, at
        self.socket, other = socket.socketpair()
        self.pid = os.fork()
        if not self.pid:
            self.socket.close()
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            self.serve(other)
            os._exit(0)
        other.close()
        self.lines = self.socket.makefile("r", encoding="utf-8")
        self.socket.settimeout(ANSWER_S)

    def serve(self, other):
        """Do what each line says, until there are no more: fresh SEED, load, verify."""
        writer = None
        with other.makefile("r", encoding="utf-8") as lines:
            for line in lines:
                what, *args = line.split()
                answer = {"wrong": None}
                try:
                    if what == "fresh":
                        writer = Writer(
                            self.at, f"own{self.number}", SHARED, f"{self.number}-", int(args[0])
                        )
                        writer.first()
                    else:
                        getattr(writer, what)()
                except Wrong as e:
                    answer["wrong"] = str(e)
                except Exception:  # any exception is an answer
                    answer["wrong"] = traceback.format_exc().strip().replace("\n", "; ")
                if answer["wrong"]:
                    self.keep(writer.said)
                answer["calls"] = writer.calls
                try:
                    other.sendall((json.dumps(answer) + "\n").encode())
                except OSError:
                    return

    def keep(self, calls):
        if os.environ.get("KEEP"):
            log = os.path.join(os.environ["KEEP"], f"writer{self.number}")
            with open(log, "w", encoding="utf-8") as file:
                file.write("\n".join(calls) + "\n")

    def ask(self, *words):
        self.socket.sendall((" ".join(words) + "\n").encode())

    def answer(self):
        try:
            line = self.lines.readline()
        except TimeoutError:
            raise SystemExit(f"kills: writer {self.number} does not answer") from None
        if not line:
            raise Failed(f"writer {self.number} has died")
        answer = json.loads(line)
        if answer["wrong"]:
            raise Failed(f"writer {self.number}: {answer['wrong']}")
        return answer["calls"]

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


class Rounds:
    """@calls: of all writers, to the file systems that are no more."""

    def __init__(self, annex, top, seed):
        self.random = random.Random(seed)
        self.server = Server(annex, top)
        self.clients = [Client(i, self.server.at) for i in range(WRITERS)]
        self.calls = self.before = 0
        self.again = self.unfinished = 0

    def all(self, *words):
        for client in self.clients:
            client.ask(*words)
        return self.answers()

    def answers(self):
        calls, wrong = 0, []
        for client in self.clients:
            try:
                calls += client.answer()
            except Failed as e:
                wrong.append(str(e))
        if wrong:
            raise Failed("; ".join(wrong))
        return calls

    def fresh(self):
        self.server.mkfs(self.random)
        self.server.mount()
        os.mkdir(os.path.join(self.server.at, SHARED))
        for client in self.clients:
            client.ask("fresh", str(self.random.randrange(1 << 30)))
        self.before = 0
        self.answers()

    def one(self):
        """From a mounted file system to a mounted one."""
        for client in self.clients:
            client.ask("load")
        # A writer that answers already has met an error.
        select.select(
            [c.socket for c in self.clients], [], [], self.random.randint(*LOAD_MS) / 1000
        )
        self.server.kill()
        calls = self.answers()
        self.server.detach()
        self.calls, self.before = self.calls + calls - self.before, calls
        clean = self.server.check()
        if os.environ.get("KEEP"):
            shutil.copyfile(self.server.device, self.server.device + ".killed")
        if self.random.random() < 0.25:
            self.server.begin()
            select.select([], [], [], self.random.random() * 0.01)
            self.server.detach()
            self.again += 1
            clean = self.server.check()
        if not clean:
            self.server.mount()
            self.server.unmount()
            self.server.check_all()
            self.unfinished += 1
        self.server.mount()
        self.before = self.all("verify")

    def end(self):
        self.server.unmount()
        self.server.check_all()

    def close(self):
        self.server.detach()
        for client in self.clients:
            client.end()


def keep(rounds, number):
    """Keep the device of the wrong round for analysis."""
    copy = rounds.server.device + ".killed"
    if os.environ.get("KEEP") and os.path.exists(copy):
        shutil.copyfile(copy, os.path.join(os.environ["KEEP"], f"round{number}"))


def run(rounds, total):
    wrong, mounted = 0, False
    for number in range(total):
        try:
            if mounted and number % EPOCH == 0:
                mounted = False
                rounds.end()
            if not mounted:
                rounds.fresh()
                mounted = True
            rounds.one()
        except (Failed, OSError, subprocess.SubprocessError) as e:
            print(f"FAILED: round {number}, {' '.join(rounds.server.options)}: {e}", flush=True)
            wrong += 1
            mounted = False
            keep(rounds, number)
            rounds.server.detach()
    if mounted:
        try:
            rounds.end()
        except (Failed, OSError, subprocess.SubprocessError) as e:
            print(f"FAILED: the end: {e}", flush=True)
            wrong += 1
    return wrong


def main():
    if not 2 <= len(sys.argv) <= 4:
        raise SystemExit(__doc__)
    if not os.access("/dev/fuse", os.R_OK | os.W_OK) or not shutil.which("fusermount3"):
        print("skipped: mounting: /dev/fuse is not for this user, or fusermount3 is missing")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    total = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.SystemRandom().randrange(1 << 30)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    top = tempfile.mkdtemp(prefix="annex-kills.")
    began, rounds = time.monotonic(), None
    try:
        rounds = Rounds(os.path.realpath(sys.argv[1]), os.path.realpath(top), seed)
        wrong = run(rounds, total)
    finally:
        if rounds:
            rounds.close()
        shutil.rmtree(top, ignore_errors=True)
    print(
        f"# seed {seed}: {total} rounds, {rounds.again} killed again while mounting, "
        f"{rounds.unfinished} with files to be freed, {rounds.calls} calls, "
        f"{time.monotonic() - began:.0f} s"
    )
    print(f"{total - wrong} passed, {wrong} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
