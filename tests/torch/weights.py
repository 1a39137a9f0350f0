# SPDX-License-Identifier: MIT
"""Claims about annex.load(): weights.py DIRECTORY-OF-annex SCRATCH. ANNEX_LIBRARY says which
library. SCRATCH is a folder on a disk.

Files are written by this program and read by Annex. Memory is that of children.
"""
import contextlib
import errno
import json
import os
import random
import resource
import signal
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [sys.argv[1], os.path.join(HERE, "..", "bench")]
import torch  # noqa: E402
import annex  # noqa: E402
import claims  # noqa: E402
from annex import safetensors, weights  # noqa: E402
from claims import alike, claim, summary  # noqa: E402
from models import mlp  # noqa: E402
from torch_runs import Failed, limit, memory_group  # noqa: E402

load = weights.load
MIB = 1 << 20
NAMES = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
         torch.int64: "I64", torch.int32: "I32", torch.int16: "I16", torch.int8: "I8",
         torch.uint8: "U8", torch.bool: "BOOL", torch.complex64: "C64"}


def refused(words, number, pattern, call):
    claims.refused(words, (annex.Error, number), pattern, call)


def bytes_of(tensor):
    flat = tensor.detach().contiguous().view(-1)
    return bytes(flat.view(torch.uint8).numpy()) if tensor.numel() else b""


def pack(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)
    return path


