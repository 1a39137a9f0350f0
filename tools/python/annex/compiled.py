# SPDX-License-Identifier: MIT
"""Graphs of torch.compile(): Inductor's code touches tensors without operators of PyTorch.

So each call of a graph is one operator, which uses the graph's inputs and constants, and makes its
buffers and results. A graph that does not fit comes by page faults. A compiled step of an optimizer
has no record that tells of it: it is a graph that writes parameters which have a gradient.
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


def is_step(graph, inputs):
    """Whether a graph is an optimizer's step."""
    written = [inputs[i] for i in graph.mutated_input_idxs]
    return any(isinstance(t, torch.Tensor) and t.requires_grad and t.is_leaf and
               t.grad is not None for t in written)


@contextlib.contextmanager
def recorded(block):
    """While it lasts, graphs are operators of a block."""
    graphs = graph_class()
    if not graphs:
        yield
        return
    call = graphs.__call__

    def run(graph, inputs):
        step = is_step(graph, inputs)  # the call takes its inputs away
        with block.graph(f"graph {graph.cache_key[:8]}", uses_of(graph, inputs)) as made:
            results = call(graph, inputs)
            made.extend(result for result in results if isinstance(result, torch.Tensor))
        if step:
            block.step(graph=True)
        return results

    graphs.__call__ = run
    try:
        yield
    finally:
        graphs.__call__ = call
