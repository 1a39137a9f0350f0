# SPDX-License-Identifier: MIT
"""docs/models/figures-bytefs.md: both designs of the file system, and what moves their figures."""
import json
import os
from cxl_figures import keep_in, number, write_pages
from cxl_runs import arithmetic
from fs_runs import BYTEFS, CLASSES, CLOSED, DESIGNS, HALVES, WAYS, WORKLOADS, mean

SECTIONS = []
ASIDES = []
section, aside = keep_in(SECTIONS), keep_in(ASIDES)
TOP = """# ByteFS's figures

Made by `make figures-bytefs` on {date}. `make bench-fs` compares the figures that have goals.
Speeds are of virtual time: models of the endpoint, the link and the processor give them, not the
machine. Real times are marked as such.

- **Designs**: `bytefs`, and `ext4-like` of the same library, which keeps the same metadata by
  blocks in a journal and data in order before them. Neither is a kernel's file system.
- **Workloads**: filebench's personalities with the numbers of the artifact's files. As in
  filebench, files are taken in rotation, and those that exist before a run were made in an order
  of chance. The last four run until so many reads and writes were done as in the artifact; stat
  asks for each file a hundred times on average.
- **Scale**: counts of files and of rounds, the endpoint, its log, the host's cache and the interval
  of the write back are a 32nd of the artifact's. Times are not, nor is the number of channels; nor
  are the widths of directories, but create's. All runs of `make bench-fs` take less than two
  minutes then.
- **Threads** are virtual: the one that is earliest makes its next call. Each has a core to itself,
  and nobody waits for a lock.
- **The processor**: each kind of call takes a time of one table for both designs, which is that of
  the library's calls for bytefs (`tests/models/bench/fs_cost.c`).
- **The kernel's caches**: the library sees all reads and writes. The number of a file's inode is
  known once it was looked up, as by the kernel's cache of names. Caches are empty before delete,
  rmdir and stat, as in the artifact.
- **Write back**: every 5 s, scaled, all that was written is written back: by `annex_fs_fsync()` of
  all files, for bytefs by one call for each file. At the end of a run it is, too, within its time.
- **Bytes** of all reads are compared with those that were written. After a run the file system is
  mounted anew, and all of its files are.
- **Asides**: bytes of each interface, real times of calls, and the choices that move these figures
  are in `build/bench/asides-bytefs.md`.
"""


@section("The abstract's claims", """
ByteFS (arXiv:2501.04993) is known to us by its abstract: "up to" over workloads that it does not
name, against file systems that it does not name here. Ours is against the design `ext4-like` of
the same library.""")
def claims(bench):
    return (["make bench-fs"], ["claim", "paper", "ours"], [
        ["faster, largest, x", 2.7, max(bench.faster(w) for w in WORKLOADS)],
        ["faster, largest without mkdir, x", "", max(bench.faster(w) for w in WORKLOADS
                                                     if w != "mkdir")],
        ["faster, geometric mean of nine, x", "", mean(bench.faster)],
        ["faster, geometric mean without mkdir, x", "", mean(bench.faster, without="mkdir")],
        ["fewer flash writes, largest, x", 5.1, max(bench.fewer(w) for w in WORKLOADS)],
        ["fewer flash writes, largest without mkdir, x", "", max(bench.fewer(w) for w in WORKLOADS
                                                                 if w != "mkdir")],
        ["fewer flash writes, geometric mean of nine, x", "", mean(bench.fewer)],
        ["fewer flash writes, geometric mean without mkdir, x", "",
         mean(bench.fewer, without="mkdir")],
        ["coordinated cache on over off, mean of nine, x", "",
         arithmetic(bench.coordinated(w) for w in WORKLOADS)],
        ["the same, off with half of the endpoint's DRAM for pages, x", "",
         arithmetic(bench.coordinated(w, HALVES) for w in WORKLOADS)],
    ])


def beside(bench, name):
    """What another program measured, if it has run: its list."""
    path = os.path.join(os.path.dirname(bench.kept), name)
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return json.load(file)


@section("Blocks beside the kernel's ext4", """
Blocks of 4 KiB that the design ext4-like writes by `annex fs mount`, and those that the kernel's
ext4 writes to a loop device, for the same calls of one process: from a new mount to the end of the
unmount. They are to be within 20 %.""")
def kernel(bench):
    return (["tests/models/bench/fs_kernel.py build"],
            ["workload", "ext4", "ext4-like", "ratio, x"],
            [[row["work"], row["ext4"], row["ext4_like"], row["ratio"]]
             for row in beside(bench, "fs_kernel.json")])


