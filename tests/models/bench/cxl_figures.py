# SPDX-License-Identifier: MIT
"""docs/models/figures-cxl.md: a table for each figure of the papers, with theirs beside ours."""
import datetime
import os
import textwrap
from cxl_papers import (CXL_GPU, LOGS, PATTERNS, SKYBYTE_CONFIGS, SKYBYTE_HOST, SKYBYTE_LOG,
                        SKYBYTE_MEDIA, SKYBYTE_SPEED, SKYBYTE_THREADS, SKYBYTE_THRESHOLD,
                        SKYBYTE_WRITES)
from cxl_runs import ENDED, geometric
from figures import place, sized

TOP = """# CXL-GPU's and SkyByte's figures

Made by `make figures-cxl` on {date}. Times are virtual, so they do not depend on the speed of the
machine. `make bench-cxl` compares the figures that have goals.

- A cell with two numbers has the paper's first, then ours. A cell with one number is ours.
- Means of ratios are geometric, means of hit rates arithmetic. The papers seldom say which mean
  they use.
- Hits are loads whose line was in the endpoint's DRAM. Loads of a line that was on its way there
  are "late", and are not hits.
- CXL-GPU's numbers are from its text, SkyByte's from its artifact, whose sizes are 16 times ours.
- `build/bench/asides-cxl.md` has asides, which vary the choices that the papers leave open.
"""
PAGES = os.path.join(os.path.dirname(__file__), "../../../docs/models")
SECTIONS = []
ASIDES = []


def keep_in(sections):
    """A decorator of functions that make a table: its commands, its head and its rows."""
    def section(title, why):
        def keep(make):
            sections.append((title, why, make))
            return make
        return keep
    return section


section, aside = keep_in(SECTIONS), keep_in(ASIDES)


def number(value):
    """Three digits."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    places = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{places}f}"


def pair(theirs, ours):
    """A cell: the paper's number, where there is one, and ours."""
    return number(ours) if theirs is None else f"{theirs:g} / {number(ours)}"


def percent(ratio):
    """The excess of a ratio over 1, in percent."""
    return 100 * (ratio - 1)


def relative(runs, option, value, first, workload, config):
    """Time with a value of a sweep over that with the first."""
    return (runs.at(option, value).get(workload, config)["time_s"]
            / runs.at(option, first).get(workload, config)["time_s"])


def sweep_rows(runs, option, values, first, config, theirs):
    """A row for each workload, and their mean: times over those with one of the values."""
    works = runs.workloads("set")
    rows = [[w] + [pair(theirs.get(w, {}).get(v), relative(runs, option, v, first, w, config))
                   for v in values] for w in works]
    means = [geometric(relative(runs, option, v, first, w, config) for w in works)
             for v in values]
    return rows + [["geometric mean"] + [pair(theirs.get("mean", {}).get(v), mean)
                                         for v, mean in zip(values, means)]]


@section("CXL-GPU 9a: an endpoint of DRAM", """
At 200 MHz a core's other threads hide the latency of loads from an endpoint of DRAM, so CXL
costs less than the paper's 19.7 %; an aside has faster clocks. The time with UVM is nearly
proportional to the cost of the host's runtime for a page, `--runtime`. The paper does not state
its unit; `make bench-cxl` prints the cost that gives each of the paper's ratios.""")
def endpoint_of_dram(tool):
    ended, matrix = tool.runs(ENDED), tool.runs()
    rows = []
    for group in ("compute", "load", "store", "real"):
        works = ended.workloads("group", group)
        rows.append([group, pair(CXL_GPU["cxl_over_dram"].get(group),
                                 percent(ended.mean(works, "cxl", "dram"))),
                     matrix.mean(works, "uvm", "dram"), matrix.mean(works, "gds", "dram")])
    every = ended.workloads("set", "cxl-gpu")
    rows.append(["all", pair(19, percent(ended.mean(every, "cxl", "dram"))),
                 pair(52.7, matrix.mean(every, "uvm", "dram")),
                 matrix.mean(every, "gds", "dram")])
    return ([f"{ended.command} --show slowdown",
             "annex cxl simulate cxl-gpu --config dram,uvm,gds --show slowdown"],
            ["workloads", "CXL over GPU DRAM, %", "UVM / GPU DRAM, x", "GPUDirect / GPU DRAM, x"],
            rows)


