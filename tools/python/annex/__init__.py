# SPDX-License-Identifier: MIT
"""PyTorch training in less memory: what is not needed soon is on storage meanwhile, by libannex.

    with annex.offload(budget="512M", storage="file:/data/annex.img"):
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

from .library import Error
from .whole import offload

__all__ = ["Error", "offload"]