@section("A mount in real time", """
`annex fs mount` with `durable=host`, beside a directory of the same disk that a FUSE file system of
its own passes through; medians of rounds in turns. A file that is created, written and synced costs
one sync of the disk on both sides: the create waits for none, and the transaction that names the
page has a proof of it. New blocks of flash are cleared 64 KiB ahead, since ext4 notes in its own
journal which parts of the file have been written.
Both figures depend on the disk, of a virtual machine here, and change from run to run.""")
def real(bench):
    return (["tests/models/fs/real.sh build"], ["figure", "value", "at least"],
            [[row["figure"] + ", " + row["unit"], row["value"], row["target"] or ""]
             for row in beside(bench, "fs_real.json")])


@section("The model", """
The endpoint is the artifact's: 16 channels of one die, pages of 4 KiB, blocks of 128 pages, 32
GiB, a read 40 us, a program 60 us, an erase 2 ms, 20 us for a page on a channel, a log of 256
MiB. Its DRAM has 1 MiB beside the log. A block that is written is answered for when the device's
buffer has it. The link adds 1 us to a load, 0.5 us to each run of bytes that is stored, 1 us to a
read command, 20 us to a write command, as the artifact has it. The host's cache has 4 GiB. Below
are the times of calls that the table of the processor's time was made of. An unlink puts the inode
into the list of orphans; 32 of them are freed in one transaction.""")
def model(bench):
    costs = bench.costs(BYTEFS)
    return (["build/bench/fs costs"], ["call", "real time now, us"],
            [[name, ns / 1000] for name, ns in costs.items()])


@section("Speed", """
Operations a second of virtual time: each step of a round is one, open and close too. The time ends
when all threads have ended and all was written back. Programs of flash take most of create, varmail
and fileserver: 5 us a page with 16 dies. In create, ext4-like programs as many pages for its
journal as for data, although 12 threads share each commit. In mkdir a new directory has a block,
which ext4-like writes to the journal and to its place; bytefs need not write it, as it is zero, and
little more than the processor's time is left. So this quotient is one of flash and of a processor's
model: with all calls on one core it is a seventh of that ("cores"). rmdir reads these blocks, to
see that directories are empty; bytefs' are not in flash. In delete, bytefs waits for reads of
inodes, which wait for flash while the log is cleaned: see "reads that interrupt programs". In
webproxy and webserver nearly all time goes to reads of flash, as the fileset is larger than the
host's cache and files come in rotation. Caching twice costs
nothing here: the endpoint's DRAM has the log only, so pages that both cache take no room from
others. Few lines are stored again before their page is cleaned, so in varmail a page as a block
costs less than lines, which are read, merged and programmed later.""")
def speed(bench):
    rows = [[w] + [bench.run(w, d).speed() for d in DESIGNS]
            + [bench.faster(w), bench.run(w, BYTEFS, "twice=1").speed(), bench.coordinated(w)]
            for w in WORKLOADS]
    rows.append(["geometric mean", "", "", mean(bench.faster), "", mean(bench.coordinated)])
    return (["build/bench/fs WORKLOAD design=bytefs|ext4-like twice=0|1"],
            ["workload", "bytefs, op/s", "ext4-like, op/s", "bytefs over ext4-like, x",
             "bytefs, cached twice, op/s", "coordinated over twice, x"], rows)


@section("Flash writes", """
Pages of 4 KiB that flash programmed, those of garbage collection too, from a flush of the endpoint
before the run to one behind it. A workload for which flash programs nothing counts as 1. Write
amplification is bytes that flash programmed over bytes that the workload wrote. The flush has flash
hold all of bytefs' log; what ext4-like's journal has for its places is written there later, and
counts in the columns "until unmounted" only. (There, it counts what the journal had before the
run, too.)""")
def writes(bench):
    rows = [[w] + [bench.run(w, d).pages() for d in DESIGNS] + [bench.fewer(w)]
            + [bench.run(w, d).amplification() for d in DESIGNS]
            + [bench.run(w, d).pages(CLOSED) for d in DESIGNS] + [bench.fewer(w, until=CLOSED)]
            for w in WORKLOADS]
    rows.append(["geometric mean", "", "", mean(bench.fewer), "", "", "", "",
                 mean(bench.fewer, until=CLOSED)])
    return (["build/bench/fs WORKLOAD design=bytefs|ext4-like"],
            ["workload", "bytefs, pages", "ext4-like, pages", "ext4-like over bytefs, x",
             "bytefs, amplification", "ext4-like, amplification",
             "bytefs until unmounted, pages", "ext4-like until unmounted, pages",
             "ext4-like over bytefs until unmounted, x"], rows)


def traffic_rows(bench, way):
    """A row for each workload and design."""
    return [[f"{w}, {d}"] + [" / ".join(number(bench.run(w, d).traffic(way, kind, how))
                                        for how in WAYS) for kind in CLASSES]
            for w in WORKLOADS for d in DESIGNS]


