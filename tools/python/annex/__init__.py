# SPDX-License-Identifier: MIT
"""PyTorch training in less memory: libannex moves tensors to storage until they are needed.

    with annex.offload("512M", "file:/data/annex.img"):
        for x, target in batches:
            optimizer.zero_grad()
            loss(model(x), target).backward()
            optimizer.step()
"""
try:
    import torch  # noqa: F401
except ImportError as missing:
    raise ImportError(f"annex needs PyTorch 1.13 or later ({missing}): "
                      "apt-get install python3-torch") from None

from .block import offload
from .library import Error

__all__ = ["Error", "offload"]
