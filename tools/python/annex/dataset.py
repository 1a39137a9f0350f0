# SPDX-License-Identifier: MIT
"""annex.Dataset: batches for PyTorch's DataLoader, each by one gather."""
import collections
import os
from typing import Any, Deque, Iterable, Iterator, List, Optional, Sequence, Sized, Union

import torch
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, SequentialSampler

from .array import Array, Index
from .array import open as open_array


class Ahead:
    """Batches of a batch sampler. Rows of an array are read @batches before their batch is used.

        loader = DataLoader(data, batch_sampler=annex.Ahead(sampler, data.array))

    It is of use in the process that also reads the rows (num_workers=0): workers have caches of
    their own, and read as many batches ahead as prefetch_factor says.
    """

    def __init__(self, sampler: "Iterable[List[int]]", array: Array, batches: int = 2) -> None:
        self.sampler, self.array, self.batches = sampler, array, batches

    def __iter__(self) -> "Iterator[List[int]]":
        waiting: "Deque[List[int]]" = collections.deque()
        for batch in self.sampler:
            self.array.prefetch(batch)
            waiting.append(batch)
            if len(waiting) > self.batches:
                yield waiting.popleft()
        yield from waiting

    def __len__(self) -> int:
        assert isinstance(self.sampler, Sized)
        return len(self.sampler)


class Dataset(torch.utils.data.Dataset):  # type: ignore[type-arg]
    """Rows of an array on storage, and their labels, for a DataLoader.

        data = annex.Dataset("features.npy", labels=labels, cache="512M")
        for x, y in data.loader(batch_size=1024, shuffle=True):
            ...

    @array: an annex.Array that is opened with mode="r", or the path or URI of one, with the
    options of annex.open(). @labels: a tensor or an array with a label for each row.

    data[i], data[i:j] and data[indices] are tensors of rows, or pairs of rows and labels.
    loader() makes a DataLoader with one gather for each batch. A DataLoader of one's own calls
    __getitems__() (PyTorch 2), which also gathers once, and then copies the rows into its batch.
    A worker opens the array again, with a cache of its own. Workers that open a unix: URI share
    one daemon (annex serve).
    """

    def __init__(self, array: "Union[Array, str, os.PathLike[str], Sequence[Any]]",
                 labels: Any = None, **options: Any) -> None:
        self.array = array if isinstance(array, Array) else open_array(array, **options)
        if isinstance(array, Array) and options:
            raise TypeError(f"an opened array takes no options: {', '.join(options)}")
        self.labels = None if labels is None else torch.as_tensor(labels)
        if self.labels is not None and len(self.labels) != len(self.array):
            raise ValueError(f"{len(self.array)} rows, and {len(self.labels)} labels")

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, index: Index) -> Any:
        rows = self.array.torch(index)
        return rows if self.labels is None else (rows, self.labels[index])

    def __getitems__(self, indices: "List[int]") -> "List[Any]":
        """Samples of a batch, by one gather."""
        found = self[indices]
        return list(found) if self.labels is None else list(zip(*found))

    def loader(self, batch_size: int = 1024, shuffle: bool = False, drop_last: bool = False,
               ahead: int = 2, sampler: "Optional[Iterable[int]]" = None, generator: Any = None,
               **options: Any) -> "DataLoader[Any]":
        """A DataLoader of whole batches, with up to @ahead batches being read in advance.

        Batches are tensors, or pairs of tensors: no row is copied after its gather. @sampler: of
        indices, as DataLoader has it. @options: others of DataLoader. With num_workers each
        worker has @ahead batches in advance, and its own cache.
        """
        if sampler is None:
            sampler = RandomSampler(self, generator=generator) if shuffle else \
                SequentialSampler(self)
        batches: Any = BatchSampler(sampler, batch_size, drop_last)
        if options.get("num_workers"):
            options.setdefault("prefetch_factor", max(1, ahead))
        else:
            batches = Ahead(batches, self.array, ahead)
        return DataLoader(self, batch_size=None, sampler=batches, generator=generator, **options)
