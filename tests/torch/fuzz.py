# SPDX-License-Identifier: MIT
"""Random programs, with annex.offload and without: fuzz.py DIRECTORY-OF-annex [--programs N].

Losses and gradients must be equal bit for bit. A program is several iterations of training; a few
of these leave a step out. Some operators need more than device memory.

A program is a list of steps. Each draws from a generator of its own, so that a failing program can
be told without the steps that it does not need. ANNEX_LIBRARY says which library.
"""
import argparse
import contextlib
import ctypes
import gc
import itertools
import os
import random
import signal
import sys
import warnings

sys.path.insert(0, sys.argv[1])
import numpy  # noqa: E402
import torch  # noqa: E402
import annex  # noqa: E402
from annex import block  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

F = torch.nn.functional
MEMORY = 1 << 20  # bytes, the least of a space
SMALLEST = 1024  # instead of 64 KiB, so that programs are quick
LARGEST = 8192  # elements
ITERATIONS = 8
DRIFT = 0.15  # of them are another program
HUGE = 1e9  # gradients that are replaced
POOL = 10  # tensors that steps choose from
SHAPES = ((32, 48), (33, 65), (8, 256), (4, 4, 10, 10), (2, 12, 8, 8), (8, 12, 20), (2500,))
DTYPES = (torch.float32,) * 6 + (torch.float64, torch.bfloat16, torch.complex64)


