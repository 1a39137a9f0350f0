# SPDX-License-Identifier: MIT
"""Batches of rows in one way, in this process: rows_run.py JOB, a JSON object; prints another.

  way      annex; numpy: a memory map; pyg: PyTorch Geometric's own store, on a memory map;
           pyg-annex: annex.pyg.FeatureStore
  path     a .npy file, of which element E is E * FACTOR; indices: a file of batches
  batch    rows of a batch; warm: batches that are not timed; most: seconds for these, and for the
           others
  random   madvise(MADV_RANDOM) for the map; sorted: indices in order
  cache    bytes, and line: for annex; threads: of PyTorch; group: a cgroup to join, or ""
"""
import json
import mmap
import os
import sys
import time

sys.path.insert(1, os.path.join(os.path.dirname(__file__), "../../tools/python"))
import numpy as np  # noqa: E402

FACTOR = 2654435761


def join(group):
    """From now on, the memory of this process counts against the group's limit."""
    if group:
        with open(os.path.join(group, "cgroup.procs"), "w", encoding="ascii") as file:
            file.write("0")


def expected(index, columns):
    first = index.astype(np.uint64)[:, None] * np.uint64(columns)
    return ((first + np.arange(columns, dtype=np.uint64)) * np.uint64(FACTOR)).astype("<u4")


def mapped(job):
    rows = np.load(job["path"], mmap_mode="c")
    if job.get("random"):
        rows._mmap.madvise(mmap.MADV_RANDOM)
    return rows


def way_annex(job):
    import annex
    return annex.open(job["path"], cache=job["cache"], line=job["line"]).__getitem__


def way_numpy(job):
    return mapped(job).__getitem__


def gather_of(store, torch, **group):
    return lambda index: store.get_tensor(attr_name="x", index=torch.from_numpy(index),
                                          **group).numpy()


def way_pyg(job):
    import torch
    import torch_geometric.data
    torch.set_num_threads(job["threads"])
    return gather_of(torch_geometric.data.Data(x=torch.from_numpy(mapped(job))), torch)


def way_pyg_annex(job):
    import torch
    import annex
    store = annex.pyg.FeatureStore({"x": job["path"]}, cache=job["cache"], line=job["line"])
    return gather_of(store, torch, group_name=None)


WAYS = {"annex": way_annex, "numpy": way_numpy, "pyg": way_pyg, "pyg-annex": way_pyg_annex}


def prepare(job):
    """Import everything first: memory of programs is not that of data."""
    if job["way"].startswith("pyg"):
        import torch_geometric.data  # noqa: F401
    if "annex" in job["way"]:
        import annex
        _ = annex.pyg if job["way"].startswith("pyg") else annex.open
    batches = np.fromfile(job["indices"], np.int64).reshape(-1, job["batch"])
    return np.sort(batches, axis=1) if job.get("sorted") else batches


def run(gather, batches, most):
    """Seconds of each batch. Slow ways do not take all of them."""
    taken = []
    for index in batches:
        start = time.perf_counter()
        rows = gather(index)
        taken.append(time.perf_counter() - start)
        if not np.array_equal(rows.view("<u4"), expected(index, rows.shape[1])):
            sys.exit("rows_run: a row is wrong")
        if sum(taken) > most:
            break
    return taken


def main():
    job = json.loads(sys.argv[1])
    batches = prepare(job)
    join(job["group"])
    gather = WAYS[job["way"]](job)
    run(gather, batches[:job["warm"]], job["most"])
    json.dump({"seconds": run(gather, batches[job["warm"]:], job["most"])}, sys.stdout)


if __name__ == "__main__":
    main()
