# SPDX-License-Identifier: MIT
"""Arrays on storage as NumPy arrays and tensors, and PyTorch training in less memory, by libannex.

    a = annex.open("features.npy", cache="512M")    # rows are read when they are used
    rows = a[index]                                 # a NumPy array
    batch = a.torch(index)                          # a tensor

    with annex.offload("512M", "file:/data/annex.img"):
        ...                                         # an ordinary training loop

annex.open() needs NumPy. annex.Dataset, annex.offload, annex.load() and annex.step_in_backward()
also need PyTorch, and annex.pyg needs PyTorch Geometric. Each is imported when it is first used.
"""
import importlib
from typing import TYPE_CHECKING, Any

from .library import Error
from .stats import Stats

if TYPE_CHECKING:
    from . import pyg
    from .array import Array, open
    from .backward import step_in_backward
    from .block import offload
    from .dataset import Ahead, Dataset
    from .weights import load

__all__ = ["Ahead", "Array", "Dataset", "Error", "Stats", "load", "offload", "open",
           "pyg", "step_in_backward"]

HOMES = {"Ahead": "dataset", "Array": "array", "Dataset": "dataset", "load": "weights",
         "offload": "block", "open": "array", "pyg": "pyg", "step_in_backward": "backward"}
# Of modules: a package that they import, its name, and how it is installed.
NEEDS = {"array": ("numpy", "NumPy", "apt-get install python3-numpy"),
         "backward": ("torch", "PyTorch 1.13 or later", "apt-get install python3-torch"),
         "block": ("torch", "PyTorch 1.13 or later", "apt-get install python3-torch"),
         "dataset": ("torch", "PyTorch 1.13 or later", "apt-get install python3-torch"),
         "weights": ("torch", "PyTorch 1.13 or later", "apt-get install python3-torch"),
         "pyg": ("torch_geometric", "PyTorch Geometric", "pip install torch_geometric")}


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'annex' has no attribute '{name}'")
    home = HOMES[name]
    if home in NEEDS:
        module, words, command = NEEDS[home]
        try:
            importlib.import_module(module)
        except ImportError as missing:
            raise ImportError(f"annex.{name} needs {words} ({missing}): {command}") \
                from None
    found = importlib.import_module("." + home, __name__)
    globals()[name] = value = found if home == name else getattr(found, name)
    return value


def __dir__() -> "list[str]":
    return sorted(__all__)