class Strided(torch.autograd.Function):
    """It looks at its saved tensor by as_strided, as far as there are elements."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.abs().sum()

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        size = [(count + 1) // 2 for count in x.size()]
        stride = [2 * step for step in x.stride()]
        some = torch.as_strided(x, size, stride)
        offset = x.storage_offset() % 7 + sum(x.stride()) % 5
        return (grad * (some.abs().sum() + offset)).to(x.dtype).expand(x.size())


def bits(tensor):
    """Its bytes as they are now, in memory that annex does not move."""
    tensor = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    copy = tensor.detach().clone(memory_format=torch.contiguous_format)
    return copy.flatten().view(torch.uint8).numpy().tobytes()


def as_view(rng, t):
    """A view of a tensor, of any kind that its shape allows."""
    kind = rng.randrange(13)
    dim = rng.randrange(t.dim()) if t.dim() else 0
    size = t.size(dim) if t.dim() else 0
    if kind == 0 and size > 3:
        first = rng.randrange(size // 2)
        return t.narrow(dim, first, rng.randint(1, size - first))
    if kind == 1 and size > 3:
        step = rng.choice((2, 3, 8))
        return t[(slice(None),) * dim + (slice(rng.randrange(2), None, step),)]
    if kind == 2 and t.dim() > 1:
        return t.transpose(dim, rng.randrange(t.dim()))
    if kind == 3 and t.dim() > 1:
        return t.permute(*rng.sample(range(t.dim()), t.dim()))
    if kind == 4 and size > 1:
        return t.narrow(dim, rng.randrange(size), 1).expand(*t.size())
    if kind == 5 and size > 4:
        return rng.choice(t.split((size + 7) // rng.choice((2, 3, 8)), dim))
    if kind == 6 and size > 4 and t.numel() < 20000:
        return t.unfold(dim, 3, rng.choice((1, 2, 3)))
    if kind == 7 and t.dim() > 1:
        return t.diagonal(0, 0, 1)
    if kind == 8 and t.dim() > 1 and size > 1:
        return t.select(dim, rng.randrange(size))
    if kind == 9 and t.dim() and min(t.size()) > 4 and t.stride()[0]:
        return t.as_strided([(n + 1) // 2 for n in t.size()], t.stride(),
                            t.storage_offset() + rng.randrange(2) * t.stride(-1))
    if kind == 10 and t.dim() == 4:
        return t.contiguous(memory_format=torch.channels_last)
    if kind == 11:
        return t.unsqueeze(dim)
    if kind == 12 and t.is_complex():
        return torch.view_as_real(t)
    return t.reshape(-1) if t.dim() > 5 else t[...]


def fit(t, shape):
    """As many elements as a shape has, without a copy where that can be."""
    flat = t.reshape(-1)
    count = 1
    for n in shape:
        count *= n
    return flat[:count].reshape(shape) if flat.numel() >= count else flat[:1].expand(
        count).reshape(shape)


def rows(t):
    """As a matrix."""
    return t.reshape(-1, t.size(-1)) if t.dim() > 1 else t.reshape(-1, 1)


def image(t):
    return t if t.dim() == 4 else fit(t, (2, 4, 10, 10))


UNARY = (torch.sin, torch.tanh, torch.exp, torch.sigmoid, F.gelu, F.relu, torch.sqrt, torch.abs,
         lambda t: t * t, lambda t: t ** 3, lambda t: t.softmax(-1), lambda t: t.log_softmax(0),
         lambda t: t.cumsum(0), lambda t: t.cumprod(-1), lambda t: t.logsumexp(0),
         lambda t: t.std(0), lambda t: t.var(-1, keepdim=True), lambda t: t.norm(dim=-1),
         lambda t: t.prod(-1), lambda t: t.std() + t, lambda t: t.sort(-1)[0],
         lambda t: t.max(0)[0], lambda t: t.clamp(-0.5, 0.5), lambda t: t.masked_fill(t > 0, 0.5),
         lambda t: F.dropout(t, 0.3), lambda t: F.layer_norm(t, t.shape[-1:]),
         lambda t: F.batch_norm(rows(t), None, None, training=True),
         lambda t: F.avg_pool2d(image(t), 2), lambda t: F.max_pool2d(image(t), 2),
         lambda t: F.group_norm(image(t), 2), lambda t: rows(t).t() @ rows(t),
         lambda t: t.index_select(0, torch.arange(t.size(0) - 1, -1, -1)), Strided.apply,
         lambda t: t.real if t.is_complex() else t.float(), lambda t: t.double())
BINARY = (torch.mul, torch.div, torch.add, torch.maximum, torch.atan2,
          lambda a, b: torch.where(a > b, a, b), lambda a, b: torch.cat((a, b)),
          lambda a, b: rows(a) @ rows(b).t(), lambda a, b: rows(a) @ fit(b, (rows(a).size(1), 24)),
          lambda a, b: F.linear(a, fit(b, (40, a.size(-1)))), lambda a, b: F.mse_loss(a, b),
          lambda a, b: F.conv2d(image(a), fit(b, (6, image(a).size(1), 3, 3)), padding=1),
          lambda a, b: F.conv1d(rows(a)[None], fit(b, (5, rows(a).size(0), 1))),
          lambda a, b: torch.cdist(rows(a)[:40], rows(b)[:40]),
          lambda a, b: torch.einsum("ij,ij->i", rows(a), rows(b)),
          lambda a, b: torch.addcmul(a, a, b, value=0.5),
          lambda a, b: torch.lerp(a, b, 0.3))
IN_PLACE = (lambda t: t.mul_(1.5), lambda t: t.add_(t.detach()), lambda t: t.relu_(),
            lambda t: t[..., ::2].mul_(0.5), lambda t: t[:1].zero_(), lambda t: t.tanh_(),
            lambda t: t.copy_(t.detach().flip(0)))


def refill(rng, array, tensor):
    """Write to a buffer, on ways that its version tells of or not."""
    value = rng.choice((-1, 0.5, 2, 7))
    way = rng.randrange(6)
    if way == 0:
        array[...] = value
    elif way == 1:
        torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(tensor)).fill_(value)
    elif way == 2:
        tensor.data.mul_(value)
    elif way == 3:
        torch.from_numpy(array).add_(value)
    elif way == 4:
        tensor.fill_(value)
    else:
        ctypes.memset(array.ctypes.data, 0, array.nbytes // 2)


class Run:
    """A program under way. @seen: its results, a name with bytes or with the kind of an error.

    @kept: leaves of its first iteration by the number of their step. An optimizer trains them.
    """

    def __init__(self, seed, skip, it):
        self.seed = seed
        self.skip = skip
        self.it = it
        self.seen = []
        self.kept = {}
        self.optimizer = self.trainer = None

    def go(self):
        """One iteration."""
        self.pool, self.leaves, self.buffers, self.losses = [], [], [], []
        steps = random.Random(self.seed).randint(15, 45)
        for self.number in range(steps):
            if self.number in self.skip:
                continue
            rng = random.Random(f"{self.seed}.{self.number}")
            torch.default_generator.manual_seed(self.seed * 1000 + self.number)
            step = getattr(self, FIRST[self.number] if self.number < len(FIRST)
                           else rng.choice(STEPS))
            self.attempt(f"{self.number} {step.__name__}", step, rng)
        while self.losses:
            self.attempt("end", self.backward, random.Random(len(self.losses)))
        return self.seen

    def train(self):
        """Some iterations. A few of them leave a step out."""
        skip = self.skip
        for iteration in range(ITERATIONS):
            rng = random.Random(f"{self.seed}.iteration.{iteration}")
            drifts = iteration and rng.random() < DRIFT
            self.skip = skip | ({rng.randrange(len(FIRST), 15)} if drifts else set())
            self.go()
            self.attempt(f"iteration {iteration}", self.step, random.Random(self.seed))
        return self.seen

    def step(self, rng):
        """It trains all leaves. Numbers stay finite, so that they can differ."""
        if self.trainer is None:
            self.trainer = rng.choice((torch.optim.Adam, torch.optim.SGD))(
                self.leaves, lr=0.01, weight_decay=0.01)
        for leaf in self.leaves:
            if leaf.grad is not None:
                leaf.grad = torch.where(leaf.grad.abs() < HUGE, leaf.grad,
                                        torch.ones_like(leaf))
        self.trainer.step()
        self.trainer.zero_grad()
        for leaf in self.leaves:
            self.see(leaf)

    def attempt(self, name, step, rng):
        """PyTorch refuses the same in both runs, and annex refuses nothing."""
        self.name = name
        try:
            step(rng)
        except (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError,
                annex.Error) as error:
            own = isinstance(error, annex.Error) or "[Errno" in str(error)
            words = str(error).split("\n", 1)[0]
            self.seen.append((name, words if own else type(error).__name__, words))

    def see(self, tensor):
        self.seen.append((f"{self.name} {list(tensor.shape)}", bits(tensor)))

    def add(self, tensor):
        if tensor.numel() and tensor.numel() <= LARGEST:
            self.pool.append(tensor)
            del self.pool[:-POOL]

    def any(self, rng):
        t = rng.choice(self.pool)
        for _ in range(rng.choice((0, 0, 1, 1, 2, 3))):
            t = as_view(rng, t)
        return t

    def leaf(self, rng):
        new = torch.randn(rng.choice(SHAPES), dtype=rng.choice(DTYPES), requires_grad=True)
        t = self.kept.setdefault(self.number, new)
        self.leaves.append(t)
        self.add(t * 1 if rng.random() < 0.8 else t)

    def buffer(self, rng):
        """NumPy's memory, which is seldom aligned as PyTorch's is."""
        shape = rng.choice(SHAPES)
        dtype = rng.choice((numpy.float32, numpy.float32, numpy.float64))
        count = numpy.prod(shape)
        array = numpy.zeros(count + 16, dtype)[rng.randrange(16):][:count].reshape(shape)
        array[...] = numpy.random.RandomState(rng.randrange(1 << 30)).randn(*shape)
        tensor = torch.from_numpy(array)
        self.buffers.append((array, tensor))
        self.add(tensor)

    def rewrite(self, rng):
        refill(rng, *rng.choice(self.buffers))

    def view(self, rng):
        self.add(as_view(rng, self.any(rng)))

    def unary(self, rng):
        self.add(rng.choice(UNARY)(self.any(rng)))

    def binary(self, rng):
        a = self.any(rng)
        b = self.any(rng)
        if rng.random() < 0.7:
            b = fit(b, a.shape)
        if a.dtype != b.dtype:
            b = (b.real if b.is_complex() and not a.is_complex() else b).to(a.dtype)
        self.add(rng.choice(BINARY)(a, b))

    def deep(self, rng):
        """Enough to exceed device memory."""
        t = fit(self.any(rng), (64, 96)) * fit(rng.choice(self.leaves), (64, 96))
        for _ in range(rng.randint(7, 12)):
            t = t.sin() * t
        self.add(t)

    def large(self, rng):
        """More than device memory at once."""
        t = fit(self.any(rng), (300, 500)).contiguous()
        self.add((t * (t + 1)).sum(0))

    def shared(self, rng):
        """One tensor, saved several times."""
        t = self.any(rng)
        self.add(t.sin() + t.cos() * t)

    def in_place(self, rng):
        t = self.any(rng)
        rng.choice(IN_PLACE)(t * 1 if t.is_leaf and t.requires_grad else t)

    def in_place_unseen(self, rng):
        rng.choice(IN_PLACE)(self.any(rng).detach())

    def checkpointed(self, rng):
        reentrant = rng.random() < 0.5

        def part(t):
            return (t.sin() * t).tanh() * t

        self.add(checkpoint(part, self.any(rng), use_reentrant=reentrant))

    def loss(self, rng):
        """Of a micro-batch: its graph lives until some later step."""
        some = rng.sample(self.pool, min(3, len(self.pool)))
        total = sum(t.abs().double().sum() for t in some)
        if some and total.requires_grad:
            self.see(total)
            self.losses.append(total)

    def backward(self, rng):
        if not self.losses:
            return
        number = rng.randrange(len(self.losses))
        last = self.name == "end"
        retain = last or rng.random() < 0.7
        loss = self.losses.pop(number)
        if retain and not last and rng.random() < 0.5:
            self.losses.append(loss)
        twice = retain and not last and rng.random() < 0.2
        grads = torch.autograd.grad(loss, self.leaves, retain_graph=retain, create_graph=twice,
                                    allow_unused=True)
        for leaf, grad in zip(self.leaves, grads):
            if grad is not None:
                self.see(grad)
                leaf.grad = grad.detach() if last else None
        if not retain:  # others are of the same graph
            self.losses = []
            self.pool = [t.detach() for t in self.pool]
        wanted = [g.abs().double().sum() for g in grads if g is not None and g.requires_grad]
        if wanted:
            self.losses.append(sum(wanted))

    def forget(self, rng):
        if self.losses and rng.random() < 0.5:
            self.losses.pop(rng.randrange(len(self.losses)))
        if len(self.pool) > 4:
            self.pool.pop(rng.randrange(len(self.pool)))

    def optimize(self, rng):
        if self.optimizer is None:
            weight = torch.nn.Parameter(torch.randn(96, 96))
            self.optimizer = rng.choice((
                lambda p: torch.optim.Adam(p, amsgrad=rng.random() < 0.5),
                lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)))([weight])
        weight, = self.optimizer.param_groups[0]["params"]
        self.optimizer.zero_grad()
        x = fit(self.any(rng), (32, 96)).detach().abs().float().tanh()
        (x @ weight).pow(2).sum().backward()
        self.optimizer.step()
        self.see(weight)

    def fork(self, rng):
        """A child has autograd of its own; nothing of its parent's is wrong, or kills it."""
        if rng.random() < 0.7:
            return
        child = 0
        if self.it:
            sys.stdout.flush()
            child = os.fork()
            if child == 0:
                os._exit(self.in_child())
            child = os.waitpid(child, 0)[1]
        self.seen.append((self.name, f"a child's status {child}"))

    def in_child(self):
        signal.alarm(60)
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        x = torch.full((64, 64), 3.0, requires_grad=True)
        (x.sin() * x).sum().backward()
        wrong = not torch.allclose(x.grad, x.cos() * x + x.sin())
        if self.optimizer:
            for values in self.optimizer.state.values():
                for value in values.values():
                    with contextlib.suppress(annex.Error):
                        # Without an error it is there, and no zeroes.
                        wrong |= isinstance(value, torch.Tensor) and not value.abs().sum() > 0
        return int(wrong)


