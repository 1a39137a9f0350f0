#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Free relatives and pronouns for things (see PLAIN), for each 1,000 words of prose.

  tests/lint/prose.py          fail where a room is above its ceiling in tests/lint/prose.txt
  tests/lint/prose.py --lower  lower the ceilings to what the rooms have; none is ever raised
  tests/lint/prose.py ROOM     print each place of a room

Prose is comments and messages in .c, .h, .cu, .S, .sh and .py files, and all of .md files but code.
"""

import math
import pathlib
import re
import subprocess
import sys

CEILINGS = pathlib.Path(__file__).with_name("prose.txt")
PLAIN = re.compile(r'''
    \b(?:what(?:ever)?\ (?:is|was|are|were|has|had|have|it|they|comes|came|goes|lies|needs|others|
       no|must|may|can|could|cannot|do|does|did|should|will|would|takes|made|makes|stays|follows|
       stands|belongs|reads|writes|waits|runs|uses|was)\b
     |who(?:ever|m)?\b|somebody|nobody|anybody
     |those\ (?:that|who|of)\b|that\ which)''', re.IGNORECASE | re.VERBOSE)
QUESTION = re.compile(r"\bwhat [^.;:]*\?", re.IGNORECASE)
ENDINGS = {".c", ".h", ".cu", ".S", ".sh", ".py", ".md"}


def room_of(path):
    """Two folders deep, three in lib/models: the rooms of rooms.txt, as far as there are such."""
    parts = pathlib.PurePath(path).parts[:-1]
    return "/".join(parts[:3 if "models" in parts[:2] else 2]) or "."


def prose(path, text):
    """Numbered pieces of a file that people read."""
    ending = pathlib.PurePath(path).suffix
    if ending == ".md":
        code = False
        for number, line in enumerate(text.splitlines(), 1):
            if line.startswith("```"):
                code = not code
            elif not code:
                yield number, re.sub(r"`[^`]*`|\]\([^)]*\)", "", line)
        return
    if ending in (".sh", ".py"):
        pattern = r'#[^\n]*|"""(?:.|\n)*?"""|"(?:[^"\\\n]|\\.)*"'
    else:
        pattern = r'/\*(?:.|\n)*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"'
    for match in re.finditer(pattern, text):
        first = text.count("\n", 0, match.start()) + 1
        for offset, line in enumerate(match.group().splitlines()):
            yield first + offset, line


def count():
    """Each room: words, and the places to be rewritten."""
    listed = subprocess.run(["git", "ls-files"], check=True, capture_output=True, text=True).stdout
    rooms = {}
    for path in listed.splitlines():
        file = pathlib.Path(path)
        if file.suffix not in ENDINGS or not file.is_file() or file.is_symlink():
            continue
        words, places = rooms.setdefault(room_of(path), [0, []])
        for number, line in prose(path, file.read_text()):
            words += len(re.findall(r"[A-Za-z][A-Za-z'-]+", line))
            line = QUESTION.sub("", line)
            places += [f"{path}:{number}: {m.group()}" for m in PLAIN.finditer(line)]
        rooms[room_of(path)][0] = words
    return rooms


def main():
    rooms = count()
    if sys.argv[1:] and sys.argv[1] != "--lower":
        print("\n".join(rooms[sys.argv[1].rstrip("/")][1]))
        return 0
    ceilings = {}
    if CEILINGS.exists():
        ceilings = {room: float(most) for room, most in map(str.split, CEILINGS.open())}
    rates = {room: 1000 * len(places) / max(words, 1000) for room, (words, places) in rooms.items()}
    if "--lower" in sys.argv:
        first = not ceilings
        with CEILINGS.open("w") as file:
            for room, rate in sorted(rates.items()):
                rate = math.ceil(10 * rate) / 10
                file.write(f"{room} {rate if first else min(rate, ceilings.get(room, 0.5))}\n")
        return 0
    bad = [f"{room}: {rate:.1f} free relatives and pronouns for each 1,000 words, of "
           f"{ceilings.get(room, 0.5)}: tests/lint/prose.py {room}"
           for room, rate in sorted(rates.items()) if rate > ceilings.get(room, 0.5)]
    print("\n".join(bad), end="\n" if bad else "")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