@aside("Bytes written to the endpoint", """
MiB by bytes, and MiB by blocks, of each class.""")
def written(bench):
    return (["build/bench/fs WORKLOAD design=bytefs|ext4-like"], ["", *CLASSES],
            traffic_rows(bench, "written"))


@aside("Bytes read from the endpoint", "The same.")
def read(bench):
    return (["build/bench/fs WORKLOAD design=bytefs|ext4-like"], ["", *CLASSES],
            traffic_rows(bench, "read"))


@aside("Real time of an operation", """
Microseconds of the processor that the library takes for an operation of the workload, without
FUSE, with what emulates the endpoint and memory that is used for the first time; the machine is
shared, so these vary.""")
def real(bench):
    return (["build/bench/fs WORKLOAD design=bytefs|ext4-like"],
            ["workload", *(f"{d}, us" for d in DESIGNS)],
            [[w] + [bench.run(w, d).real() for d in DESIGNS] for w in WORKLOADS])


def sweep(bench, option, values, names):
    """Ratios of both designs for each value of an option."""
    options = [f"{option}={v}" for v in values]
    rows = [[w] + [of(w, o) for of in (bench.faster, bench.fewer) for o in options]
            for w in WORKLOADS]
    rows.append(["geometric mean"] + [mean(of, o) for of in (bench.faster, bench.fewer)
                                      for o in options])
    return ([f"build/bench/fs WORKLOAD design=bytefs|ext4-like {option}="
             f"{'|'.join(map(str, values))}"],
            ["workload"] + [f"{what}, {n}" for what in ("faster, x", "fewer flash writes, x")
                            for n in names], rows)


@aside("Sensitivity: size of the log", """
bytefs over ext4-like, with a log of a quarter to twice of the artifact's.""")
def log(bench):
    return sweep(bench, "log", (25, 50, 100, 200), ("1/4", "1/2", "1", "2"))


@aside("Sensitivity: times of flash", """
All times of flash and of its channels, a quarter to four times of the artifact's.""")
def media(bench):
    return sweep(bench, "media", (25, 100, 400), ("1/4", "1", "4"))


@aside("Sensitivity: answers without a write buffer", """
A block that is written is answered for when flash has it (`buffered=0`).""")
def buffered(bench):
    return sweep(bench, "buffered", (1, 0), ("buffered", "not"))


@aside("Sensitivity: reads that interrupt programs", """
bytefs over ext4-like, when a program makes way for a read within 1 us, as Z-NAND's does; the
artifact's flash has no such thing. A log that is cleaned programs many pages at once, and an
ext4-like commit too; without this, reads wait for all of them.""")
def suspend(bench):
    return sweep(bench, "suspend", (0, 1000), ("no", "yes"))


@aside("Sensitivity: cores", """
bytefs over ext4-like, when threads share cores. The library has one lock, so that its calls take
turns on one core; the kernel's file systems have locks of directories and of files.""")
def cores(bench):
    return sweep(bench, "cores", (0, 1), ("one a thread", "1"))


@aside("Sensitivity: a write back in one call", """
bytefs over ext4-like, when a call of `annex_fs_fsync()` writes all files of bytefs back, and not a
call for each (`each=0`): the model of the flash serves requests in the order of calls, so those of
other threads that come during that call are served behind it.""")
def each(bench):
    return sweep(bench, "each", (1, 0), ("one a call", "all"))


@aside("Sensitivity: interval of the write back", """
The interval scales with the counts and sizes; here it does not, so that hardly a run lasts so
long, and its end writes all back.""")
def flush(bench):
    return sweep(bench, "flush", (5000, 160000), ("5 s / 32", "5 s"))


@aside("Sensitivity: ALPHA", """
Percent of a page's lines; when more are dirty, the page is written as a block. Speed and flash
writes of bytefs over those with 50. With 100 all data go through the log, which is cleaned to flash
by as many programs, and no call waits for a write command.""")
def alpha(bench):
    values = (1, 25, 50, 75, 100)

    def at(w, v):
        return bench.run(w, BYTEFS, f"alpha={v}")
    rows = [[w] + [at(w, v).speed() / at(w, 50).speed() for v in values]
            + [max(at(w, v).pages(), 1) / max(at(w, 50).pages(), 1) for v in values]
            for w in WORKLOADS]
    return (["build/bench/fs WORKLOAD alpha=1|25|50|75|100"],
            ["workload"] + [f"{what}, {v}" for what in ("speed, x", "flash writes, x")
                            for v in values], rows)


def write_figures(bench, out):
    """The pages."""
    write_pages("bytefs", TOP, SECTIONS, ASIDES, bench, out)