@aside("Sensitivity of 9a to the GPU's clock", """
Percent of CXL over GPU DRAM on an endpoint of DRAM. Shorter instructions let other threads hide
less of a load's latency. No single clock gives all of the paper's percentages.""")
def clock(tool):
    steps = ("5000", "2500", "1000", "500")
    runs = tool.runs(f"{ENDED} --sweep instruction={','.join(steps)} --scale 0.25")
    rows = [[group, number(theirs)]
            + [percent(runs.at("instruction", step).mean(runs.workloads("group", group), "cxl",
                                                         "dram")) for step in steps]
            for group, theirs in CXL_GPU["cxl_over_dram"].items()]
    return ([f"{runs.command} --show slowdown"],
            ["workloads", "paper"] + [f"{1000000 // int(step)} MHz" for step in steps], rows)


@section("CXL-GPU 9b: an endpoint of Z-NAND", """
A speculative read has at most 1 KiB, and CXL fetches sectors of 128 bytes. If nothing is read
twice, one load of 16 waits instead of one of 2, so SR gains at most 8 x on vectors, not 15.6 x.
Random loads do not use the neighbours that SR fetches, so SR gains nothing on path, bfs and gnn.
These wait for flash reads more than for programs and channels, as an aside shows. When a stored
sector leaves DRAM, its whole page is read and programmed. DS gains where stores wait, and
nothing for workloads with few stores (rsum, gemm).""")
def endpoint_of_znand(tool):
    runs = tool.runs()
    rows = [[w] + [runs.ratio(w, c, "dram") for c in ("cxl", "sr", "ds")]
            + [runs.ratio(w, "cxl", "sr"), percent(runs.ratio(w, "sr", "ds"))]
            for w in runs.workloads("set", "cxl-gpu")]
    for group, theirs in CXL_GPU["ds_over_sr"].items():
        works = runs.workloads("group", group)
        rows.append([f"{group}-intensive"]
                    + [runs.mean(works, c, "dram") for c in ("cxl", "sr", "ds")]
                    + [runs.mean(works, "cxl", "sr"),
                       pair(theirs, percent(runs.mean(works, "sr", "ds")))])
    for name, works, theirs in (("vadd, saxpy", ["vadd", "saxpy"], 15.6),
                                ("path, bfs", ["path", "bfs"], 1.676),
                                ("all", runs.workloads("set", "cxl-gpu"), 7.4)):
        rows.append([name] + [runs.mean(works, c, "dram") for c in ("cxl", "sr", "ds")]
                    + [pair(theirs, runs.mean(works, "cxl", "sr")),
                       percent(runs.mean(works, "sr", "ds"))])
    return (["annex cxl simulate cxl-gpu --show slowdown"],
            ["workload", "CXL / GPU DRAM, x", "SR / GPU DRAM, x", "DS / GPU DRAM, x",
             "SR over CXL, x", "DS over SR, %"], rows)


FASTER = {"programs 20 x": (3000, 5000, 1200000000), "reads 10 x": (300, 100000, 1200000000),
          "channels 10 x": (3000, 100000, 12000000000)}


def media_file(tool, name, read, program, rate):
    """Z-NAND of which something is faster. Return: the path of its file."""
    path = f"{tool.folder}/znand-{name.split()[0]}"
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"read_ns = {read}\nprogram_ns = {program}\nrate = {rate}\n"
                   "erase_ns = 1000000\nsuspend_ns = 1000\n")
    return path


@aside("Sensitivity of 9b: which part of the flash is waited for", """
Time relative to GPU DRAM with Z-NAND, and with Z-NAND in which one part is faster: programs (5
us), reads (0.3 us), rate of a channel (12 GB/s). Workloads have a quarter of the size.""")
def parts_of_flash(tool):
    files = {name: media_file(tool, name, *numbers) for name, numbers in FASTER.items()}
    runs = tool.runs("path bfs gnn stencil vadd --config dram,sr,ds --sweep media=znand,"
                     f"{','.join(files.values())} --scale 0.25")
    files = {"Z-NAND": "znand", **files}
    rows = [[w] + [runs.at("media", file).ratio(w, config, "dram")
                   for config in ("sr", "ds") for file in files.values()]
            for w in runs.workloads("set")]
    return ([f"{runs.command} --show slowdown"],
            ["workload"] + [f"{config}, {name}" for config in ("SR", "DS") for name in files],
            rows)


