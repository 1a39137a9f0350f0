# SPDX-License-Identifier: MIT
"""docs/examples/neighbours.py on features that exceed memory: neighbours.py DIRECTORY FOLDER.

DIRECTORY has the package annex, FOLDER is on a disk with 1 GB. It needs torch_geometric, and root
for a memory cgroup.
"""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../bench")]
from claims import claim, summary  # noqa: E402
from torch_runs import limit, memory_group  # noqa: E402

EXAMPLE = os.path.join(HERE, "../../docs/examples/neighbours.py")
MEMORY = 700 << 20  # of which PyTorch takes half
SIZES = "--nodes", "1000000", "--batches", "12", "--batch", "256"


def run(path, *words, group=None):
    """Status and lines of the example, in a cgroup or in none."""
    join = f"echo $$ >'{group}/cgroup.procs' || exit 1; " if group else ""
    done = subprocess.run(["sh", "-c", join + 'exec "$@"', "sh", sys.executable, EXAMPLE, path,
                           *SIZES, *words], stdout=subprocess.PIPE, check=False, text=True,
                          env=dict(os.environ, PYTHONPATH=os.path.abspath(sys.argv[1]),
                                   OMP_NUM_THREADS="2"))
    return done.returncode, [line for line in done.stdout.splitlines() if "loss" in line]


def main():
    group = f"{memory_group()}/annex-neighbours-{os.getpid()}"
    os.mkdir(group)
    try:
        limit(group, MEMORY)
        with tempfile.TemporaryDirectory(dir=sys.argv[2]) as folder:
            path = os.path.join(folder, "features.npy")
            claim("features are made", run(path, "--make")[0] == 0 and
                  os.path.getsize(path) > MEMORY + MEMORY // 4)
            status, plain = run(path, "--in-memory")
            claim("a training in memory", status == 0 and len(plain) == 12)
            status, losses = run(path, "--cache", "64M", group=group)
            claim(f"the same losses in less memory: {status}, {losses[-1:]}, {plain[-1:]}",
                  status == 0 and losses == plain)
            status, _ = run(path, "--in-memory", group=group)
            claim(f"which all features do not fit: {status}", status != 0)
    finally:
        os.rmdir(group)
    return summary()


if __name__ == "__main__":
    sys.exit(main())
