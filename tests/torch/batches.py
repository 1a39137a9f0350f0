# SPDX-License-Identifier: MIT
"""Tensors of stored arrays, annex.Dataset and annex.pyg: batches.py DIRECTORY-OF-annex.

Claims about annex.pyg need torch_geometric, and are left out without it. ANNEX_LIBRARY says which
library. ALL=1: workers that are spawned, too.
"""
import os
import pickle
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.abspath(sys.argv[1]), HERE]
import numpy as np  # noqa: E402
import torch  # noqa: E402
import annex  # noqa: E402
from claims import ALL, alike, claim, summary  # noqa: E402

ROWS, COLUMNS = 1000, 7


def raises(words, kind, pattern, call):
    try:
        call()
        claim(f"{words}: {kind.__name__}", False)
    except kind as error:
        claim(f"{words}: {error}", pattern in str(error) and "\n" not in str(error))


def saved(folder, array, name="features.npy"):
    path = os.path.join(folder, name)
    np.save(path, array)
    return path


def features():
    return np.random.default_rng(3).random((ROWS, COLUMNS), dtype="f4")


def check_tensors(folder):
    rows = features()
    plain = torch.from_numpy(rows)
    with annex.open(saved(folder, rows)) as a:
        for index in (0, -1, slice(3, 50), slice(None, None, -3), [5, 1, 5], torch.arange(9, 2, -1),
                      torch.randint(-ROWS, ROWS, (4, 5)), rows[:, 0] > 0.5,
                      plain[:, 1] > 0.5, torch.tensor(7), torch.zeros(0, dtype=torch.int64)):
            key = np.asarray(index) if not isinstance(index, (int, slice)) else index
            claim(f"torch({index!r:.60})", alike([a.torch(index)], [torch.from_numpy(
                np.ascontiguousarray(rows[key]))]))
        out = torch.empty(3, COLUMNS)
        place = out.data_ptr()
        claim("out=", a.torch([1, 2, -1], out=out) is out and out.data_ptr() == place and
              torch.equal(out, plain[[1, 2, -1]]))
        for bad in (torch.empty(2, COLUMNS), torch.empty(3, COLUMNS, dtype=torch.float64),
                    torch.empty(COLUMNS, 3).T, torch.empty(3, COLUMNS, device="meta"),
                    np.empty((3, COLUMNS), "f4")):
            raises("out= that does not fit", ValueError, "out must be",
                   lambda bad=bad: a.torch([1, 2, 3], out=bad))
        weight = torch.ones(COLUMNS, requires_grad=True)
        loss = (a.torch([0, 1, 2], out=out) * weight).sum()
        a.torch([3, 4, 5], out=out)
        raises("autograd notices that saved rows changed", RuntimeError, "modified",
               lambda: first_line(loss.backward))
    for dtype in ("u1", "i2", "i8", "f2", "f8", "c8", "?"):
        array = (np.arange(50) % 2).astype(dtype)
        with annex.open(saved(folder, array)) as a:
            claim(f"elements of {dtype}", alike([a.torch([3, 4, -1])],
                                                [torch.from_numpy(array)[[3, 4, -1]]]))
    for dtype in (">f4", "M8[s]", "S3"):
        with annex.open(saved(folder, np.zeros(5, dtype))) as a:
            raises(f"elements of {dtype}", TypeError, "no type", lambda a=a: a.torch(0))


def first_line(call):
    try:
        call()
    except RuntimeError as error:
        raise RuntimeError(str(error).splitlines()[0]) from None


def check_dataset(folder):
    rows, labels = features(), torch.arange(ROWS) % 5
    plain = torch.from_numpy(rows)
    path = saved(folder, rows)
    data = annex.Dataset(path, labels, cache="64K")
    claim("a sample", len(data) == ROWS and alike(data[5], (plain[5], labels[5])))
    claim("samples", alike(data[[1, 7]], (plain[[1, 7]], labels[[1, 7]])))
    claim("samples of a batch", all(alike(a, b) for a, b in zip(
        data.__getitems__([3, 1]), ((plain[3], labels[3]), (plain[1], labels[1])))))
    claim("rows alone", torch.equal(annex.Dataset(path)[2:4], plain[2:4]))
    raises("labels of other rows", ValueError, "999 labels",
           lambda: annex.Dataset(path, labels[:-1]))
    raises("options of an opened array", TypeError, "cache",
           lambda: annex.Dataset(data.array, cache="1M"))
    for workers, method in ((0, None), (2, "fork"), *[(2, "spawn")] * ALL):
        words = f"{workers} workers by {method}"
        options = {"num_workers": workers, "multiprocessing_context": method}
        found = list(data.loader(64, **options))
        claim(f"batches, {words}", len(found) == 16 and
              torch.equal(torch.cat([x for x, _ in found]), plain) and
              torch.equal(torch.cat([y for _, y in found]), labels))
        found = list(torch.utils.data.DataLoader(data, batch_size=64, **options))
        claim(f"a DataLoader of one's own, {words}", len(found) == 16 and
              torch.equal(torch.cat([x for x, _ in found]), plain) and
              torch.equal(torch.cat([y for _, y in found]), labels))
    order = [torch.cat([y for _, y in data.loader(
        100, shuffle=True, generator=torch.Generator().manual_seed(seed))]) for seed in (1, 1, 2)]
    claim("shuffled", torch.equal(order[0], order[1]) and not torch.equal(order[0], order[2]) and
          sorted(order[2].tolist()) == sorted(labels.tolist()))
    claim("batches of the same size", len(list(data.loader(300, drop_last=True))) == 3)
    loader = data.loader(1, sampler=[1, 500, 900, 250])
    claim("a sampler of one's own", isinstance(loader.sampler, annex.Ahead) and
          torch.equal(torch.cat([x for x, _ in loader]), plain[[1, 500, 900, 250]]))
    copied = pickle.loads(pickle.dumps(data))
    claim("pickle", alike(copied[5], data[5]))


