# SPDX-License-Identifier: MIT
"""Claims about the PyTorch exporter, on two small models: exporter.py DIRECTORY-OF-annex_torch."""
import errno
import json
import os
import stat
import sys
import tempfile
import threading

sys.path.insert(0, sys.argv[1])
import torch  # noqa: E402
import annex_torch  # noqa: E402
from claims import claim, refused, summary  # noqa: E402


def pages(tensors):
    return sum(annex_torch.page_rounded(t.numel() * t.element_size()) for t in tensors)


def mlp():
    model = torch.nn.Sequential(torch.nn.Linear(64, 4096), torch.nn.ReLU(),
                                torch.nn.BatchNorm1d(4096), torch.nn.Linear(4096, 1000))
    return model, torch.randn(32, 64), torch.randint(1000, (32,))


class Transformer(torch.nn.Module):
    """Two layers, and the embedding is also the output's matrix."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(500, 64)
        layer = torch.nn.TransformerEncoderLayer(64, 2, 256, batch_first=True)
        self.layers = torch.nn.TransformerEncoder(layer, 2)

    def forward(self, tokens):
        x = self.layers(self.embed(tokens))
        return torch.nn.functional.linear(x, self.embed.weight).flatten(0, 1)


def transformer():
    tokens = torch.randint(500, (4, 32))
    return Transformer(), tokens, tokens.flatten()


def train(model, x, target, path, keep=False, gpu=None):
    """Record training with Adam; keep: gradients are zeroed, not released."""
    optimizer = torch.optim.Adam(model.parameters())

    def step():
        optimizer.zero_grad(set_to_none=not keep)
        torch.nn.functional.cross_entropy(model(x), target).backward()
        optimizer.step()

    trace = annex_torch.record(step, out=path, model=model, optimizer=optimizer, batch=len(x),
                               gpu=gpu)
    return trace, optimizer


def role_bytes(trace, role):
    return sum(t["bytes"] for t in trace["tensors"] if t.get("role") == role)


def check_sizes(what, trace, model, optimizer):
    params = list(model.parameters())
    state = [v for s in optimizer.state.values() for v in s.values()
             if torch.is_tensor(v) and v.device == params[0].device]
    moments = [v for v in state if v.numel() > 1]
    weights = pages(params)
    claim(f"{what}: weights are the parameters", role_bytes(trace, "weight") == weights)
    claim(f"{what}: gradients are as large", role_bytes(trace, "gradient") == weights)
    claim(f"{what}: Adam's moments are twice as large", pages(moments) == 2 * weights)
    claim(f"{what}: the state is the optimizer's", role_bytes(trace, "optimizer") == pages(state))
    names = {n for n, _ in model.named_parameters()}
    claim(f"{what}: weights have their names",
          names == {t["name"] for t in trace["tensors"] if t.get("role") == "weight"})
    claim(f"{what}: gradients have them too", {n + ".grad" for n in names} ==
          {t["name"] for t in trace["tensors"] if t.get("role") == "gradient"})
    claim(f"{what}: tensors of the next iteration are global, others are not", all(
        t["global"] == (t.get("role") in ("weight", "optimizer", "input", None))
        for t in trace["tensors"]))


def uses_of(trace):
    uses = {t["id"]: [] for t in trace["tensors"]}
    for number, kernel in enumerate(trace["kernels"]):
        for tensor in set(kernel["in"] + kernel["out"]):
            uses[tensor].append(number)
    return uses


def check_lives(what, trace):
    uses, kernels = uses_of(trace), trace["kernels"]
    claim(f"{what}: every tensor is used", all(uses.values()))
    claim(f"{what}: and lives while it is", all(
        t["global"] or t["birth"] <= uses[t["id"]][0] and uses[t["id"]][-1] <= t["death"] and
        t["death"] < len(kernels) for t in trace["tensors"]))
    claim(f"{what}: a kernel reads tensors that were written or given", all(
        t["global"] or t["id"] in kernels[uses[t["id"]][0]]["out"] for t in trace["tensors"]))
    backward = next(i for i, k in enumerate(kernels) if "backward" in k["name"])
    claim(f"{what}: activations wait for the backward pass", sum(
        t.get("role") == "activation" and uses[t["id"]][0] < backward <= uses[t["id"]][-1]
        for t in trace["tensors"]) >= 4)
    claim(f"{what}: gradients come with it", all(
        t["birth"] >= backward for t in trace["tensors"]
        if t.get("role") == "gradient" and not t["global"]))
    claim(f"{what}: weights change in the optimizer only", all(
        not any(t["id"] in k["out"] for k in kernels[:backward])
        for t in trace["tensors"] if t.get("role") == "weight"))
    claim(f"{what}: kernels take time", all(k["ns"] > 0 for k in kernels))
    claim(f"{what}: views are no kernels", not {"t", "view", "transpose", "_unsafe_view"} &
          {k["name"] for k in kernels})


def check_details(path):
    """Lifetimes that can be told in advance."""
    x = torch.ones(1 << 20)
    scratch = torch.zeros(1 << 20)

    def step():
        y = x * 2
        z = y.view(1024, 1024).t() + 1
        del y
        scratch.copy_(x)
        scratch[:5].fill_(3)
        z.sum()

    trace = annex_torch.record(step, out=path, device="cpu", warmup=0, iterations=2)
    kernels = {k["name"]: k for k in trace["kernels"]}
    tensors = trace["tensors"]
    y = tensors[kernels["mul"]["out"][0]]
    s = tensors[kernels["copy_"]["out"][0]]
    claim("views: a view is the tensor", kernels["add"]["in"] == kernels["mul"]["out"])
    claim("lifetimes: born where written", y["birth"] == 0)
    claim("lifetimes: dead where released", y["death"] == 1)
    claim("a tensor that exists before and after is global", s["global"])
    claim("copying over all of a tensor reads nothing of it",
          s["id"] not in kernels["copy_"]["in"])
    claim("filling a part of it keeps the rest", s["id"] in kernels["fill_"]["in"])
    claim("sizes are in pages", s["bytes"] == 4 << 20 and
          tensors[kernels["sum"]["out"][0]]["bytes"] == 4096)


def check_errors(path):
    for words, arguments in (("no device", {}), ("nothing that runs", {"device": "cpu"}),
                             ("no iterations", {"device": "cpu", "iterations": 0})):
        try:
            annex_torch.record(lambda: None, out=path, **arguments)
            claim(f"{words} is refused", False)
        except ValueError as error:
            claim(f"{words} is refused in one line", "\n" not in str(error))
        claim(f"{words} leaves no file", not os.path.exists(path))
    nowhere = os.path.join(path, "x.json")
    refused("a file in no folder", (FileNotFoundError, errno.ENOENT), f"'{nowhere}'",
            lambda: annex_torch.record(lambda: torch.ones(2), out=nowhere, device="cpu"))


def check_streams(path):
    """Pipes are written to, and links are followed."""
    def record(out):
        annex_torch.record(lambda: torch.ones(2) + 1, out=out, device="cpu")

    read, pipe, link = [], path + ".pipe", path + ".link"
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(open(pipe, encoding="ascii").read()),
                              daemon=True)
    reader.start()
    record(pipe)
    reader.join(60)
    claim("a pipe gets the trace", read and json.loads(read[0])["kernels"])
    claim("a pipe stays a pipe", stat.S_ISFIFO(os.lstat(pipe).st_mode))
    os.symlink(path, link)
    record(link)
    claim("a link stays a link", os.path.islink(link) and os.path.isfile(path))
    for name in (pipe, link, path):
        os.unlink(name)


def check_meta(path):
    """A small model as it is on the CPU, and products of gigabytes without memory."""
    model, x, target = transformer()
    there, _ = train(model, x, target, path)
    trace, optimizer = train(model.to("meta"), x.to("meta"), target.to("meta"), path, gpu="h100")
    check_sizes("meta", trace, model, optimizer)
    check_lives("meta", trace)
    names = [[k["name"] for k in t["kernels"] if "mm" in k["name"]] for t in (trace, there)]
    claim("meta: the multiplications of the CPU", names[0] == names[1])
    linear = torch.nn.Linear(16384, 65536, bias=False, device="meta")
    x = torch.empty(8192, 16384, device="meta")
    layers = [linear] * 24
    product = annex_torch.record(lambda: [layer(x) for layer in layers], out=path, model=linear,
                                 gpu="h100")["kernels"]
    exact = 2 * 8192 * 16384 * 65536 / (67e12 * 0.6) * 1e9 + 4000
    claim("meta: a product takes the time of its operations",
          len(product) == 24 and abs(product[0]["ns"] / exact - 1) < 1e-6)
    for words, gpu in (("a GPU", None), ("a GPU that is known", "abacus")):
        try:
            annex_torch.record(lambda: linear(x), out=path, model=linear, gpu=gpu)
            claim(f"meta needs {words}", False)
        except ValueError as error:
            claim(f"meta needs {words}, and one line says so", "\n" not in str(error))


def main():
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as scratch:
        check_errors(os.path.join(scratch, "none.json"))
        check_streams(os.path.join(scratch, "stream.json"))
        check_details(os.path.join(scratch, "details.json"))
        check_meta(os.path.join(scratch, "meta.json"))
    for what, make in (("mlp", mlp), ("transformer", transformer)):
        model, x, target = make()
        trace, optimizer = train(model, x, target, what + ".json")
        check_sizes(what, trace, model, optimizer)
        check_lives(what, trace)
    model, x, target = mlp()
    trace, _ = train(model, x, target, "kept.json", keep=True)
    claim("gradients that are kept are global", all(
        t["global"] for t in trace["tensors"] if t.get("role") == "gradient"))
    running = [t["id"] for t in trace["tensors"] if "running" in t.get("name", "")]
    claim("running statistics are written", len(running) == 2 and all(
        any(r in k["out"] and r in k["in"] for k in trace["kernels"]) for r in running))
    return summary()


sys.exit(main())
