# SPDX-License-Identifier: MIT
"""annex.pyg.FeatureStore: features of PyTorch Geometric that stay on storage."""
from typing import Any, Dict, List, Mapping, Optional, Tuple

import numpy as np
import torch
import torch_geometric.data
from torch_geometric.data import TensorAttr

from .array import Array
from .array import open as open_array

Key = Tuple[Any, Any]  # group and name of an attribute; a graph of one type has the group None


class FeatureStore(torch_geometric.data.FeatureStore):  # type: ignore[misc]
    """Attributes of nodes: arrays on storage, and tensors in memory.

        store = annex.pyg.FeatureStore({"x": "features.npy"}, cache="512M")
        store.put_tensor(labels, group_name=None, attr_name="y", index=None)
        loader = NodeLoader((store, graph), node_sampler=sampler, input_nodes=train_nodes)

    @attributes: by name, or by (group, name) in a graph of several types, an annex.Array, or a
    path or URI to open with the @options of annex.open(). get_tensor() reads the rows that its
    index names into a tensor, by one gather. The store takes part in a loader with workers, which
    open its arrays again (mode="r").
    """

    def __init__(self, attributes: "Optional[Mapping[Any, Any]]" = None, **options: Any) -> None:
        super().__init__()
        self._attributes: Dict[Key, Any] = {}
        for name, value in (attributes or {}).items():
            key = name if isinstance(name, tuple) else (None, name)
            self._attributes[key] = value if isinstance(value, (Array, torch.Tensor)) else \
                open_array(value, **options)

    @staticmethod
    def _key(attr: TensorAttr) -> Key:
        return attr.group_name, attr.attr_name

    def _put_tensor(self, tensor: Any, attr: TensorAttr) -> bool:
        kept = self._attributes.get(self._key(attr))
        if attr.index is None:
            self._attributes[self._key(attr)] = torch.as_tensor(tensor)
        elif kept is None:
            return False
        elif isinstance(kept, Array):
            kept[attr.index] = np.asarray(tensor)
        else:
            kept[attr.index] = torch.as_tensor(tensor)
        return True

    def _get_tensor(self, attr: TensorAttr) -> "Optional[torch.Tensor]":
        kept = self._attributes.get(self._key(attr))
        if kept is None:
            return None
        index = slice(None) if attr.index is None else attr.index
        return kept.torch(index) if isinstance(kept, Array) else kept[index]

    def _remove_tensor(self, attr: TensorAttr) -> bool:
        return self._attributes.pop(self._key(attr), None) is not None

    def _get_tensor_size(self, attr: TensorAttr) -> "Optional[Tuple[int, ...]]":
        kept = self._attributes.get(self._key(attr))
        return None if kept is None else tuple(kept.shape)

    def get_all_tensor_attrs(self) -> "List[TensorAttr]":
        """All attributes."""
        return [TensorAttr(group_name=group, attr_name=name) for group, name in self._attributes]

    def __len__(self) -> int:
        return len(self._attributes)