MEDIA = ("optane", "znand", "nand")
HARD = "vadd path bfs --config dram,cxl,sr,ds"


@section("CXL-GPU 9c: media of the endpoint", """
With SR in vadd, one load of 16 waits on all three media, for as long as a read of the medium. So
SR gains about as much on each, and NAND stays far from GPU DRAM. path and bfs do not use the
data that SR fetches, on any medium.""")
def media(tool):
    runs = tool.runs(f"{HARD} --sweep media={','.join(MEDIA)}")
    rows = []
    for medium in MEDIA:
        part = runs.at("media", medium)
        works = part.workloads("set")
        for w in works:
            last = (w, medium) == ("vadd", "nand")
            rows.append([medium, w, part.ratio(w, "cxl", "dram"),
                         pair(2.4 if last else None, part.ratio(w, "sr", "dram")),
                         part.ratio(w, "ds", "dram"), part.ratio(w, "cxl", "sr"),
                         part.ratio(w, "sr", "ds")])
        rows.append([medium, "mean", "", "", "",
                     pair(CXL_GPU["sr_over_cxl_media"][medium], part.mean(works, "cxl", "sr")),
                     part.mean(works, "sr", "ds")])
    for w, theirs in (("path", 2.4), ("bfs", 1.2)):
        ours = geometric(runs.at("media", m).ratio(w, "cxl", "sr") for m in MEDIA)
        rows.append(["all", w, "", "", "", pair(theirs, ours), ""])
    return ([f"{runs.command} --show slowdown"],
            ["medium", "workload", "CXL / GPU DRAM, x", "SR / GPU DRAM, x", "DS / GPU DRAM, x",
             "SR over CXL, x", "DS over SR, x"], rows)


@aside("Sensitivity of 9b and 9c to the times of the flash", """
The paper does not give the times of its media. Here they are half and one and a half times those
in the data sheets, on Z-NAND. Workloads have a quarter of the size.""")
def media_percent(tool):
    percents = ("50", "100", "150")
    runs = tool.runs(f"{HARD} --sweep media-percent={','.join(percents)} --scale 0.25")
    rows = [[w] + [runs.at("media-percent", p).ratio(w, over, under)
                   for over, under in (("cxl", "sr"), ("sr", "ds")) for p in percents]
            for w in runs.workloads("set")]
    return ([f"{runs.command} --show slowdown"],
            ["workload"] + [f"{name}, {p} %" for name in ("SR over CXL, x", "DS over SR, x")
                            for p in percents], rows)


@section("CXL-GPU 9d: hit rates of the endpoint's DRAM", """
The size of that DRAM is fitted on the CXL column. With 8 cores of 8 threads in step, loads
seldom exceed the entries of the memory queue. So the naive speculative read, of the line of the
load itself, is issued together with the load, and its line is late. The paper may count some
late lines as hits; the rows "with late" count them all. In Rand the neighbours that the dynamic
length fetches are seldom used.""")
def hit_rates(tool):
    runs = tool.runs()
    configs = ("cxl", "naive", "dynamic", "sr")
    rows = []
    for pattern, theirs in CXL_GPU["hits"].items():
        rows.append([pattern] + [pair(theirs.get(c), runs.mean_hits(pattern, c))
                                 for c in configs])
        rows.append([f"{pattern}, with late"] + [runs.mean_hits(pattern, c, True)
                                                 for c in configs])
    return (["annex cxl simulate cxl-gpu --show hits",
             "annex cxl simulate cxl-gpu --show hits-late"],
            ["pattern", "CXL, %", "naive, %", "dynamic, %", "SR, %"], rows)


@section("CXL-GPU 9d: speeds", """
Naive speculation comes too late to help, for the reason above. The dynamic length fetches
neighbours of a load's line and has most of the gain; on Around, SR's choice of the window's
start adds little to it.""")
def hit_speeds(tool):
    runs = tool.runs()
    sets = dict(PATTERNS, all=sum(PATTERNS.values(), []))
    rows = [[f"{name}: {over} / {under}", pair(theirs, runs.mean(sets[name], over, under))]
            for name, over, under, theirs in CXL_GPU["speeds"]]
    return (["annex cxl simulate cxl-gpu --show slowdown"], ["time", "x"], rows)


