# SPDX-License-Identifier: MIT
"""A space of libannex, and who uses what of it.

Whoever is to touch a region pins it, which brings it; an error is raised before anything is
touched. What is not pinned leaves when others need the room: the library chooses the least recently
used. What is saved for backward is wanted in the reverse order, so here is told, ahead of that,
what is not wanted for long, and what is wanted next.

Finalizers may run at any moment, also in a thread that has the lock. So they only write down what
is no longer used, and whoever has the lock next does the rest.
"""
import collections
import contextlib
import ctypes
import errno
import os
import threading
import time

from .library import SSD, Error, MemPage

SAVED, STATE = "saved", "state"
PAGE = 4096
TIMEOUT_MS = 60000  # of a move
FAULT_BYTES = 1 << 19  # that the first touch of a new region brings


class Region:
    """Memory of the space."""

    __slots__ = ("address", "bytes", "room", "name", "kind", "pins", "tier", "turn", "tensor")

    def __init__(self, address, size, name, kind, tier):
        self.address = address
        self.bytes = size
        self.room = (size + PAGE - 1) // PAGE * PAGE
        self.name = name
        self.kind = kind
        self.tier = tier
        self.pins = 0
        self.turn = -1  # its newest place in the order of saving
        self.tensor = None  # of optimizer state: a weak reference to whom it belongs


class Lease:
    """Who holds one keeps a region from being freed."""

    __slots__ = ("memory", "region", "__weakref__")

    def __init__(self, memory, region):
        self.memory = memory
        self.region = region

    def __del__(self):
        self.memory.bury("lease", self.region)


class Pin:
    """Who holds one may touch a region."""

    __slots__ = ("lease",)

    def __init__(self, lease):
        self.lease = lease

    def __del__(self):
        self.lease.memory.bury("pin", self.lease.region)


class Turn:
    """A place in the order of saving, of something that is still wanted."""

    __slots__ = ("memory", "number")

    def __init__(self, memory, number):
        self.memory = memory
        self.number = number

    def __del__(self):
        self.memory.bury("turn", self.number)


