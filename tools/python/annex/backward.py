# SPDX-License-Identifier: MIT
"""An optimizer that steps in backward, one parameter at a time."""
import functools
import threading
from typing import Any, List, Tuple

import torch


class Steps:
    """The hooks of an optimizer, until remove()."""

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self.optimizer = optimizer
        self.lock = threading.Lock()  # backward has a thread for each device
        self.hooks: "List[Tuple[Any, Any]]" = []
        for i, group in enumerate(optimizer.param_groups):
            for p in group["params"]:
                if p.requires_grad and p.is_leaf:
                    self.follow(p, i)

    def follow(self, p: torch.Tensor, i: int) -> None:
        # The tensor refers only weakly to the node that accumulates its gradient.
        with torch.enable_grad():
            node = p.expand_as(p).grad_fn.next_functions[0][0]
        self.hooks.append((node, node.register_hook(functools.partial(self.step, p, i))))

    def step(self, p: torch.Tensor, i: int, *_: Any) -> None:
        """The gradient of @p, of group @i, is whole. load_state_dict() replaces the groups."""
        if p.grad is None:
            return
        with self.lock:
            groups = self.optimizer.param_groups
            self.optimizer.param_groups = [{**groups[i], "params": [p]}]
            try:
                type(self.optimizer).step(self.optimizer)
            finally:
                self.optimizer.param_groups = groups
        p.grad = None

    def remove(self) -> None:
        """From now on, only the program's calls of step() update parameters."""
        for _, hook in self.hooks:
            hook.remove()
        self.hooks.clear()


def step_in_backward(optimizer: torch.optim.Optimizer) -> Steps:
    """Update each parameter in backward once its gradient is complete, and free the gradient.

    Gradients then take memory one at a time, and transfers of parameters and optimizer state are
    spread over backward. The program stays as it is: its optimizer.step() finds no gradients and
    updates nothing. Results are the same, bit for bit, for optimizers that update each parameter by
    itself, which all of torch.optim but LBFGS do.

    Not for programs that use gradients after backward (clipping, GradScaler, logging), sum the
    gradients of several calls of backward, or average them among processes.

    Keep the result, and call its remove() to update parameters in step() again. The learning rate
    may change between iterations. Parameters that are added to the optimizer later are updated in
    step().
    """
    if isinstance(optimizer, torch.optim.LBFGS):
        raise ValueError("step_in_backward: LBFGS needs all gradients at once")
    return Steps(optimizer)
