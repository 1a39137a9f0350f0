#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""annex.offload(device_memory=...) under a container's filter: contained.py DIRECTORY-OF-annex.

There is no userfaultfd, no /dev/userfaultfd and no io_uring. A model is trained by plain PyTorch
and in a block; NumPy, Python's lists and another thread read its tensors. All numbers are compared.
"""
import faulthandler
import os
import subprocess
import sys
import threading

import torch

from claims import claim, summary


def train(it=None):
    torch.manual_seed(1)
    model = torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(6)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    data = torch.utils.data.TensorDataset(torch.randn(2048, 512), torch.randn(2048, 512))
    faulthandler.enable()  # its handler of SIGSEGV comes after Annex's
    for x, y in 2 * list(torch.utils.data.DataLoader(data, batch_size=512)):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        told = [loss.item(), float(model[0].weight.detach().numpy().sum())]
        told.append(sum(model[5].weight[0].tolist()))
        thread = threading.Thread(
            target=lambda: told.extend(p.sum().item() for p in model.parameters()))
        thread.start()
        thread.join()
        print(*(value.hex() for value in told))
        if it:
            it.step()


def train_in_block():
    import annex  # pylint: disable=import-outside-toplevel
    with annex.offload(device_memory="8M", storage="mem:256M") as it:
        train(it)
        stats = it.stats()
    assert stats["clean"] > 0 and stats["faults"] > 0, stats


def run(how):
    filters = os.path.join(os.path.dirname(__file__), "..", "tool", "refuse.py")
    command = [sys.executable, filters, "EPERM", "userfaultfd", "device", "io_uring", "--",
               sys.executable, __file__, sys.argv[1], how]
    return subprocess.run(command, env=dict(os.environ, PYTHONPATH=sys.argv[1]),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


def main():
    plain, block = run("plain"), run("block")
    told = [line for line in block.stderr.splitlines() if "Warning" in line]
    claim(f"a block ends well: {block.stderr}", not block.returncode)
    claim("all numbers are plain PyTorch's", plain.stdout and plain.stdout == block.stdout)
    claim(f"one line says why it is slower: {told}",
          len(told) == 1 and "--security-opt seccomp=unconfined" in told[0])
    return summary()


if __name__ == "__main__":
    if sys.argv[2:] == ["plain"]:
        train()
    elif sys.argv[2:] == ["block"]:
        train_in_block()
    else:
        sys.exit(main())
