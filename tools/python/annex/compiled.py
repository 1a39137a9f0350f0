# SPDX-License-Identifier: MIT
"""Graphs of torch.compile(): Inductor's code touches tensors without operators of PyTorch.

So each call of a graph is one operator, which uses the graph's inputs and constants, and makes its
buffers and results. A graph that does not fit comes by page faults.
"""
import contextlib

import torch

READ, WRITE = 1, 2  # ANNEX_USE_*


def graph_class():
    """Inductor's (PyTorch 2.6 and later), or None. Optimizers import most of it anyway."""
    try:
        from torch._inductor.output_code import CompiledFxGraph
    except ImportError:
        return None
    return CompiledFxGraph


def uses_of(graph, inputs):
    found = [(tensor, READ | WRITE if i in graph.mutated_input_idxs else READ)
             for i, tensor in enumerate(inputs) if isinstance(tensor, torch.Tensor)]
    return found + [(tensor, READ) for tensor in (graph.constants or {}).values()]


@contextlib.contextmanager
def recorded(block):
    """While it lasts, graphs are operators of a block."""
    graphs = graph_class()
    if not graphs:
        yield
        return
    call = graphs.__call__

    def run(graph, inputs):
        with block.graph(f"graph {graph.cache_key[:8]}", uses_of(graph, inputs)):
            return call(graph, inputs)

    graphs.__call__ = run
    try:
        yield
    finally:
        graphs.__call__ = call