class Recorder:
    """An array's part in reading ahead."""

    def __init__(self):
        self.seen = []

    def prefetch(self, batch):
        self.seen.append(batch)


def check_ahead():
    """Batches are read ahead of their use."""
    batches, recorder = [[1], [5, 6], [9], [2]], Recorder()
    ahead = annex.Ahead(batches, recorder, 2)
    taken = iter(ahead)
    claim("the first one", next(taken) == [1] and recorder.seen == batches[:3])
    claim("the next one", next(taken) == [5, 6] and recorder.seen == batches)
    claim("the others", list(taken) == batches[2:] and len(recorder.seen) == 4 and
          len(ahead) == 4)
    claim("more than there are", list(annex.Ahead(batches, recorder, 9)) == batches)
    claim("none ahead", list(annex.Ahead(batches, recorder, 0)) == batches)


def graph(nodes):
    import torch_geometric.data
    index = torch.stack([torch.arange(nodes), (torch.arange(nodes) + 1) % nodes])
    return torch_geometric.data.Data(edge_index=index, num_nodes=nodes)


def check_pyg(folder):
    from torch_geometric.data import TensorAttr
    from torch_geometric.loader import NodeLoader
    from torch_geometric.sampler import BaseSampler, SamplerOutput
    rows = features()
    plain = torch.from_numpy(rows)
    store = annex.pyg.FeatureStore({"x": saved(folder, rows)}, cache="64K")
    labels = torch.arange(ROWS)
    store.put_tensor(labels, group_name=None, attr_name="y", index=None)
    index = torch.tensor([5, 3, 5, 999])
    get = store.get_tensor
    claim("rows of a store", torch.equal(get(None, "x", index), plain[index]) and
          torch.equal(get(None, "y", index), labels[index]))
    claim("other indices", torch.equal(get(None, "x", None), plain) and
          torch.equal(get(None, "x", slice(2, 9)), plain[2:9]))
    claim("sizes", store.get_tensor_size(None, "x") == (ROWS, COLUMNS) and len(store) == 2 and
          [attr.attr_name for attr in store.get_all_tensor_attrs()] == ["x", "y"])
    store.put_tensor(torch.tensor([-1]), group_name=None, attr_name="y", index=torch.tensor([7]))
    claim("an update", int(get(None, "y", 7)) == -1)
    claim("attributes that are not there", store.get_tensor(None, "z", None) is None and
          not store.put_tensor(labels, group_name=None, attr_name="z", index=index) and
          store.remove_tensor(None, "y", None) and not store.remove_tensor(None, "y", None))
    with annex.open(saved(folder, rows, "w.npy"), mode="r+") as a:
        groups = annex.pyg.FeatureStore({("paper", "x"): a})
        groups[TensorAttr("paper", "x", index=torch.tensor([1, 2]))] = torch.zeros(2, COLUMNS)
        claim("a group, and writing", torch.equal(groups["paper", "x", None][:4], torch.cat(
            [plain[:1], torch.zeros(2, COLUMNS), plain[3:4]])))

    class Sampler(BaseSampler):
        """A node, and the next one."""

        def sample_from_nodes(self, inputs, **_):
            node = torch.cat([inputs.node, (inputs.node + 1) % ROWS])
            place = torch.arange(len(inputs.node))
            return SamplerOutput(node, place + len(place), place, None,
                                 metadata=(inputs.input_id, inputs.time))

        def sample_from_edges(self, *_, **__):
            raise NotImplementedError

    for workers in (0, 2):
        loader = NodeLoader((store, graph(ROWS)), node_sampler=Sampler(), batch_size=100,
                            input_nodes=torch.arange(ROWS), num_workers=workers)
        found = list(loader)
        claim(f"a NodeLoader, {workers} workers", len(found) == 10 and all(
            torch.equal(some.x, plain[torch.cat([torch.arange(100), torch.arange(1, 101)])
                                      .add(100 * i) % ROWS]) for i, some in enumerate(found)))


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        check_tensors(folder)
        check_dataset(folder)
        check_ahead()
        try:
            import torch_geometric  # noqa: F401
        except ImportError:
            raises("annex.pyg without PyTorch Geometric", ImportError, "PyTorch Geometric",
                   lambda: annex.pyg)
        else:
            check_pyg(folder)
    return summary()


if __name__ == "__main__":
    sys.exit(main())