FIRST = "leaf", "buffer", "buffer", "deep"
STEPS = (["unary"] * 10 + ["binary"] * 8 + ["view"] * 5 + ["deep"] * 2 + ["shared"] * 4 +
         ["rewrite"] * 5 + ["in_place"] * 3 + ["in_place_unseen"] * 2 + ["loss"] * 6 +
         ["backward"] * 3 + ["large", "checkpointed", "checkpointed", "forget", "leaf", "buffer",
                             "optimize", "optimize", "fork"])


def differ(plain, own):
    """The first results of two runs that differ, or None. Words of errors are not compared."""
    end = ("end", "no result")
    pairs = itertools.zip_longest(plain, own, fillvalue=end)
    return next(((a, b) for a, b in pairs if a[:2] != b[:2]), None)


def plain_run(seed, skip):
    return Run(seed, skip, None).train()


def undefined(seed, skip, plain):
    """Whether PyTorch's own kernels read memory that nothing has written: 1.13 has such."""
    return any(differ(plain, plain_run(seed, skip)) for _ in range(4))


def compare(seed, skip):
    """The first difference from a plain run's results, or None; and the library's counts."""
    plain = plain_run(seed, skip)
    try:
        with annex.offload(MEMORY, "mem:512M") as it:
            own = Run(seed, skip, it).train()
            stats = it.stats()
    except annex.Error as error:
        return f"{error}", {"out": 0, "plans": 0}
    pair = differ(plain, own)
    if pair and undefined(seed, skip, plain):
        print(f"seed {seed}: plain PyTorch gives several answers", flush=True)
        pair = None
    if pair:
        words = [x[-1] if isinstance(x[-1], str) else "another number" for x in pair]
        return f"step {pair[1][0]}: {words[0]} without it, {words[1]} with it", stats
    return None, stats


