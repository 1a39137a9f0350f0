# SPDX-License-Identifier: MIT
"""What make bench-torch claims of itself: comparison.py DIRECTORY. Its smoke form runs once."""
import json
import os
import subprocess
import sys
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../bench"))
from claims import ALL, claim, summary  # noqa: E402
from torch_bench import choose, differ  # noqa: E402

BENCH = os.path.join(HERE, "../bench/torch_bench.py")
ALWAYS = "plain", "checkpoint", "none", "uvm", "annex", "early"
MOVING = "none", "uvm", "annex", "early"


def run(*words):
    return subprocess.run([sys.executable, BENCH, *words], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False,
                          env=dict(os.environ, SMOKE="1"))


def check_words():
    for words, pattern in ((("--threads", "0"), "thread"), (("--train", "x:1"), "gpt:4"),
                           (("--train", "gpt:0"), "gpt:4"), ((), "json"),
                           (("--plot",), "plot"), (("--way", "fast"), "early")):
        done = run("nowhere", *words, *(("--json", "x") if words else ()))
        lines = done.stderr.decode().splitlines()
        claim(f"{words} is refused in one line: {lines}", done.returncode and len(lines) == 1 and
              pattern in lines[0])


def check_choice():
    shares = {1: 0.3, 2: 0.5, 4: 0.7, 8: 0.96}
    claim("a batch between two that were tried", choose(shares, 0.6) == 3)
    claim("one that was tried", choose(shares, 0.5) == 2)
    claim("more than any has", choose(shares, 0.99) == 8)
    claim("less than any has", choose(shares, 0.1) == 1)
    claim("the only one", choose({2: 0.9}, 0.6) == 2)
    plain = [{"losses": ["a", "b", "c"]}]
    claim("the same losses", not differ([{"losses": ["a", "b"]}], plain) and
          not differ([{"losses": ["a", "b", "c", "d"]}], plain))
    claim("another loss", differ([{"losses": ["a", "b", "d", "e"]}], plain) == 1)


def check_rows(name, values, told):
    for way in ALWAYS:
        claim(f"{name}, {way}: a row", values[f"{name}, {way}: seconds"]["value"] > 0 and
              values[f"{name}, {way}: taken"]["value"] > 0)
    for way in MOVING:
        claim(f"{name}, {way}: bytes are moved", values[f"{name}, {way}: out"]["value"] > 0)
    swap = f"{name}, swap: seconds" in values
    claim(f"{name}: swap, or why not", swap or "swap         fails: " in told)
    same = values[f"{name}: runs with other losses than plain"]
    claim(f"{name}: losses are compared", same["value"] == 0)
    for ending in (": annex / bound", ": annex: iteration / simulated", ": early / bound",
                   ": early: iteration / simulated", ": peak beyond loading / device memory"):
        claim(f"{name}{ending}", values[name + ending]["target"] is not None)
    claim(f"{name}: each row says that its losses are compared",
          told.count("  same losses\n") == len(ALWAYS) + swap)


def check_run(directory, name, *words):
    """Return: its figures, and its output."""
    figures, picture = (os.path.join(directory, name) for name in ("torch.json", "torch.svg"))
    done = run(directory, "--json", figures, "--plot", picture, "--threads", "1", *words)
    told = done.stdout.decode()
    claim(f"it runs: {done.stderr.decode()}", done.returncode == 0)
    with open(figures, encoding="utf-8") as file:
        values = {f["figure"]: f for f in json.load(file)}
    check_rows(name, values, told)
    bars = xml.etree.ElementTree.parse(picture).findall(".//{*}title")
    claim(f"a bar for each row: {len(bars)}", len(bars) == told.count("  same losses\n"))
    left = [name for name in os.listdir(directory) if not name.startswith("torch.")]
    claim(f"nothing else is left: {left}", not left)
    return values, told


def check_all(directory):
    values, told = check_run(directory, "gpt, batch 2")
    for words in ("everything fits: slower by", "everything fits: an operator takes longer by"):
        claim(words, values[words]["target"] is not None)
    claim("from the first iteration to a plan",
          any("first iteration to running plan" in name for name in values))
    claim("an ordinary user, or why not", "written / by root" in told or
          "an ordinary user as root: not here: " in told)


def main():
    check_words()
    check_choice()
    check_all(sys.argv[1])
    if ALL:
        check_run(sys.argv[1], "vit, batch 2", "--train", "vit:2")
    return summary()


sys.exit(main())
