#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The lines of annex.ko that were run.

coverage.py COUNTS OBJECTS LIST: COUNTS has the counters, as gcov's .gcda files, OBJECTS the
compiler's .gcno files of the same sources. Prints how many lines of each source were run, and
writes the other lines to LIST.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile


def lines_of(folder, data):
    """How often each line of the source was run: many copies of one may have been inlined."""
    path = os.path.join(folder, data)
    text = subprocess.run(
        ["gcov", "--json-format", "--stdout", path], check=True, capture_output=True, text=True
    ).stdout
    source = data.removesuffix(".gcda") + ".c"
    runs = {}
    for file in json.loads(text)["files"]:
        if ("/" + file["file"]).endswith("/" + source):
            for line in file["lines"]:
                at = line["line_number"]
                runs[at] = runs.get(at, 0) + line["count"]
    return source, runs


def main(counts, objects, list_):
    total = [0, 0]
    with tempfile.TemporaryDirectory() as folder, open(list_, "w", encoding="utf-8") as missed:
        shutil.copytree(counts, folder, dirs_exist_ok=True)
        names = [
            os.path.relpath(os.path.join(at, name), folder)
            for at, _, files in os.walk(folder)
            for name in files
        ]
        for name in sorted(names):
            notes = name.removesuffix(".gcda") + ".gcno"
            shutil.copy(os.path.join(objects, notes), os.path.join(folder, notes))
            source, runs = lines_of(folder, name)
            with open(os.path.join(objects, source), encoding="utf-8") as file:
                text = file.read().split("\n")
            run = sum(count > 0 for count in runs.values())
            print(f"# {run:4} of {len(runs):4} lines run: {source}")
            for at in sorted(line for line, count in runs.items() if not count):
                missed.write(f"{source}:{at}:{text[at - 1]}\n")
            total[0] += run
            total[1] += len(runs)
    share = 100 * total[0] / max(total[1], 1)
    print(f"# annex.ko: {total[0]} of {total[1]} lines run, {share:.1f} %; the others: {list_}")


main(*sys.argv[1:])
