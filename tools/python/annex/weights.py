# SPDX-License-Identifier: MIT
"""annex.load(model, "model.safetensors"): weights are read into the memory of a model's tensors."""
from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import typing

import torch

from .block import begun, storage_of
from .compiled import READ, WRITE
from .library import Error
from .native import Block
from .safetensors import PIECE, Entry, File, files_of, shown, wrong

StrPath = typing.Union[str, "os.PathLike[str]"]


class Keys(typing.NamedTuple):
    """Names that are only in the model, and names that are only in the files."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class Slot:
    """A tensor of a model, with its names and the places that hold it. Tied weights are one."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor
        self.names: list[str] = []
        self.places: list[tuple[dict[str, typing.Any], str]] = []

    def materialize(self, device: typing.Any) -> torch.Tensor:
        """The tensor, with memory on @device if it was on the device "meta"."""
        old = self.tensor
        if old.device.type != "meta":
            return old
        new = torch.empty_like(old, device=device, requires_grad=False)
        if isinstance(old, torch.nn.Parameter):
            new = torch.nn.Parameter(new, requires_grad=old.requires_grad)
        new.__dict__.update(old.__dict__)
        for place, key in self.places:
            place[key] = new
        self.tensor = new
        return new


def identity(tensor: torch.Tensor) -> typing.Any:
    """Tensors of the same memory have the same one."""
    if tensor.device.type == "meta" or tensor.layout != torch.strided or not tensor.numel():
        return id(tensor)
    return (tensor.device, tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride())


def slots_of(model: torch.nn.Module) -> tuple[list[Slot], list[str]]:
    """The tensors of a state_dict(), and the buffers of "meta" that are in none."""
    found: dict[typing.Any, Slot] = {}
    lacking = []
    for prefix, module in model.named_modules(remove_duplicate=False):
        for place in (module._parameters, module._buffers):
            for key, tensor in place.items():
                name = f"{prefix}.{key}" if prefix else key
                if tensor is None:
                    continue
                if place is module._buffers and key in module._non_persistent_buffers_set:
                    lacking += [name] if tensor.device.type == "meta" else []
                    continue
                slot = found.setdefault(identity(tensor), Slot(tensor))
                slot.names.append(name)
                slot.places.append((place, key))
    return list(found.values()), lacking


def current() -> Block | None:
    """The block that is on."""
    return next((it.block for it in list(begun) if it.planner and it.pid == os.getpid()), None)


def memory_of(tensor: torch.Tensor) -> memoryview:
    size = tensor.numel() * tensor.element_size()
    return memoryview((ctypes.c_char * size).from_address(tensor.data_ptr()))


def read_at_once(file: File, entry: Entry, tensor: torch.Tensor, what: str) -> None:
    """Read into the tensor's memory. A block holds it there meanwhile."""
    block = current()
    whole = storage_of(tensor).nbytes() == entry.bytes
    uses = [(tensor, WRITE if whole else READ | WRITE)]
    with block.graph(f"load {entry.name}", uses) if block else contextlib.nullcontext():
        file.read_into(memory_of(tensor), entry.start, what)


def read_in_pieces(file: File, entry: Entry, tensor: torch.Tensor, what: str) -> None:
    """Read into memory beside, and copy: to another type, device or order of elements."""
    dtype = getattr(torch, entry.dtype)
    target = tensor.view(-1) if tensor.is_contiguous() else tensor
    row = entry.bytes // target.shape[0]
    count = max(PIECE // row, 1)
    memory = bytearray(min(count, target.shape[0]) * row)
    for first in range(0, target.shape[0], count):
        part = target[first:first + count]
        view = memoryview(memory)[:part.shape[0] * row]
        file.read_into(view, entry.start + first * row, what)
        part.copy_(torch.frombuffer(view, dtype=torch.uint8).view(dtype).view(part.shape))


def read(file: File, entry: Entry, tensor: torch.Tensor) -> None:
    what = f"tensor {shown(entry.name)}"
    same = tensor.dtype == getattr(torch, entry.dtype)
    if not entry.bytes:
        return
    if tensor.device.type == "cpu" and same and tensor.is_contiguous():
        try:
            read_at_once(file, entry, tensor, what)
            tensor.view(-1)[:0].zero_()  # tells autograd of a change
            return
        except Error as error:
            # In a container, a system call cannot touch a tensor that its block does not hold,
            # because it exceeds device memory.
            if error.errno != errno.EFAULT:
                raise
    read_in_pieces(file, entry, tensor, what)


def listed(names: list[str]) -> str:
    words = ", ".join(map(shown, names[:10]))
    return words + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def matched(files: list[File], slots: list[Slot], lacking: list[str]
            ) -> tuple[list[tuple[File, Entry, Slot]], Keys]:
    """Which tensor of a file belongs to which of the model, in the files' order."""
    owner = {name: slot for slot in slots for name in slot.names}
    seen: dict[str, str] = {}
    taken: set[int] = set()
    found, unexpected = [], []
    for file in files:
        for entry in file.entries:
            if entry.name in seen:
                raise wrong(file.path, f"tensor {shown(entry.name)} is in {seen[entry.name]}, too")
            seen[entry.name] = file.path
            slot = owner.get(entry.name)
            if slot is None:
                unexpected.append(entry.name)
                continue
            if list(slot.tensor.shape) != entry.shape or slot.tensor.layout != torch.strided:
                raise wrong(file.path, f"tensor {shown(entry.name)} has the shape {entry.shape}, "
                            f"and {list(slot.tensor.shape)} in the model")
            if not hasattr(torch, entry.dtype):
                raise Error(errno.EOPNOTSUPP, f"load: {file.path}: tensor {shown(entry.name)} is "
                            f"of {entry.dtype}, which PyTorch {torch.__version__} lacks")
            if id(slot) not in taken:
                taken.add(id(slot))
                found.append((file, entry, slot))
    missing = [name for slot in slots if id(slot) not in taken for name in slot.names]
    return found, Keys(missing + lacking, unexpected)


def load(model: torch.nn.Module, path: StrPath | typing.Iterable[StrPath], *, strict: bool = True,
         device: str | torch.device = "cpu") -> Keys:
    """Read the weights of files of safetensors into the tensors of a model.

    In a block of annex.offload() the tensors are in its space, so a model larger than memory loads:

        with torch.device("meta"):
            model = Model()
        with annex.offload("8G", "file:/data/annex.img"):
            annex.load(model, "weights/")

    Each tensor is read from its file into its memory, one after the other, and tied weights once.
    A tensor of another type is converted piece by piece. A tensor on the device "meta" gets memory
    on @device when it is read.

    @path: a file, several, an index ("model.safetensors.index.json"), or a folder.
    @strict: names that only the model has, or only the files have, are an error, before anything
        is read. Otherwise they are returned, and tensors of the model without a file are as before.
    """
    paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    with contextlib.ExitStack() as stack, torch.no_grad():
        files = []
        for name in [name for path in paths for name in files_of(os.fspath(path))]:
            files.append(File(name))
            stack.callback(files[-1].close)
        found, keys = matched(files, *slots_of(model))
        if strict and (keys.missing_keys or keys.unexpected_keys):
            words = [f"{len(names)} {how}: {listed(names)}" for names, how in (
                (keys.missing_keys, "missing keys"), (keys.unexpected_keys, "unexpected keys"))
                     if names]
            raise Error(errno.EINVAL, f"load: {os.fspath(paths[0]) if paths else 'no files'}: " +
                        ", ".join(words))
        for file, entry, slot in found:
            read(file, entry, slot.materialize(device).detach())
    return keys