@aside("Sensitivity of 9d to the endpoint's DRAM", """
The data has 8 MiB; the paper does not give the size of that DRAM. Hits in Rand are nearly
proportional to it. Seq and Around hardly change, because a line is used soon after it is
fetched. So only Rand can fit the size, and 128 KiB is the best of these.""")
def dram_size(tool):
    sizes = ("64K", "96K", "128K", "192K", "256K")
    works = " ".join(sum(PATTERNS.values(), []))
    runs = tool.runs(f"{works} --config cxl,sr --sweep ssd-dram={','.join(sizes)}")
    rows = [[size] + [runs.at("ssd-dram", size).mean_hits(pattern, c)
                      for pattern in PATTERNS for c in ("cxl", "sr")]
            for size in sizes]
    paper = [CXL_GPU["hits"][p].get(c) for p in PATTERNS for c in ("cxl", "sr")]
    return ([f"{runs.command} --show hits"],
            ["DRAM"] + [f"{p}, {c}, %" for p in PATTERNS for c in ("CXL", "SR")],
            [["paper"] + paper] + rows)


@aside("Sensitivity of 9d to the number of threads", """
Hits, and time relative to GPU DRAM. With 256 threads, 4 warps a core, and with 512, more loads
are in flight than the memory queue has entries, so speculation for loads in the SR queue comes
early enough: naive's hits in Rand exceed the paper's then. Its time hardly falls, because the
flash delivers no more pages than before. With so many threads, the DRAM of 128 KiB is too small
for larger speculative reads, and dynamic and SR lose most of their gain.""")
def threads_of_gpu(tool):
    values, configs = ["64", "256", "512"], ("cxl", "naive", "dynamic", "sr")
    works = " ".join(sum(PATTERNS.values(), []))
    sweep = tool.runs(f"{works} --config dram,{','.join(configs)} --sweep threads="
                      f"{','.join(values)} --scale 0.5")
    rows = []
    for pattern, members in PATTERNS.items():
        for value in values:
            runs = sweep.at("threads", value)
            rows.append([f"{pattern}, {value} threads"]
                        + [runs.mean_hits(pattern, c) for c in configs]
                        + [runs.mean(members, c, "dram") for c in configs])
    names = ("CXL", "naive", "dynamic", "SR")
    return ([f"{sweep.command} --show {show}" for show in ("hits", "slowdown")],
            [""] + [f"{n}, %" for n in names] + [f"{n}, x" for n in names], rows)


def latencies(numbers, *names):
    """In microseconds; none where there were no accesses."""
    return [None if numbers[name] is None else numbers[name] * 1e6 for name in names]


