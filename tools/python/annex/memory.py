# SPDX-License-Identifier: GPL-2.0-or-later
"""A space of libannex, and what of it is in memory: never more than the budget.

Whoever is to touch a region pins it, which brings it; an error is raised before anything is
touched. What is not pinned leaves when others need the room, what is used last first: optimizer
state, then what was saved for backward longest ago.

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

from .library import SSD, Error, SpaceOpts, SpaceStats

SAVED, STATE = "saved", "state"
PAGE = 4096
TIMEOUT_MS = 60000  # of a move
FAULT_BYTES = 1 << 19  # that the first touch of a new region brings
STEP_NS = 1000000  # between the deadlines of what is prefetched in one go


class Region:
    """Memory of the space. @resident: it is in the device tier, or on its way in or out."""

    __slots__ = ("address", "bytes", "room", "name", "kind", "resident", "leaving", "move", "pins",
                 "tier", "tensor")

    def __init__(self, address, size, name, kind, tier):
        self.address = address
        self.bytes = size
        self.room = (size + PAGE - 1) // PAGE * PAGE
        self.name = name
        self.kind = kind
        self.tier = tier
        self.resident = self.leaving = False
        self.move = None
        self.pins = 0
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
        # Bytes of what is resident; of that what is leaving, and what has come and is not used yet.
        self.used = self.out = self.ahead = 0
        self.waited = 0.0  # seconds, by all threads together
        self.leaving = collections.deque()
        self.coming = collections.deque()
        # What may leave, in the order in which it does: the last of STATE, the first of SAVED.
        self.idle = {STATE: collections.OrderedDict(), SAVED: collections.OrderedDict()}
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
        for uri in uris:
            store = ctypes.c_void_p()
            self.library("annex_store_open", uri.encode(), None, ctypes.byref(store))
            self.stores.append(store)
        array = (ctypes.c_void_p * len(self.stores))(*[store.value for store in self.stores])
        opts = SpaceOpts(device=self.budget, stores=array, n_stores=len(self.stores),
                         fault_bytes=FAULT_BYTES, checksum=checksum)
        self.library("annex_space_create", ctypes.byref(opts), ctypes.byref(self.space))

    def destroy(self):
        """Give all of it back."""
        if self.space:
            self.last = self.read_stats()
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

    def read_stats(self):
        stats = SpaceStats()
        self.library.dll.annex_space_get_stats(self.space, ctypes.byref(stats))
        return {name: getattr(stats, name) for name, _ in SpaceStats._fields_}

    def stats(self):
        with self.entered():
            told = self.read_stats() if self.space else self.last
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
                self.turns.pop(which, None)
            elif what == "pin":
                self.release(which)
            else:
                self.free(which)

    def free(self, region):
        self.library("annex_free", self.space, region.address)
        with contextlib.suppress(Error):  # it has been freed while it moved
            self.settle(region)
        self.vacate(region)
        self.idle[region.kind].pop(region.address, None)
        del self.regions[region.address]

    # What is in memory

    def occupy(self, region):
        if not region.resident:
            region.resident = True
            self.used += region.room

    def vacate(self, region):
        if region.resident:
            region.resident = False
            self.used -= region.room

    def rest(self, region):
        """It may leave."""
        self.idle[region.kind][region.address] = region

    def settle(self, region):
        """Wait until it moves no more."""
        if not region.move:
            return
        move, out = region.move, region.leaving
        try:
            self.wait(move)
        except Error as error:
            if error.errno == errno.ETIMEDOUT:
                raise
            self.moved(region, gone=not out)
            raise
        self.moved(region, gone=out)

    def wait(self, move):
        start = time.monotonic()
        try:
            self.library("annex_move_wait", move, TIMEOUT_MS)
        finally:
            self.waited += time.monotonic() - start

    def moved(self, region, gone):
        region.move = None
        if region.leaving:
            region.leaving = False
            self.leaving.remove(region)
            self.out -= region.room
        else:
            self.coming.remove(region)
            self.ahead -= region.room
        if gone:
            self.vacate(region)
        elif not region.pins:
            self.rest(region)
            if region.kind == SAVED:
                # It came for backward, where what has come later is used later, and leaves first.
                self.idle[SAVED].move_to_end(region.address, last=False)

    def next_to_leave(self):
        for kind in (STATE, SAVED):
            if self.idle[kind]:
                return self.idle[kind].popitem(last=kind == STATE)[1]
        return None

    def begin_to_leave(self, want):
        """Have so much leave, or what there is."""
        while want > 0:
            region = self.next_to_leave()
            if region is None:
                return
            move = ctypes.c_void_p()
            try:
                self.library("annex_pre_evict", self.space, region.address, region.bytes,
                             region.tier, ctypes.byref(move))
            except Error:
                self.rest(region)
                raise
            region.move, region.leaving = move, True
            self.leaving.append(region)
            self.out += region.room
            want -= region.room

    def make_room(self, room):
        while self.used + room > self.limit:
            self.begin_to_leave(self.used - self.out + room - self.limit)
            if self.leaving:
                self.settle(self.leaving[0])
            elif self.coming:
                self.settle(self.coming[0])
            else:
                raise Error(errno.ENOSPC, f"offload: a budget of {self.budget} bytes is too small: "
                            f"{self.used + room} are in use at once")

    def bring(self, region):
        """Have it in memory, for somebody who will touch it."""
        if region.pins == 0:
            if region.move and region.leaving:
                self.settle(region)
            elif region.move:
                with contextlib.suppress(Error):  # once more, below
                    self.settle(region)
            self.idle[region.kind].pop(region.address, None)
            if not region.resident:
                self.make_room(region.room)
                self.occupy(region)
            self.library("annex_hold", self.space, region.address)
        region.pins += 1
        try:
            move = ctypes.c_void_p()
            self.library("annex_prefetch", self.space, region.address, region.bytes, 0,
                         ctypes.byref(move))
            self.wait(move)
        except Error as error:
            if error.errno == errno.ETIMEDOUT:
                self.library.dll.annex_move_forget(move)
            self.release(region)
            raise

    def release(self, region):
        region.pins -= 1
        if region.pins == 0:
            self.library("annex_let_go", self.space, region.address)
            self.rest(region)

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
            if not lease.region.resident or lease.region.move:
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
        with self.entered():
            turn = Turn(self, self.saves)
            self.turns[self.saves] = lease.region
            self.saves += 1
            ahead = self.limit // 4
            self.begin_to_leave(self.used - self.out + ahead - self.limit)
            return turn

    def prefetch(self, regions, room=False):
        """Begin to bring them, in this order, while there is room; @room: make some."""
        deadline = time.monotonic_ns()
        for region in regions:
            if region.resident:
                continue
            if self.ahead + region.room > self.limit // 2:
                return
            if room:
                self.begin_to_leave(self.used - self.out + region.room - self.limit)
            if self.used - self.out + region.room > self.limit:
                return
            deadline += STEP_NS
            move = ctypes.c_void_p()
            self.library("annex_prefetch", self.space, region.address, region.bytes, deadline,
                         ctypes.byref(move))
            region.move = move
            self.coming.append(region)
            self.ahead += region.room
            self.occupy(region)

    def prefetch_saved(self):
        """What backward wants next: of what is saved, the newest."""
        with self.entered():
            # Not for a little at a time: it looks at all that is saved.
            if (self.ahead <= self.limit // 4 and
                    self.limit - self.used + self.out >= self.limit // 16):
                self.prefetch(self.turns[number] for number in reversed(self.turns))

    def prefetch_state(self, regions):
        with self.entered():
            self.prefetch(regions, room=True)

    def states(self):
        with self.entered():
            return [region for region in self.regions.values() if region.kind == STATE]
