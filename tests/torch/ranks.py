# SPDX-License-Identifier: MIT
"""Several ranks in annex.offload(): ranks.py DIRECTORY-OF-annex. ANNEX_LIBRARY says which library.

Ranks are started as torchrun does it, whose version 1.13 does not run on Python 3.11.
"""
import contextlib
import errno
import os
import re
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, sys.argv[1])
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import annex  # noqa: E402
import claims  # noqa: E402
from claims import alike, claim, summary  # noqa: E402
from models import mlp, numbers  # noqa: E402

try:  # PyTorch 2.6 and later
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
except ImportError:
    fully_shard = None

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLE = os.path.join(HERE, "..", "..", "docs", "examples", "ranks.py")
GUIDE = os.path.join(HERE, "..", "..", "docs", "guide.md")
MIB = 1 << 20
NOBODY = 65534
PLAIN = """import contextlib
def offload(**options):
    return contextlib.nullcontext()
"""


# In a rank


def become_nobody():
    """An ordinary user's system calls fail on absent bytes."""
    if os.getuid() == 0:
        os.setresuid(NOBODY, NOBODY, NOBODY)


def replicated(model):
    return torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=1)


def sharded(model):
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for layer in model:
        if list(layer.parameters()):
            fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def local(tensors):
    """Of sharded ones, this rank's part."""
    return [t.to_local() if hasattr(t, "to_local") else t for t in tensors]


def train(make, among, around):
    torch.manual_seed(7)
    model, x, target = make()
    x = x + dist.get_rank()
    losses = []
    with around as it:
        ranks = among(model)
        optimizer = torch.optim.AdamW(ranks.parameters(), lr=1e-3)
        for _ in range(6):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(ranks(x), target)
            loss.backward()
            losses.append(loss.detach().clone())
            losses.extend(g.clone() for g in local(p.grad for p in ranks.parameters()))
            optimizer.step()
        stats = it.stats() if it else None
        del ranks
    return losses + local(numbers(model, optimizer)), stats


def collectives(fill):
    """Other threads use tensors that were used long ago, while more of them leave."""
    peer, count = 1 - dist.get_rank(), 1 << 18
    mine = [torch.arange(count) + i + dist.get_rank() for i in range(6)]
    got = [torch.zeros(count, dtype=torch.int64) for _ in range(6)]
    fill()
    works = [dist.all_reduce(mine[0], async_op=True),
             dist.all_gather([got[0], got[1]], mine[1], async_op=True),
             dist.broadcast(mine[2], 1, async_op=True)]
    fill()
    works += [dist.isend(mine[3], peer), dist.irecv(got[2], peer)]
    fill()
    for work in works:
        work.wait()
    return mine + got


def rank(storage):
    dist.init_process_group("gloo")
    become_nobody()
    for among in (replicated, sharded) if fully_shard else (replicated,):
        plain = train(mlp, among, contextlib.nullcontext())
        values, stats = train(mlp, among, annex.offload(device_memory="4M", storage=storage))
        claim(f"{among.__name__}: losses, gradients and parameters", alike(plain[0], values))
        claim(f"{among.__name__}: tensors have left and returned: {stats}",
              stats["out"] > MIB and stats["in"] > MIB and stats["over"] == 0 and
              stats["ordinary"] == 0 and stats["iterations"] == 6)
    plain = collectives(lambda: None)
    with annex.offload(device_memory="24M", storage=storage) as it:
        values = collectives(lambda: [torch.ones(1 << 19) for _ in range(16)])
        claim(f"collectives while tensors leave: {it.stats()}", alike(plain, values) and
              it.stats()["out"] > MIB)
    del values
    claim("all is freed", not it.is_open())
    dist.barrier()
    dist.destroy_process_group()
    return summary()


# The ranks


def start(command, **environment):
    """Two ranks. Return: what each has printed."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    env = dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=port, WORLD_SIZE="2",
               LOCAL_WORLD_SIZE="2", OMP_NUM_THREADS="1", **environment)
    ranks = [subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True,
                              env=dict(env, RANK=str(i), LOCAL_RANK=str(i))) for i in range(2)]
    return [process.communicate(timeout=300)[0] for process in ranks]


def check_ranks(image):
    for told in start([__file__, sys.argv[1], image]):
        print(told, end="")
        counted = told.splitlines()[-1].split() if told else []
        claim("a rank ends", len(counted) == 4)
        for name, count in zip(("passed", "failed"), counted[::2]):
            claims.counts[name] += int(count)
    with open(image, "rb") as file:
        halves = [file.read(os.path.getsize(image) // 2).strip(b"\0") for _ in range(2)]
    claim("each rank writes its half of the file", all(halves))


def losses(text):
    """Lines of ranks may be mixed."""
    return sorted(re.findall(r"rank \d: [.\d]+", text))


def check_example(scratch, image):
    with open(os.path.join(scratch, "annex.py"), "w", encoding="ascii") as file:
        file.write(PLAIN)
    plain, told = (losses("".join(start([EXAMPLE, image], PYTHONPATH=path)))
                   for path in (scratch, sys.argv[1]))
    claim(f"the example: {plain}, {told}", len(told) == 10 and plain == told)
    if torch.__version__ >= "2":
        told = subprocess.run(
            [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
             EXAMPLE, image], stdout=subprocess.PIPE, text=True, check=False, timeout=300,
            env=dict(os.environ, PYTHONPATH=sys.argv[1], OMP_NUM_THREADS="1")).stdout
        claim(f"the example under torchrun: {told}", plain == losses(told))
    with open(GUIDE, encoding="utf-8") as guide, open(EXAMPLE, encoding="utf-8") as example:
        claim("the guide has the example", example.read() in guide.read())


def check_part(image):
    os.environ.update(LOCAL_RANK="1", LOCAL_WORLD_SIZE="2")
    os.truncate(image, 6 * MIB)
    claims.refused("a part that is too small", (annex.Error, errno.ENOSPC), "2 ranks",
                   lambda: annex.offload(device_memory="4M", storage=f"file:{image}").__enter__())
    with annex.offload(device_memory="4M", storage="mem:64M") as it:
        kept = [torch.ones(MIB // 4) for _ in range(40)]
        claim("memory is not shared out", it.stats()["ordinary"] == 0 and len(kept) == 40)


def main():
    with annex.offload(device_memory="4M", storage="mem:64M"):  # imports and compiles all
        pass
    if sys.argv[2:]:
        return rank(f"file:{sys.argv[2]}")
    with tempfile.NamedTemporaryFile() as file, tempfile.TemporaryDirectory() as scratch:
        os.chmod(file.name, 0o666)
        os.truncate(file.name, 256 * MIB)
        check_ranks(file.name)
        check_example(scratch, f"file:{file.name}")
        check_part(file.name)
    return summary()


sys.exit(main())