@section("CXL-GPU 9e: stores of bfs", """
In bfs a store waits for the endpoint's queue, which is full of stores that wait for flash. DS
answers a store from GPU memory, but it also waits when stores arrive faster than flash takes
them from the reserve. The paper has only a curve; the goal in `make bench-cxl` is a 99th
percentile that is 20 times as long with SR. An interval is the last one of a twelfth of a run.""")
def stores(tool):
    runs = tool.runs("bfs --config sr,ds")
    both = [runs.get("bfs", config) for config in ("sr", "ds")]
    rows = [[name, ""]
            + sum((latencies(run, f"load_{key}_s", f"store_{key}_s") for run in both), [])
            for name, key in (("99th percentile", "p99"), ("mean", "mean"))]
    series = [run.get("series") for run in both]
    for part in range(1, 13) if all(series) else ():
        ends = [intervals[part * len(intervals) // 12 - 1] for intervals in series]
        rows.append([f"interval {part}", ", ".join(number(end["until_s"] * 1e3) for end in ends)]
                    + sum((latencies(end, "load_mean_s", "store_mean_s") for end in ends), []))
    return ([f"{runs.command} --json"],
            ["", "until, ms: SR, DS", "SR load, us", "SR store, us", "DS load, us",
             "DS store, us"], rows)


@aside("Sensitivity of 9e to the memory reserved for stores", """
The paper does not say how much GPU memory is reserved. Here it is fitted on "up to 4 x for bfs",
DS over SR in 9c. bfs stores to nearly 2 MiB of its 8 MiB. With less memory the reserve fills,
and stores wait; with 2 MiB no store waits.""")
def reserve(tool):
    values = ["512K", "1M", "1664K", "2M", "4M"]
    sweep = tool.runs(f"bfs --config sr,ds --sweep reserve={','.join(values)}")
    sr = sweep.get("bfs", "sr")
    rows = []
    for value in values:
        ds = sweep.at("reserve", value).get("bfs", "ds")
        rows.append([value, ds["store_p99_s"] * 1e6, sr["store_p99_s"] / ds["store_p99_s"],
                     100 * (sr["time_s"] / ds["time_s"] - 1),
                     sr["flash_copies"] / ds["flash_copies"]])
    return ([f"{sweep.command} --json"],
            ["reserve", "DS, 99th percentile of stores, us", "SR / DS, x", "DS over SR, %",
             "pages copied by collections, SR / DS, x"], rows)


@section("SkyByte 14: speed over base", """
Computation for each access (`.work` in `tools/models/cxl/sky_*.c`) is fitted on the column of
DRAM only. Base's time is mostly write-backs: when a program begins, its DRAM is full of stored
pages of other data. (The artifact's base writes back each page that leaves its DRAM, stored to
or not, with the same effect.) A log's DRAM begins clean. A promoted page leaves the endpoint's
DRAM, so later pages fit there and P writes back fewer. radix and srad gain by that, while the
artifact's P hardly promotes their pages. In bc and dlrm the artifact's P and W gain more: its
programs return to pages that ours read once. bfs-dense gains more with W, because its base
writes back a page for each page that it fetches; the artifact's base has free DRAM and writes
back few.""")
def speed(tool):
    runs = tool.runs()
    rows = [[w] + [pair(theirs, runs.ratio(w, "base", c))
                   for c, theirs in zip(SKYBYTE_CONFIGS, row)]
            for w, row in SKYBYTE_SPEED.items()]
    rows.append(["geometric mean"] + [
        pair(float(f"{geometric(column):.3g}"), runs.mean(SKYBYTE_SPEED, "base", c))
        for c, column in zip(SKYBYTE_CONFIGS, zip(*SKYBYTE_SPEED.values()))])
    return (["annex cxl simulate skybyte --show speed"],
            ["workload", "P", "C", "W", "CP", "WP", "Full", "DRAM only"], rows)


@section("SkyByte 18: pages of flash that base writes for each of a variant", """
For variants with a log, the programs of a final flush count as well. The artifact does the same:
it runs a program twice, and counts the pages that the first run leaves in the log as written by
the second. Without the flush these variants program nothing except in srad, because so small a
footprint does not fill the log. A variant that writes no page counts as one page. bfs-dense
reaches few vertices, whose depths are in 22 pages, and its base writes back a page for each page
that it fetches; the artifact's base has free DRAM and writes back 5,227 pages in all.""")
def flash_writes(tool):
    runs = tool.runs()
    configs = SKYBYTE_CONFIGS[:-1]
    rows = []
    for w, theirs in SKYBYTE_WRITES.items():
        rows.append([w] + [pair(t, runs.writes_ratio(w, c, c in LOGS))
                           for c, t in zip(configs, theirs)])
        rows.append([f"{w}, without the flush at the end"]
                    + [runs.writes_ratio(w, c, False) for c in configs])
    return (["annex cxl simulate skybyte --show flash-writes"],
            ["workload", "P", "C", "W", "CP", "WP", "Full"], rows)


@section("SkyByte: threads", """
Time of Full relative to 8 threads. Threads beyond 8 run while others wait for flash. With 32 and
40 threads srad's time grows also on DRAM only, because the threads have unequal parts of the
image.""")
def threads(tool):
    counts = list(SKYBYTE_THREADS)
    runs = tool.runs(f"skybyte --config full --sweep threads={','.join(counts)}")
    return ([f"{runs.command} --show time"], ["workload"] + counts,
            sweep_rows(runs, "threads", counts, "8", "full", {"mean": SKYBYTE_THREADS}))


@section("SkyByte: threshold of a switch", """
Time of Full relative to 2 us. A threshold above the announced wait for a page is never reached,
so all higher thresholds give the same time. The artifact's srad announces longer waits than
ours.""")
def threshold(tool):
    values = ["2", "5", "10", "20", "40", "80"]
    theirs = {w: {"80": time} for w, time in SKYBYTE_THRESHOLD.items()}
    runs = tool.runs(f"skybyte --config full --sweep threshold={','.join(values)}")
    return ([f"{runs.command} --show time"], ["workload"] + [f"{v} us" for v in values],
            sweep_rows(runs, "threshold", values, "2", "full", theirs))


@section("SkyByte: size of the write log", """
Time of WP relative to 4 MiB, the artifact's 64 MiB. The log is a part of the endpoint's DRAM, so
a large log leaves less for cached pages. Programs with hot pages in host memory send few stores
to the log, so most rows are flat.""")
def log(tool):
    values = ["32K", "128K", "512K", "1M", "4M", "16M"]
    runs = tool.runs(f"skybyte --config wp --sweep log={','.join(values)}")
    return ([f"{runs.command} --show time"], ["workload"] + values,
            sweep_rows(runs, "log", values, "4M", "wp", SKYBYTE_LOG))


@section("SkyByte: media", """
Time of WP relative to ULL at 100 %. The artifact's value beside `nand` is its MLC. Percentages
are of the times of the medium.""")
def flash_media(tool):
    names, percents = ("ull", "slc", "nand"), ("50", "100", "150")
    runs = tool.runs(f"skybyte --config wp --sweep media={','.join(names)} "
                     f"--sweep media-percent={','.join(percents)}")
    works = runs.workloads("set")

    def of(w, name, part):
        run = runs.at("media", name).at("media-percent", part).get(w, "wp")
        first = runs.at("media", "ull").at("media-percent", "100").get(w, "wp")
        return run["time_s"] / first["time_s"]
    columns = [(name, part) for name in names for part in percents]
    rows = [[w] + [pair(SKYBYTE_MEDIA.get(w, {}).get(n) if p == "100" else None, of(w, n, p))
                   for n, p in columns] for w in works]
    rows.append(["geometric mean"] + [geometric(of(w, n, p) for w in works) for n, p in columns])
    return ([f"{runs.command} --show time"],
            ["workload"] + [f"{n} {p} %" for n, p in columns], rows)


@section("SkyByte: host memory", """
Time of Full relative to 256 MiB, the artifact's 4 GB. The artifact's smallest memory is 0.5 GB,
our column of 32 MiB. Hot pages of these programs have at most about 32 MiB, so only smaller host
memories change their times.""")
def host(tool):
    values = ["4M", "8M", "16M", "32M", "64M", "256M"]
    runs = tool.runs(f"skybyte --config full --sweep host={','.join(values)}")
    return ([f"{runs.command} --show time"], ["workload"] + values,
            sweep_rows(runs, "host", values, "256M", "full", SKYBYTE_HOST))


def line(cells):
    """A row of a table."""
    return f"| {' | '.join(cells)} |"


def wrap(text):
    """A paragraph."""
    return textwrap.fill(" ".join(text.split()), 120, break_on_hyphens=False,
                         break_long_words=False)


def write_page(path, top, sections, tool):
    """A page: the lines above, and a table for each section."""
    lines = [top.format(date=datetime.date.today())]
    for title, why, make in sections:
        print(title, flush=True)
        commands, head, rows = make(tool)
        lines += [f"## {title}", "", wrap(why), "", *(f"    {c}" for c in commands), "",
                  line(head), "|" + "---|" * len(head)]
        lines += [line([number(cell) for cell in row]) for row in rows] + [""]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines).rstrip() + "\n")


def write_pages(name, top, sections, asides, tool, out):
    """A page in docs/models, but not in the smoke form, and asides in the folder of figures."""
    write_page(os.path.join(sized(PAGES, place(out)), f"figures-{name}.md"), top, sections, tool)
    write_page(os.path.join(place(out), f"asides-{name}.md"),
               f"# Beside figures-{name}.md\n\nMade on {{date}}.\n", asides, tool)


def write_figures(tool, out):
    """The pages."""
    write_pages("cxl", TOP, SECTIONS, ASIDES, tool, out)
