#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The rooms of library and module: calls, by the symbols of objects, and includes go down.

  tests/lint/rooms.py BUILD         print what breaks tests/lint/rooms.txt, if anything does
  tests/lint/rooms.py BUILD kernel  the same of the module, whose objects are below BUILD/kernel
  tests/lint/rooms.py BUILD -v      print the circles of calls inside rooms, too
"""

import pathlib
import re
import subprocess
import sys

WHERE = pathlib.Path(__file__).with_name("rooms.txt")
NEEDS = pathlib.Path("lib/models/needs.txt")  # private functions of libannex that models call


def room_of(source):
    """The folder of a file; kernel/main.c, which is above the module's other files, is a room."""
    return source if source == "kernel/main" else str(pathlib.Path(source).parent)


def objects(build, top):
    """Each source file: the names that it defines, and the names that it needs."""
    defines, needs = {}, {}
    paths = {}
    for path in map(str, pathlib.Path(build, top).rglob("*.o")):
        source = path[len(build) + 1:].removesuffix(".o").removesuffix(".avx2")
        if pathlib.Path(source + ".c").exists():  # or it is an object of a file that has moved
            paths[path] = source
    out = subprocess.run(["nm", "-A", *paths], check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
        path, _, rest = line.partition(":")
        *_, kind, name = rest.split()
        source = paths[path]
        if top == "kernel" and name.startswith("__"):
            continue  # a tracepoint: data of kernel/main.c, called by all
        if kind in "TDBRVW":
            defines[name] = source
        elif kind == "U":
            needs.setdefault(source, set()).add(name)
    return defines, needs


def includes(top):
    """Each pair of a file and a folder of another room that it includes a header of."""
    for path in sorted([*top.rglob("*.[ch]"), *top.rglob("*.cu")]):
        for other in re.findall(r'^#include "(.*)/[^/\n]*"', path.read_text(), re.MULTILINE):
            beside = path.parent / other
            yield str(path), str(beside if beside.is_dir() else top / other)


def circles(edges):
    """Strongly connected components of more than one node (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in edges.get(v, ()):
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in stack:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            at = stack.index(v)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for v in list(edges):
        if v not in index:
            visit(v)
    return found


def needed_by_models(defines, needs):
    """Private functions of the library that models call, against their list."""
    models = {s for s in needs if s.startswith("lib/models/")}
    taken = {n for s in models for n in needs[s]
             if n in defines and not defines[n].startswith("lib/models/")}
    listed = set(NEEDS.read_text().split())
    public = set(subprocess.run(["lib/public.sh"], check=True, capture_output=True,
                                text=True).stdout.split())
    for name in sorted(taken - public - listed):
        yield f"{NEEDS}: lacks {name}, which the models call"
    for name in sorted(listed - taken):
        yield f"{NEEDS}: {name} is called by no model"


def included_upwards(floor):
    """Includes of headers of rooms that are not below."""
    for source, other in includes(pathlib.Path("lib")):
        room = str(pathlib.Path(source).parent)
        if other not in floor or floor[other] >= floor.get(room, -1):
            yield f"{source}: includes headers of {other}, which is not below it"


def main():
    build = sys.argv[1].rstrip("/")
    floors, largest = [], {}
    for line in WHERE.read_text().splitlines():
        line = line.partition("#")[0].split()
        if line[:1] == ["circle"]:
            largest[line[1]] = int(line[2])
        elif line:
            floors.append(line)
    floor = {room: n for n, rooms in enumerate(floors) for room in rooms}
    top = "kernel" if "kernel" in sys.argv[2:] else "lib"
    defines, needs = objects(build, top)
    sys.setrecursionlimit(10000)
    edges, faults = {}, []
    for source, names in sorted(needs.items()):
        edges[source] = {defines[n] for n in names if defines.get(n, source) != source}
    for source, targets in edges.items():
        room = room_of(source)
        if room not in floor:
            faults.append(f"{room}: on no floor of {WHERE.name}")
            continue
        for target in sorted(targets):
            other = room_of(target)
            if other != room and floor.get(other, -1) >= floor[room]:
                faults.append(f"{source}: calls {target}, which is not below it")
    if top == "lib":
        faults += needed_by_models(defines, needs)
        faults += included_upwards(floor)
    for circle in circles(edges):
        room = room_of(circle[0])
        if len(circle) > largest.get(room, 1):
            faults.append(f"{room}: a circle of {len(circle)} files: "
                          + " ".join(pathlib.Path(f).name for f in circle))
        elif "-v" in sys.argv:
            print(" ".join(circle))
    print("\n".join(dict.fromkeys(faults)), end="\n" if faults else "")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