def save(path, tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, tensor in tensors.items():
        part = bytes_of(tensor)
        header[name] = {"dtype": NAMES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    return write(path, pack(header, data))


class Tied(torch.nn.Module):
    """Tied weights, a buffer, a buffer that is in no file, and a transposed parameter."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(300, 128)
        self.norm = torch.nn.BatchNorm1d(128)
        self.head = torch.nn.Linear(128, 300, bias=False)
        self.head.weight = self.embed.weight
        self.turned = torch.nn.Parameter(torch.randn(70, 300).t())
        self.scale = torch.nn.Parameter(torch.randn(()))
        self.register_buffer("mask", torch.rand(300) > 0.5)
        self.register_buffer("own", torch.ones(3), persistent=False)

    def forward(self, x):
        return self.head(self.norm(self.embed(x))) * self.mask


def state(model):
    return [tensor.detach().clone() for tensor in model.state_dict().values()]


def fresh(make):
    """A model, and its weights, which other weights then take the place of."""
    torch.manual_seed(3)
    model = make()
    wanted = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with torch.no_grad():
        for tensor in model.state_dict().values():
            tensor.copy_(tensor == 0)
    return model, wanted


def loads(words, path, make=Tied, **options):
    model, wanted = fresh(make)
    tensors = dict(model.named_parameters())
    keys = load(model, path, **options)
    claim(f"{words}: torch's own weights", alike(list(wanted.values()), state(model)))
    claim(f"{words}: no keys are left: {keys}", keys == ([], []))
    claim(f"{words}: the same parameters",
          all(p is tensors[name] for name, p in model.named_parameters()))
    return model


def check_files(folder):
    wanted = fresh(Tied)[1]
    one = save(f"{folder}/one.safetensors", wanted)
    loads("a file", one)
    shards = f"{folder}/shards"
    os.mkdir(shards)
    names = list(wanted)
    parts = [save(f"{shards}/model-{n}.safetensors", {k: wanted[k] for k in names[n::3]})
             for n in range(3)]
    loads("several files", parts)
    loads("a folder", shards)
    index = {"weight_map": {k: f"model-{n}.safetensors" for n in range(3) for k in names[n::3]}}
    path = write(f"{shards}/model.safetensors.index.json", json.dumps(index).encode())
    save(f"{shards}/other.safetensors", {"other": torch.zeros(3)})
    loads("an index", path)
    loads("a folder with an index", shards)
    refused("a tensor in two files", errno.EINVAL, "is in", lambda: load(Tied(), [one, parts[0]]))
    for file in ("../one.safetensors", f"{folder}/one.safetensors", "..", "", "a\0b", 3):
        bad = write(f"{folder}/x.index.json", json.dumps({"weight_map": {"a": file}}).encode())
        refused(f"an index that names {file!r}", errno.EINVAL, "x.index.json: tensor 'a'",
                lambda: load(Tied(), bad))
    refused("a folder without files", errno.ENOENT, "no *.safetensors",
            lambda: load(Tied(), os.path.join(folder, os.mkdir(f"{folder}/empty") or "empty")))
    refused("no such file", errno.ENOENT, "gone", lambda: load(Tied(), f"{folder}/gone"))
    os.mkfifo(f"{folder}/fifo")
    refused("a FIFO", errno.EINVAL, "no regular file", lambda: load(Tied(), f"{folder}/fifo"))


def check_tied(folder):
    wanted = fresh(Tied)[1]
    del wanted["head.weight"]
    path = save(f"{folder}/tied.safetensors", wanted)
    model = loads("tied weights by one name", path)
    claim("they are still tied", model.head.weight is model.embed.weight)
    both = save(f"{folder}/both.safetensors", fresh(Tied)[1])
    asked, read = [], safetensors.File.read_into

    def counted(file, memory, start, what):
        asked.append(what)
        read(file, memory, start, what)

    safetensors.File.read_into = counted
    try:
        load(Tied(), both)
    finally:
        safetensors.File.read_into = read
    claim(f"they are read once: {asked}",
          sum("'embed" in what or "'head" in what for what in asked) == 1)


def check_keys(folder):
    wanted = fresh(Tied)[1]
    del wanted["scale"]
    path = save(f"{folder}/keys.safetensors", dict(wanted, more=torch.zeros(2)))
    model, _ = fresh(Tied)
    before = state(model)
    refused("names that do not match", errno.EINVAL,
            "1 missing keys: 'scale', 1 unexpected keys: 'more'", lambda: load(model, path))
    claim("nothing was read", alike(before, state(model)))
    claim("strict=False returns them",
          load(model, path, strict=False) == (["scale"], ["more"]))
    path = save(f"{folder}/shape.safetensors", dict(wanted, scale=torch.zeros(1)))
    refused("another shape", errno.EINVAL, "'scale' has the shape [1], and [] in the model",
            lambda: load(Tied(), path, strict=False))


def check_types(folder):
    """Each type to each, as torch's own conversion has it."""
    torch.manual_seed(5)
    for source in NAMES:
        numbers = (torch.randn(50, 30) * 9).abs().to(source)
        path = save(f"{folder}/type.safetensors", {"t": numbers})
        for target in NAMES:
            if source.is_complex and not target.is_complex:
                continue
            model = torch.nn.Module()
            model.register_buffer("t", torch.zeros(50, 30, dtype=target))
            load(model, path)
            claim(f"{source} to {target}", torch.equal(model.t, numbers.to(target)))
    piece, weights.PIECE = weights.PIECE, 100  # several pieces
    try:
        loads("pieces", save(f"{folder}/p.safetensors", {
            k: t.double() for k, t in fresh(Tied)[1].items()}))
    finally:
        weights.PIECE = piece
    path = write(f"{folder}/bool.safetensors",
                 pack({"t": {"dtype": "BOOL", "shape": [3], "data_offsets": [0, 3]}}, b"\0\xff\2"))
    model = torch.nn.Module()
    model.register_buffer("t", torch.zeros(3, dtype=torch.bool))
    load(model, path)
    claim("any byte but 0 is true", bytes_of(model.t) == b"\0\1\1")
    path = write(f"{folder}/f8.safetensors",
                 pack({"t": {"dtype": "F8_E4M3", "shape": [3], "data_offsets": [0, 3]}}, b"123"))
    if not hasattr(torch, "float8_e4m3fn"):
        refused("a type that PyTorch lacks", errno.EOPNOTSUPP, "lacks", lambda: load(model, path))


def meta(make):
    """A model on the device "meta", as `with torch.device("meta")` makes it in PyTorch 2."""
    return make().to("meta")


def check_meta(folder):
    wanted = fresh(mlp_alone)[1]
    path = save(f"{folder}/mlp.safetensors", wanted)
    model = meta(mlp_alone)
    next(model.parameters()).requires_grad_(False)
    load(model, path)
    claim("a model on meta", alike(list(wanted.values()), state(model)))
    claim("requires_grad stays", not next(model.parameters()).requires_grad and
          list(model.parameters())[-1].requires_grad)
    path = save(f"{folder}/meta.safetensors", fresh(Tied)[1])
    model = meta(Tied)
    model.head.weight = model.embed.weight
    refused("a buffer that no file has", errno.EINVAL, "1 missing keys: 'own'",
            lambda: load(model, path))
    keys = load(model, path, strict=False)
    claim("strict=False leaves it", keys == (["own"], []) and model.own.is_meta)
    claim("tied weights on meta stay tied", model.head.weight is model.embed.weight and
          not model.head.weight.is_meta)


def mlp_alone():
    return mlp()[0]


def check_autograd(folder):
    model, wanted = fresh(mlp_alone)
    path = save(f"{folder}/grad.safetensors", wanted)
    loss = model(torch.randn(4, next(model.parameters()).shape[1])).sum()
    load(model, path)
    try:
        loss.backward()
        claim("a graph that saved the old weights is refused", False)
    except RuntimeError as error:
        claim(f"autograd knows: {error}", "modified by an inplace operation" in str(error))


def header(**changes):
    told = {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}
    told.update(changes)
    return {"t": told}


def check_hostile(folder):
    data = bytes(16)
    deep = b'{"t":' + b"[" * 100000
    cases = {
        "an empty file": b"", "seven bytes": bytes(7), "no header": bytes(8),
        "a header beyond the file": struct.pack("<Q", 100) + b"{}",
        "a header of 2^64 - 1 bytes": b"\xff" * 8 + b"{}",
        "no JSON": pack(b"{"), "no object": pack(b"[]"), "no text": pack(b"\xff\xfe"),
        "deep JSON": pack(deep), "a name twice": pack(b'{"a": 1, "a": 2}'),
        "a long number": pack(header(shape=[2, 0]), data).replace(b"[2, 0]", b"[1%s]" % (
            b"0" * 5000)), "a tensor that is no object": pack({"t": 3}, data),
        "a member too many": pack(header(more=1), data),
        "bytes behind the tensors": pack(header(), data + b"x"),
        "too few bytes": pack(header(), data[1:]),
        "a hole": pack(header(data_offsets=[4, 20]), data + bytes(4)),
        "an overlap": pack(dict(header(), u=header()["t"]), data),
        "no number in a float": pack(header(shape=[float("nan")]), data),
    }
    for key, values in {
            "dtype": ("F31", 3, None, ["F32"], {}, "float32"),
            "shape": ([4], 3, [2, -2], [2.0, 2], ["2", 2], [True, 4], [1 << 62, 1 << 62], [2] * 99,
                      [[2], 2], None, {"a": 2}, "22"),
            "data_offsets": ([0], [0, 16, 16], [16, 0], [-16, 0], [0, 1 << 62], [0.0, 16], None,
                             ["0", "16"], [True, 16], 16, {"a": 0})}.items():
        wrong = [value for value in values if value != [4]]
        cases.update({f"{key} {value!r}": pack(header(**{key: value}), data) for value in wrong})
    cases["lengths that wrap"] = cases.pop(f"shape {[1 << 62, 1 << 62]!r}")
    model = torch.nn.Module()
    model.register_buffer("t", torch.ones(2, 2))
    for words, text in cases.items():
        path = write(f"{folder}/bad.safetensors", text)
        refused(words[:100], errno.EINVAL, "bad.safetensors: ", lambda: load(model, path))
    claim("nothing was read", model.t.eq(1).all())
    for n in range(2000 if claims.ALL else 300):
        damaged(f"{folder}/bad.safetensors", n)


def damaged(path, seed):
    """A good file with other bytes in it: it loads, or is an annex.Error in one line."""
    chance = random.Random(seed)
    text = bytearray(pack(dict(header(), u=header(data_offsets=[16, 32])["t"]), bytes(32)))
    for _ in range(chance.randint(1, 3)):
        text[chance.randrange(len(text) - 32)] = chance.choice(b'0123456789"{}[],:-.eE \xff\0tu')
    model = torch.nn.Module()
    model.register_buffer("t", torch.ones(2, 2))
    try:
        load(model, write(path, text), strict=False)
    except annex.Error as error:
        if path in str(error) and "\n" not in str(error):
            return
        claim(f"damaged file {seed}: {error}", False)


def check_block(folder):
    """In a block, weights are in its space, and no more of them in memory than it may have."""
    wanted = fresh(small)[1]
    path = save(f"{folder}/block.safetensors", wanted)
    for words, make in ("a model", lambda: fresh(small)[0]), ("meta", lambda: meta(small)):
        model = make()
        with annex.offload(device_memory="2M", storage="mem:256M") as it:
            load(model, path)
            stats = it.stats()
            large = [p for p in model.parameters() if p.numel() * 4 >= 65536]
            claim(f"{words} in a block: in its space", large and all(
                it.native.has(p) for p in large))
            claim(f"{words} in a block: never more than the budget: {stats}",
                  stats["over"] == 0 and stats["out"] > 0 and stats["device"] <= 2 * MIB)
            claim(f"{words} in a block: no page faults: {stats}", stats["faults"] == 0)
            same = alike(list(wanted.values()), state(model))
            claim(f"{words} in a block: the same weights", same)
        claim(f"{words} after a block: the same weights",
              alike(list(wanted.values()), state(model)))


# Children

LAYERS, WIDTH = 12, 1024  # 48 MiB, 4 MiB at a time


def stack(layers=LAYERS, width=WIDTH):
    return torch.nn.Sequential(*[torch.nn.Linear(width, width, bias=False)
                                 for _ in range(layers)])


def small():
    return stack(6, 512)


def total(model):
    """The same in every order."""
    return sum(layer.weight.detach().view(torch.int32).sum().item() for layer in model)


def peak():
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) << 10


def child(memory, path, group):
    """Load a model that is on meta, in a block unless @memory is "". Print the growth of the peak,
    and the sum of all weights. Memory that the program takes at first is not counted, in @group
    neither.
    """
    torch.set_num_threads(1)
    with annex.offload("1M", "mem:16M"):
        total(stack(1))
    model = meta(stack)
    block = annex.offload(memory, f"file:{path}.img?size=256M") if memory else None
    if group:
        write(os.path.join(group, "cgroup.procs"), str(os.getpid()).encode())
    write("/proc/self/clear_refs", b"5")
    before = peak()
    with block or contextlib.nullcontext():
        load(model, path)
        result = total(model)
        print(peak() - before, result)
        sys.stdout.flush()
        os._exit(0)  # at its end the block would move all weights to memory


def run(memory, path, group="", prefix=()):
    """Return: the growth of a child's peak, and its sum; its status and its words, if it fails."""
    done = subprocess.run([*prefix, sys.executable, __file__, *sys.argv[1:3], memory, path, group],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                          timeout=300)
    if done.returncode:
        return done.returncode, done.stderr
    grown, result = done.stdout.split()
    return int(grown), int(result)


def check_peaks(folder):
    torch.manual_seed(1)
    model = stack()
    size = 4 * LAYERS * WIDTH * WIDTH
    path = save(f"{folder}/large.safetensors", model.state_dict())
    wanted = total(model)
    grown, result = run("", path)
    claim(f"bytes pass through memory once: {grown} for {size}, {result}, {wanted}",
          result == wanted and grown < size + 16 * MIB)
    filters = [os.path.join(HERE, "..", "tool", "refuse.py"), "EPERM", "userfaultfd", "device",
               "io_uring", "--"]
    for memory in "8M", "2M":  # some tensors, and half of one
        for prefix in [], filters:
            grown, result = run(memory, path, prefix=prefix)
            claim(f"{memory} {prefix[1:]}: {result}, {wanted}", result == wanted)
            claim(f"{memory} {prefix[1:]}: memory: {grown}", grown < size // 2)
    check_limit(path, wanted)


def check_limit(path, wanted):
    """In a group that has memory for half of the model."""
    try:
        group = f"{memory_group()}/annex-weights-{os.getpid()}"
        os.mkdir(group)
    except (OSError, Failed) as reason:
        print(f"skipped: a memory limit: {reason}")
        return
    try:
        limit(group, 24 * MIB)
        claim("without a block, the model exceeds the limit",
              run("", path, group)[0] == -signal.SIGKILL)
        result = run("8M", path, group)
        claim(f"in a block it loads within the limit: {result}, {wanted}", result[1] == wanted)
    finally:
        os.rmdir(group)


def main():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if len(sys.argv) > 3:
        return child(*sys.argv[3:])
    with tempfile.TemporaryDirectory(dir=sys.argv[2]) as folder:
        for check in (check_files, check_tied, check_keys, check_types, check_meta,
                      check_autograd, check_hostile, check_block, check_peaks):
            check(tempfile.mkdtemp(dir=folder))
    return summary()


if __name__ == "__main__":
    sys.exit(main())