class Memory:
    """The space, with its regions. All methods may be called from any thread."""

    def __init__(self, library, budget, uris, checksum=False):
        self.library = library
        self.budget = budget
        # The rest is what the library keeps free.
        self.limit = (budget - budget // 32) // PAGE * PAGE
        self.lock = threading.Lock()
        self.pid = os.getpid()
        self.dead = collections.deque()
        self.regions = {}
        self.turns = {}  # number in the order of saving: region
        self.saves = 0
        # Turns from here on are in memory, or on their way; bytes of those that are still wanted.
        self.near = self.near_bytes = 0
        self.pinned_bytes = 0
        self.waited = 0.0  # seconds, by all threads together
        self.closing = False
        self.space = ctypes.c_void_p()
        self.stores = []
        self.last = {}
        try:
            self.open(uris, checksum)
        except BaseException:
            self.destroy()
            raise

    def open(self, uris, checksum):
        self.space = self.library.open_space(uris, self.stores, device=self.budget,
                                             fault_bytes=FAULT_BYTES, checksum=checksum)

    def destroy(self):
        """Give all of it back."""
        if self.space:
            self.last = self.library.space_stats(self.space)
            self.library.dll.annex_space_destroy(self.space)
        self.space = ctypes.c_void_p()
        for store in self.stores:
            self.library("annex_store_close", store)
        self.stores = []

    def is_here(self):
        """Whether this is the process that made it. A child that was forked has nothing of it."""
        return os.getpid() == self.pid

    def close(self):
        """Give all back, now, or when the last region is no longer used."""
        if self.is_here():
            self.closing = True
            self.tidy()

    def stats(self):
        with self.entered():
            told = self.library.space_stats(self.space) if self.space else self.last
            return dict(told, waited=self.waited)

    # What finalizers leave behind

    def bury(self, what, which):
        """From finalizers."""
        if self.is_here():
            self.dead.append((what, which))
            self.tidy()

    def tidy(self):
        """Do what finalizers left, unless somebody is at it, who will."""
        while (self.dead or self.closing) and self.lock.acquire(blocking=False):
            try:
                self.drain()
                if not self.dead:
                    if self.closing and not self.regions:
                        self.closing = False
                        self.destroy()
                    break
            finally:
                self.lock.release()

    @contextlib.contextmanager
    def entered(self):
        if not self.is_here():  # and whoever had the lock is not
            raise Error(errno.ECHILD, "offload: its block began before fork(), so its tensors are "
                        "in the parent only")
        with self.lock:
            self.drain()
            yield
        self.tidy()

    def drain(self):
        while self.dead:
            what, which = self.dead.popleft()
            if what == "turn":
                region = self.turns.pop(which)
                if which >= self.near:
                    self.near_bytes -= region.room
            elif what == "pin":
                self.release(which)
            else:
                self.free(which)

    def free(self, region):
        self.library("annex_free", self.space, region.address)
        del self.regions[region.address]

    # What is in memory

    def is_resident(self, region):
        """Whether its first page is, as of all that has not begun to leave."""
        page = MemPage()
        self.library("annex_mem_lookup", self.space, region.address, ctypes.byref(page))
        return page.device and not page.busy

    def bring(self, region):
        """Have it in memory, for somebody who will touch it."""
        if region.pins == 0:
            if self.pinned_bytes + region.room > self.limit:
                raise Error(errno.ENOSPC, f"offload: a budget of {self.budget} bytes is too small: "
                            f"{self.pinned_bytes + region.room} are in use at once")
            self.library("annex_hold", self.space, region.address)
            self.pinned_bytes += region.room
        region.pins += 1
        move, waits = ctypes.c_void_p(), False
        start = time.monotonic()
        try:
            self.library("annex_prefetch", self.space, region.address, region.bytes, 0,
                         ctypes.byref(move))
            waits = True
            self.library("annex_move_wait", move, TIMEOUT_MS)
        except BaseException as error:  # Ctrl-C, too
            if not waits or isinstance(error, Error) and error.errno == errno.ETIMEDOUT:
                self.library.dll.annex_move_forget(move)
            self.release(region)
            raise
        finally:
            self.waited += time.monotonic() - start

    def release(self, region):
        region.pins -= 1
        if region.pins == 0:
            self.library("annex_let_go", self.space, region.address)
            self.pinned_bytes -= region.room

    def send(self, region):
        """It begins to leave, unless somebody uses it."""
        if region.pins == 0:
            self.library("annex_pre_evict", self.space, region.address, region.bytes, region.tier,
                         None)

    def fetch(self, region):
        """It begins to come."""
        self.library("annex_prefetch", self.space, region.address, region.bytes, 0, None)

    # For those who use it

    def allocate(self, size, name, kind):
        """A new region, all zeroes, as a lease of it."""
        address = ctypes.c_void_p()
        with self.entered():
            # Smaller ones would share pages, and none could leave while one is pinned.
            self.library("annex_alloc", self.space, name.encode(), max(size, PAGE),
                         ctypes.byref(address))
            tier = SSD + len(self.regions) % len(self.stores)
            region = Region(address.value, size, name, kind, tier)
            self.regions[region.address] = region
            return Lease(self, region)

    def pin(self, lease):
        with self.entered():
            self.bring(lease.region)
            return Pin(lease)

    def pin_resident(self, lease):
        """As pin(); None unless it is in memory, and stays."""
        with self.entered():
            if not self.is_resident(lease.region):
                return None
            self.bring(lease.region)
            return Pin(lease)

    @contextlib.contextmanager
    def pinned(self, regions):
        """For a while, regions that live for longer."""
        held = []
        try:
            for region in regions:
                with self.entered():
                    self.bring(region)
                held.append(region)
            yield
        finally:
            with self.entered():
                for region in held:
                    self.release(region)

    def save(self, lease):
        """A new place in the order of saving; then what was saved long ago begins to leave."""
        region = lease.region
        with self.entered():
            turn = Turn(self, self.saves)
            self.turns[self.saves] = region
            region.turn = self.saves
            self.saves += 1
            self.near_bytes += region.room
            while self.near_bytes > self.limit - self.limit // 4:
                old = self.turns.get(self.near)
                if old:
                    self.near_bytes -= old.room
                    if old.turn == self.near:
                        self.send(old)
                self.near += 1
            return turn

    def prefetch_saved(self):
        """What backward wants next: of what is saved, the newest."""
        with self.entered():
            while self.near > 0:
                region = self.turns.get(self.near - 1)
                if region:
                    if self.near_bytes + region.room > self.limit // 2:
                        return
                    self.near_bytes += region.room
                    self.fetch(region)
                self.near -= 1

    def prefetch_state(self, regions):
        """What an optimizer wants next."""
        with self.entered():
            for region in regions:
                self.fetch(region)

    def send_state(self, regions):
        """What an optimizer does not want before its next step."""
        with self.entered():
            for region in regions:
                self.send(region)

    def states(self):
        with self.entered():
            return [region for region in self.regions.values() if region.kind == STATE]