def smallest(seed):
    """The steps that a failing program does not need."""
    skip = set()
    for number in reversed(range(45)):
        if compare(seed, skip | {number})[0]:
            skip.add(number)
    return sorted(skip)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("annex", help="the directory that the package is in")
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the first one")
    parser.add_argument("--new-seeds", action="store_true", help="begin at a seed of chance")
    parser.add_argument("--skip", default="", help="steps to leave out: 3,4,7")
    args = parser.parse_args()
    skip = {int(number) for number in args.skip.split(",") if number}
    first = int.from_bytes(os.urandom(4), "little") if args.new_seeds else args.seed
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    block.SMALLEST = SMALLEST
    plain_run(first, skip)  # which loads the modules that programs use
    gc.collect()
    gc.freeze()  # blocks look through all objects for tensors, of which modules have none
    failed = moved = planned = 0
    for seed in range(first, first + args.programs):
        wrong, stats = compare(seed, skip)
        moved += stats["out"] > 0
        planned += stats["plans"] > 0
        if wrong:
            failed += 1
            few = ",".join(map(str, sorted(skip) or smallest(seed)))
            print(f"FAILED: {wrong}: {sys.executable} {sys.argv[0]} {args.annex} --programs 1 "
                  f"--seed {seed}" + (f" --skip {few}" if few else ""), flush=True)
    print(f"seeds {first} to {first + args.programs - 1}: {moved} programs moved tensors, "
          f"{planned} had plans")
    if args.programs > 10 and min(moved, planned) < args.programs // 2:
        failed += 1
        print("FAILED: fewer than half of them did")
    gc.unfreeze()  # modules look for leaks
    print(f"{args.programs - min(failed, args.programs)} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
