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
Speeds are in virtual time: models of the endpoint, the link and the processor determine them, not
the machine. The page marks real times.

- **Designs**: `bytefs`, and `ext4-like` of the same library, which keeps the same metadata in
  blocks with a journal, and writes data in order before them. Neither is a kernel's file system.
- **Workloads**: filebench's personalities with the numbers of the artifact's files. As in
  filebench, files are used in rotation, and existing files were made in random order before the
  run. The last four run until they have done as many reads and writes as the artifact's; stat asks
  for each file a hundred times on average.
- **Scale**: numbers of files and rounds, the endpoint, its log, the host's cache and the write-back
  interval are 1/32 of the artifact's. Times, the number of channels, and the widths of directories
  except create's are not scaled. All runs of `make bench-fs` together take less than two minutes.
- **Threads** are virtual: the earliest one makes its next call. Each has a core to itself, and none
  waits for a lock.
- **The processor**: each kind of call takes a time from one table for both designs, measured from
  the library's calls for bytefs (`tests/models/bench/fs_cost.c`).
- **The kernel's caches**: the library sees all reads and writes. The number of a file's inode is
  known after its first lookup, as in the kernel's cache of names. Caches are empty before delete,
  rmdir and stat, as in the artifact.
- **Write-back**: every 5 s, scaled, `annex_fs_fsync()` writes back all files, for bytefs with one
  call for each file. The last write-back, at the end of a run, counts in its time.
- **Verification**: all bytes read are compared with the bytes written. After a run the file system
  is mounted again, and all of its files are compared.
- **Asides**: `build/bench/asides-bytefs.md` has bytes of each interface, real times of calls, and
  the effect of open choices on these figures.
"""


@section("The abstract's claims", """
Only the abstract of ByteFS (arXiv:2501.04993) is available to us. It says "up to", and names
neither workloads nor file systems. Our figures compare with the design `ext4-like` of the same
library.""")
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
    """The list of measurements of another program, if it has run."""
    path = os.path.join(os.path.dirname(bench.kept), name)
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return json.load(file)


@section("Blocks beside the kernel's ext4", """
Blocks of 4 KiB that the design ext4-like writes by `annex fs mount`, and blocks that the
kernel's ext4 writes to a loop device, for the same calls of one process, from a new mount to the
end of the unmount. The goal is a difference of at most 20 %.""")
def kernel(bench):
    return (["tests/models/bench/fs_kernel.py build"],
            ["workload", "ext4", "ext4-like", "ratio, x"],
            [[row["work"], row["ext4"], row["ext4_like"], row["ratio"]]
             for row in beside(bench, "fs_kernel.json")])


@section("A mount in real time", """
`annex fs mount` with `durable=host`, beside a directory of the same disk that a separate FUSE
file system passes through; medians of alternating rounds. A file that is created, written and
synced costs one sync of the disk on both sides: the create waits for none, and the transaction
that names the page proves that the page is there. New blocks of flash are cleared 64 KiB ahead,
because ext4 records the written parts of the file in its own journal. Both figures depend on the
disk, here a virtual machine's, and change from run to run. Annex copies 0.8 to 0.9 GB/s here, so
the ratio of reads misses its goal on days when the disk reads faster than 1.1 GB/s.""")
def real(bench):
    return (["tests/models/fs/real.sh build"], ["figure", "value", "at least"],
            [[row["figure"] + ", " + row["unit"], row["value"], row["target"] or ""]
             for row in beside(bench, "fs_real.json")])


@section("The model", """
The endpoint is the artifact's: 16 channels of one die, pages of 4 KiB, blocks of 128 pages, 32
GiB, a read 40 us, a program 60 us, an erase 2 ms, 20 us for a page on a channel, a log of 256
MiB. Its DRAM has 1 MiB beside the log. The write of a block completes when it is in the device's
buffer. As in the artifact, the link adds 1 us to a load, 0.5 us to each stored run of bytes, 1
us to a read command and 20 us to a write command. The host's cache has 4 GiB. The table has the
times of calls from which the processor's times were derived. An unlink puts the inode into the
list of orphans; one transaction frees 32 of them.""")
def model(bench):
    costs = bench.costs(BYTEFS)
    return (["build/bench/fs costs"], ["call", "real time now, us"],
            [[name, ns / 1000] for name, ns in costs.items()])


@section("Speed", """
Operations a second of virtual time: each step of a round is one operation, open and close
included. The time ends when all threads have ended and all data is written back. Flash programs
take most of the time in create, varmail and fileserver: 5 us a page with 16 dies. In create,
ext4-like programs as many pages for its journal as for data, although 12 threads share each
commit. In mkdir a new directory has a block, which ext4-like writes to the journal and to its
place. bytefs does not write it, as it is zero, so little more than the processor's time is left.
This ratio therefore compares flash with a model of a processor: with all calls on one core it is
a seventh ("cores"). rmdir reads these blocks to see that directories are empty; the blocks of
bytefs are not in flash. In delete, bytefs waits for reads of inodes, which wait for flash while
the log is cleaned: see "reads that interrupt programs". In webproxy and webserver nearly all
time goes to reads of flash, because the files exceed the host's cache and are used in rotation.
Double caching costs nothing here: the endpoint's DRAM has only the log, so pages in both caches
displace no others. Few lines are stored again before their page is cleaned, so in varmail a page
as a block costs less than lines, which are read, merged and programmed later.""")
def speed(bench):
    rows = [[w] + [bench.run(w, d).speed() for d in DESIGNS]
            + [bench.faster(w), bench.run(w, BYTEFS, "twice=1").speed(), bench.coordinated(w)]
            for w in WORKLOADS]
    rows.append(["geometric mean", "", "", mean(bench.faster), "", mean(bench.coordinated)])
    return (["build/bench/fs WORKLOAD design=bytefs|ext4-like twice=0|1"],
            ["workload", "bytefs, op/s", "ext4-like, op/s", "bytefs over ext4-like, x",
             "bytefs, cached twice, op/s", "coordinated over twice, x"], rows)


@section("Flash writes", """
Pages of 4 KiB that flash programmed, garbage collection included, from a flush of the endpoint
before the run to a flush after it. A workload without flash programs counts as 1. Write
amplification is the ratio of bytes that flash programmed to bytes that the workload wrote. The
flush moves all of bytefs' log to flash. Blocks in ext4-like's journal are written to their
places later, so they count only in the columns "until unmounted", together with the journal's
content from before the run.""")
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
bytefs over ext4-like, when a call of `annex_fs_fsync()` writes all files of bytefs back, and not
a call for each (`each=0`): the model of the flash serves requests in the order of calls, so
requests of other threads during that call are served after it.""")
def each(bench):
    return sweep(bench, "each", (1, 0), ("one a call", "all"))


@aside("Sensitivity: interval of the write back", """
The interval scales with the counts and sizes; here it does not, so that hardly a run lasts so
long, and its end writes all back.""")
def flush(bench):
    return sweep(bench, "flush", (5000, 160000), ("5 s / 32", "5 s"))


@aside("Sensitivity: ALPHA", """
Percent of a page's lines; when more are dirty, the page is written as a block. Speed and flash
writes of bytefs over those with 50. With 100 all data go through the log, which is cleaned to
flash by as many programs, and no call waits for a write command.""")
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
