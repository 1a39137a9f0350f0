# SPDX-License-Identifier: MIT
"""Ctrl-C, which waits while a block begins or ends.

Python runs the handler of a signal between any two instructions of the main thread: also in a
function that has just begun. So the handler checks whether such a function is under way.
"""
import signal
import threading


class Interrupts:
    """@functions: Ctrl-C waits until they have ended."""

    def __init__(self, *functions):
        self.codes = {function.__code__ for function in functions}
        self.before = None
        self.waits = False

    def watch(self):
        """Begin. Other threads than the main one are never interrupted."""
        before = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is threading.main_thread() and callable(before):
            self.before, self.waits = before, False
            signal.signal(signal.SIGINT, self.handle)

    def handle(self, number, frame):
        caller = frame
        while caller and caller.f_code not in self.codes:
            caller = caller.f_back
        if caller:
            self.waits = True
        else:
            self.before(number, frame)

    def end(self):
        """Restore the handler, and deliver a waiting interrupt."""
        if self.before and signal.getsignal(signal.SIGINT) == self.handle:
            signal.signal(signal.SIGINT, self.before)
        if self.waits:
            self.waits = False
            signal.raise_signal(signal.SIGINT)
