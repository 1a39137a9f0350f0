# SPDX-License-Identifier: MIT
"""The state of PyTorch's own optimizers, in regions.

Each has a function of its module's name that takes lists: parameters, gradients, and state that
belongs to them. It is replaced by one that calls it for a few parameters at a time, while the state
of the next ones comes. Each parameter is worked on by itself, so the numbers are the same. The
state's tensors stay the objects that they are; only their memory is another.
"""
import contextlib
import errno
import importlib
import weakref

import torch

from .library import Error
from .memory import STATE
from .saved import SMALLEST
from .view import storage_of, tensor_over

NAMES = ("adadelta", "adagrad", "adam", "adamax", "adamw", "asgd", "nadam", "radam", "rmsprop",
         "rprop", "sgd")


def is_large(value):
    return (type(value) is torch.Tensor and value.device.type == "cpu" and
            value.layout == torch.strided and not value.requires_grad and
            value.numel() * value.element_size() >= SMALLEST)


def is_alone(tensor):
    """Whether it is all of its memory, which others might share."""
    return storage_of(tensor).nbytes() == tensor.numel() * tensor.element_size()


class Torch:
    """What the optimizers' modules call torch, while their state is made in regions."""

    def __init__(self, zeros_like):
        self.zeros_like = zeros_like

    def __getattr__(self, name):
        return getattr(torch, name)


class Lost(torch.Tensor):
    """State in a child that was forked, which has no copy of it: each use is an error."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        raise Error(errno.ECHILD, "offload: state of an optimizer is with the parent of a process "
                    "that was forked inside of the block: use it there, or fork outside")


def lose(memory):
    """In a child, which has nothing at the addresses of regions: name that, before it is touched.
    """
    for region in memory.regions.values():
        tensor = region.tensor and region.tensor()
        if tensor is not None and tensor.data_ptr() == region.address:
            tensor.data = tensor.new_empty(0)
            tensor.__class__ = Lost


class Stepper:
    """Optimizers while offload is on."""

    def __init__(self, memory):
        self.memory = memory

    def region_of(self, tensor):
        region = self.memory.regions.get(tensor.data_ptr()) if is_large(tensor) else None
        return region if region and region.tensor and region.tensor() is tensor else None

    def new(self, like):
        """Zeroes like a parameter, in a region; they take no memory until they are written."""
        size = like.numel() * like.element_size()
        name = f"state {str(like.dtype)[6:]}{list(like.shape)}"
        lease = self.memory.allocate(size, name, STATE)
        shape = torch.empty_like(like, device="meta")
        flat = tensor_over(lease.region, like.dtype, lease)
        tensor = like.new_empty(0)
        tensor.data = flat.as_strided(shape.size(), shape.stride())  # and is nobody's view
        return lease, tensor

    def adopt(self, tensor):
        """Move a tensor of state, whose owner does not notice."""
        lease, new = self.new(tensor)
        with self.memory.pinned([lease.region]):
            new.copy_(tensor)
        lease.region.tensor = weakref.ref(tensor)
        tensor.data = new

    def zeros_like(self, like, **options):
        """What the state of optimizers begins as."""
        plain = like.detach()
        if (not self.memory.is_here() or not is_large(plain) or
                options.get("dtype", plain.dtype) != plain.dtype):
            return torch.zeros_like(like, **options)
        lease, new = self.new(plain)
        lease.region.tensor = weakref.ref(new)
        return new

    def parts(self, lists):
        """Ranges of parameters whose state is at most a quarter of the budget, or that of one."""
        first = size = 0
        for i, row in enumerate(zip(*lists)):
            more = sum(t.numel() * t.element_size() for t in row if is_large(t))
            if size and size + more > self.memory.limit // 4:
                yield first, i
                first, size = i, 0
            size += more
        yield first, len(lists[0])

    def regions(self, state, part):
        found = (self.region_of(t) for values in state for t in values[slice(*part)]
                 if isinstance(t, torch.Tensor))
        return [region for region in found if region]

    def adopt_all(self, state, part):
        for values in state:
            for tensor in values[slice(*part)]:
                if is_large(tensor) and not self.region_of(tensor) and is_alone(tensor):
                    self.adopt(tensor)

    def step(self, function, params, grads, *rest, **named):
        """What the optimizer's function does, for a few parameters at a time."""
        count = len(params)
        state = [v for v in (*rest, *named.values()) if isinstance(v, list) and len(v) == count]
        if (not self.memory.is_here() or not state or
                not all(p.device.type == "cpu" for p in params)):
            return function(params, grads, *rest, **named)
        parts = list(self.parts(state))
        kept = 0
        for i, part in enumerate(parts):
            self.adopt_all(state, part)
            with self.memory.pinned(self.regions(state, part)):
                if i + 1 < len(parts):
                    self.memory.prefetch_state(self.regions(state, parts[i + 1]))
                self.step_part(function, part, params, grads, rest, named)
            self.adopt_all(state, part)
            # The first parts are wanted first in the next step, so the others leave.
            used = self.regions(state, part)
            kept += sum(region.room for region in used)
            if kept > self.memory.limit // 2:
                self.memory.send_state(used)
        return None

    @staticmethod
    def step_part(function, part, params, grads, rest, named):
        def cut(value):
            return value[slice(*part)] if isinstance(value, list) and len(value) == len(params) \
                else value

        cuts = [cut(value) for value in rest]
        function(cut(params), cut(grads), *cuts, **{k: cut(v) for k, v in named.items()})
        # SGD puts its first momenta into the list.
        for value, short in zip(rest, cuts):
            if short is not value:
                value[slice(*part)] = short

    def replacement(self, function):
        def step(params, grads, *rest, **named):
            return self.step(function, params, grads, *rest, **named)

        return step

    @contextlib.contextmanager
    def active(self):
        """While it lasts, all optimizers that there are."""
        with contextlib.ExitStack() as stack:
            for name in NAMES:
                # The package's attribute of that name is gone, or is the function.
                module = importlib.import_module(f"torch.optim.{name}")
                function = getattr(module, name)
                setattr(module, name, self.replacement(function))
                stack.callback(setattr, module, name, function)
                module.torch = Torch(self.zeros_like)
                stack.callback(setattr, module, "torch", torch)
            yield

    def give_back(self):
        """State that lives on returns to ordinary memory.

        What is lost is left empty; what cannot be had now, for want of time or memory, stays in
        its region, and keeps the space.
        """
        failed = None
        for region in self.memory.states():
            tensor = region.tensor() if region.tensor else None
            if tensor is None or self.region_of(tensor) is not region:
                continue
            try:
                with self.memory.pinned([region]):
                    copy = tensor.clone()
            except Error as error:
                failed = error
                if error.errno not in (errno.EIO, errno.EILSEQ):
                    continue
                copy = tensor.new_empty(0)
            tensor.data = copy
        if failed:
            raise failed
