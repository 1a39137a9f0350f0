#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A graph network on features that stay on storage, with PyTorch Geometric.

  neighbours.py features.npy --make               write the features of the graph's nodes: 1 GB
  neighbours.py features.npy                      train, and read the rows of each batch from there
  neighbours.py features.npy --in-memory          train with all features in memory

Both trainings print the same losses, bit for bit. The first one also runs where the features have
no room (as root):

  systemd-run --scope -p MemoryMax=600M -p MemorySwapMax=0 python3 neighbours.py features.npy

The graph is random, with few nodes that most edges lead to, and a batch needs the features of some
neighbours of its nodes and of theirs, as GraphSAGE samples them.
"""
import argparse
import time

import numpy as np
import torch
from torch_geometric.data import Data
from torch_geometric.loader import NodeLoader
from torch_geometric.nn import SAGEConv
from torch_geometric.sampler import BaseSampler, SamplerOutput

import annex

FEATURES, CLASSES, DEGREE = 256, 8, 8
FANOUT = 10, 5  # neighbours of a node, and of each neighbour
PIECE = 1 << 16  # rows that are made at a time


def make_labels(nodes):
    return torch.from_numpy(np.random.default_rng(1).integers(CLASSES, size=nodes))


def make_features(path, nodes):
    """Noise, and a little of each node's class."""
    labels = make_labels(nodes).numpy()
    numbers = np.random.default_rng(2)
    rows = np.lib.format.open_memmap(path, "w+", "f4", (nodes, FEATURES))
    for start in range(0, nodes, PIECE):
        some = numbers.standard_normal((min(PIECE, nodes - start), FEATURES), dtype="f4")
        some[np.arange(len(some)), labels[start:start + len(some)]] += 2
        rows[start:start + len(some)] = some
    rows.flush()


class Neighbours(BaseSampler):
    """Of each node, @FANOUT random neighbours. Node i has the neighbours table[i]."""

    def __init__(self, nodes):
        numbers = np.random.default_rng(3)
        table = numbers.random((nodes, DEGREE), dtype="f4") ** 3 * nodes
        self.table = torch.from_numpy(np.minimum(table.astype(np.int32), nodes - 1))

    def sample_from_nodes(self, inputs, **_):
        layer, edges = inputs.node, []
        for fanout in FANOUT:
            chosen = torch.randint(DEGREE, (len(layer), fanout))
            found = self.table[layer].gather(1, chosen).long()
            edges.append(torch.stack([found.flatten(), layer.repeat_interleave(fanout)]))
            layer = found.unique()
        # Numbers within the batch: its own nodes come first.
        ends = torch.cat(edges, 1)
        others = ends.unique()
        others = others[~torch.isin(others, inputs.node)]
        node = torch.cat([inputs.node, others])
        order = node.argsort()
        row, column = order[torch.searchsorted(node[order], ends)]
        return SamplerOutput(node, row, column, None, metadata=(inputs.input_id, inputs.time))

    def sample_from_edges(self, *_, **__):
        raise NotImplementedError("this example trains on nodes")


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = SAGEConv(FEATURES, 64), SAGEConv(64, CLASSES)

    def forward(self, x, edges):
        return self.second(self.first(x, edges).relu(), edges)


def train(store, nodes, batch, batches):
    torch.manual_seed(4)
    graph = Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=nodes)
    loader = NodeLoader((store, graph), node_sampler=Neighbours(nodes), batch_size=batch,
                        input_nodes=torch.randperm(nodes)[:batch * batches])
    network = Network()
    optimizer = torch.optim.Adam(network.parameters())
    start = time.monotonic()
    for number, some in enumerate(loader):
        optimizer.zero_grad()
        found = network(some.x, some.edge_index)[:batch]
        loss = torch.nn.functional.cross_entropy(found, some.y[:batch])
        loss.backward()
        optimizer.step()
        print(f"batch {number}: {len(some.x)} nodes, loss {loss.item().hex()}", flush=True)
    return time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("features", help="a .npy file")
    parser.add_argument("--make", action="store_true", help="write that file")
    parser.add_argument("--in-memory", action="store_true", help="read all of it at first")
    parser.add_argument("--cache", default="128M", help="memory for features (128M)")
    parser.add_argument("--nodes", type=int, default=1000000, help="of the graph (1000000)")
    parser.add_argument("--batch", type=int, default=512, help="nodes of a batch (512)")
    parser.add_argument("--batches", type=int, default=50, help="of the training (50)")
    args = parser.parse_args()
    if args.make:
        make_features(args.features, args.nodes)
        return
    x = torch.from_numpy(np.load(args.features)) if args.in_memory else args.features
    store = annex.pyg.FeatureStore({"x": x, "y": make_labels(args.nodes)}, cache=args.cache)
    seconds = train(store, args.nodes, args.batch, args.batches)
    print(f"{seconds / args.batches:.3f} s for each batch")


if __name__ == "__main__":
    main()
