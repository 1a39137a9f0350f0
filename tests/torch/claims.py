# SPDX-License-Identifier: MIT
"""Claims, counted. With ALL=1 in the environment there are more of each kind."""
import os

ALL = os.environ.get("ALL", "0") != "0"
counts = {"passed": 0, "failed": 0}


def claim(words, holds):
    counts["passed" if holds else "failed"] += 1
    if not holds:
        print(f"FAILED: {words}")


def refused(words, error, pattern, call):
    """@error: its class and its errno; its words have @pattern, in one line."""
    kind, number = error
    try:
        call()
        claim(f"{words} is refused", False)
    except kind as raised:
        text = str(raised)
        claim(f"{words} is refused: {text}", raised.errno == number and pattern in text and
              "\n" not in text)


def alike(a, b):
    import torch  # programs without tensors do not have it
    return len(a) == len(b) and all(x.dtype == y.dtype and torch.equal(x, y) for x, y in zip(a, b))


def summary():
    """Print how many there were. Return: whether some failed."""
    print(f"{counts['passed']} passed, {counts['failed']} failed")
    return counts["failed"] > 0
