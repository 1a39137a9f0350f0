# SPDX-License-Identifier: MIT
"""Train on several ranks: torchrun --nproc-per-node 2 ranks.py file:/data/annex.img?size=1G"""
import sys

import annex
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(7)
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 256))

with annex.offload(device_memory="8M", storage=sys.argv[1]):
    ranks = DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(ranks.parameters())
    torch.manual_seed(rank)
    for _ in range(5):
        x = torch.randn(512, 256)
        loss = torch.nn.functional.mse_loss(ranks(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"rank {rank}: {loss.item()!r}", flush=True)
    del ranks

dist.destroy_process_group()
