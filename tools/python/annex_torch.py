#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Record how an iteration of a PyTorch training function uses memory, as an annex-trace/1 file.

    from annex_torch import record
    record(step, out="trace.json", model=model, optimizer=optimizer)

step() runs one iteration: forward, backward, optimizer. Every operator that PyTorch dispatches,
backward ones too, becomes a kernel with its time, and every storage on the model's device a tensor
with its uses and its lifetime. A model on the device "meta" takes no memory: the rates of a GPU
then give the times. A built-in example: annex_torch.py --example mlp -o trace.json
"""
import argparse
import ctypes
import json
import os
import statistics
import sys
import time

try:
    import torch
    from torch.multiprocessing.reductions import StorageWeakRef
    from torch.utils._python_dispatch import TorchDispatchMode
except ImportError as missing:
    WHY = f"annex_torch needs PyTorch 1.13 or later ({missing}): apt-get install python3-torch"
    if __name__ == "__main__":
        sys.exit(WHY)
    raise ImportError(WHY) from None

PAGE = 4096

# In-place operators that do not read the values that they replace.
OVERWRITE = {"zero_", "fill_", "copy_", "normal_", "uniform_", "bernoulli_", "random_",
             "_foreach_zero_", "_foreach_copy_"}
# Operators that only allocate.
ALLOCATE = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"}
# Operators whose schema hides that running statistics are written.
RUNNING = {"native_batch_norm", "cudnn_batch_norm", "miopen_batch_norm"}


def storage_of(tensor):
    """The untyped storage of a tensor, or None where it has none (sparse, meta)."""
    try:
        if hasattr(tensor, "untyped_storage"):
            return tensor.untyped_storage()
        return tensor.storage()._storage
    except (NotImplementedError, RuntimeError):
        return None


def tensors_in(value):
    """The tensors in an argument or a result, however nested."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from tensors_in(part)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


class Storage:
    """One storage. The weak reference keeps its identity from being given to another one."""

    def __init__(self, ref, size, birth):
        self.ref = ref
        self.bytes = size
        self.birth = birth  # kernels before it
        self.death = None  # the last kernel that it outlives
        self.first = self.last = None
        self.before = False  # there before the iteration
        self.written_first = False
        self.role = self.name = None

    def use(self, kernel, read):
        if self.first is None:
            self.first = kernel
            self.written_first = not read
        self.last = kernel


class Kernel:
    def __init__(self, name, reads, writes):
        self.name = name
        self.reads = reads
        self.writes = writes
        self.ns = 0
        self.events = None
        self.workspace = 0

    def time(self):
        if self.events:
            return int(self.events[0].elapsed_time(self.events[1]) * 1e6)
        return self.ns


# Multiplications by the place of the left matrix among their arguments.
PRODUCTS = {"mm": 0, "bmm": 0, "addmm": 1, "baddbmm": 1}
# Operators that read as many bytes of their first argument as they write.
GATHERS = {"embedding", "index_select", "gather", "index"}
# In the order of enum annex_dtype.
DTYPES = [torch.float32, None, torch.float16, torch.bfloat16]


def multiplied(name, args, result):
    """Operations of multiplications, as FLOPs, of an operator."""
    if name in PRODUCTS:
        return 2 * result.numel() * args[PRODUCTS[name]].shape[-1]
    if name == "convolution":
        return 2 * max(result.numel(), args[6] and args[0].numel()) * args[1][0].numel()
    if name == "convolution_backward":
        made = sum(args[-1][:2])
        return 2 * made * max(args[0].numel(), args[7] and args[1].numel()) * args[2][0].numel()
    if name.startswith("_scaled_dot_product"):
        backward = name.endswith("_backward")
        return (10 if backward else 4) * args[backward].numel() * args[backward + 1].shape[-2]
    return 0


class Gpu(ctypes.Structure):
    """struct annex_gpu."""

    _fields_ = [("name", ctypes.c_char_p), ("summary", ctypes.c_char_p),
                ("memory", ctypes.c_uint64), ("bandwidth", ctypes.c_double),
                ("flops", ctypes.c_double * 5), ("launch_ns", ctypes.c_uint32)]


class Roofline:
    """Times of operators on a GPU of annex trace gen, from Annex's library."""

    def __init__(self, gpu):
        try:
            from annex.library import path_of_library
        except ImportError:
            raise ValueError("annex_torch: the package annex has the times of GPUs, and is not "
                             "there") from None
        self.dll = ctypes.CDLL(path_of_library())
        self.dll.annex_gpu_find.restype = ctypes.POINTER(Gpu)
        self.dll.annex_gpu_ns.restype = ctypes.c_double
        self.dll.annex_gpu_ns.argtypes = (ctypes.POINTER(Gpu), ctypes.c_int, ctypes.c_double,
                                          ctypes.c_double)
        self.gpu = self.dll.annex_gpu_find(gpu.encode())
        if not self.gpu:
            raise ValueError(f'annex_torch: no GPU "{gpu}": annex trace gen --help has a list')
        self.name = self.gpu.contents.summary.decode()

    def ns(self, name, args, kwargs, result):
        given = list(tensors_in([args, kwargs]))
        made = list(tensors_in(result))
        if name in GATHERS and made:
            given = given[1:] + made[:1]
        moved = sum(t.numel() * t.element_size() for t in given + made)
        kinds = [1 + DTYPES.index(t.dtype) for t in made + given if t.dtype in DTYPES]
        kind = kinds[0] if kinds else 1
        if kind == 1 and torch.backends.cuda.matmul.allow_tf32:
            kind = 2
        if not self.gpu.contents.flops[kind]:
            raise ValueError(f"annex_torch: {self.name} does not compute in bf16")
        flops = multiplied(name, args, result)
        return int(self.dll.annex_gpu_ns(self.gpu, kind, flops, moved))


class Recorder(TorchDispatchMode):
    """One iteration. Storages are known by the address of their implementation."""

    def __init__(self, device, known, params, previous, roofline):
        super().__init__()
        self.roofline = roofline
        self.device = device
        self.storages = {}
        self.kernels = []
        self.gradless = dict(params)
        for key, old in (previous.live if previous else {}).items():
            if not old.ref.expired():
                self.storages[key] = Storage(old.ref, old.bytes, 0)
        self.live = dict(self.storages)
        for tensor in known:
            self.storage(tensor)
        for storage in self.storages.values():
            storage.before = True

    def storage(self, tensor):
        """The Storage of a tensor on the device; None for others and for empty ones."""
        if tensor.device != self.device:
            return None
        untyped = storage_of(tensor)
        if untyped is None or untyped.nbytes() == 0:
            return None
        key = untyped._cdata
        storage = self.storages.get(key)
        if storage is None:
            storage = Storage(StorageWeakRef(untyped), untyped.nbytes(), len(self.kernels))
            self.storages[key] = self.live[key] = storage
        storage.bytes = max(storage.bytes, untyped.nbytes())
        return storage

    def storages_of(self, value):
        found = {}
        for tensor in tensors_in(value):
            storage = self.storage(tensor)
            if storage:
                found[id(storage)] = storage
        return found

    def note_deaths(self):
        """Note which storages have gone since the last kernel."""
        dead = [key for key, s in self.live.items() if s.ref.expired()]
        for key in dead:
            self.live.pop(key).death = len(self.kernels) - 1

    def find_gradients(self):
        """Gradients that have appeared: the optimizer may take them away before the end."""
        found = [n for n, p in self.gradless.items() if p.grad is not None]
        for name in found:
            storage = self.storage(self.gradless[name].grad)
            # One from the iteration before stays in use, or makes room for another.
            if storage and storage.first is not None:
                storage.role, storage.name = "gradient", name + ".grad"
                del self.gradless[name]

    def split_arguments(self, func, args, kwargs):
        """Storages that an operator reads, and storages that it writes."""
        reads, writes = {}, {}
        name = func._schema.name.split("::")[-1]
        for i, arg in enumerate(func._schema.arguments):
            value = args[i] if i < len(args) else kwargs.get(arg.name)
            written = arg.alias_info is not None and arg.alias_info.is_write
            if name in RUNNING and arg.name.startswith("running_"):
                written = True
            part = self.storages_of(value)
            if written:
                writes.update(part)
            if not written or not (arg.kwarg_only or self.overwrites(name, value)):
                reads.update(part)
        return reads, writes

    def overwrites(self, name, value):
        """Whether an in-place operator replaces all of its target."""
        return name in OVERWRITE and all(
            t.numel() * t.element_size() == storage_of(t).nbytes() for t in tensors_in(value))

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        self.find_gradients()
        self.note_deaths()
        reads, writes = self.split_arguments(func, args, kwargs)
        kernel = Kernel(func._schema.name.split("::")[-1], reads, writes)
        result = self.run(kernel, func, args, kwargs)
        if func._schema.name.startswith("profiler::"):
            return result
        produced = self.storages_of(result)
        fresh = {k: s for k, s in produced.items() if k not in reads}
        if fresh and not reads and self.comes_from_elsewhere([args, kwargs]):
            for storage in fresh.values():
                storage.role = "input"
        view = produced and not fresh and not writes
        if not view and kernel.name not in ALLOCATE:
            writes.update(fresh)
            self.add(kernel)
        return result

    def comes_from_elsewhere(self, arguments):
        return any(t.device != self.device for t in tensors_in(arguments))

    def add(self, kernel):
        if not kernel.reads and not kernel.writes:
            return
        number = len(self.kernels)
        for storage in kernel.reads.values():
            storage.use(number, True)
        for storage in kernel.writes.values():
            storage.use(number, False)
        self.kernels.append(kernel)

    def run(self, kernel, func, args, kwargs):
        """Run the operator and take its time; on a GPU also the bytes of its workspace."""
        if self.roofline:
            result = func(*args, **kwargs)
            kernel.ns = self.roofline.ns(kernel.name, args, kwargs, result)
            return result
        if self.device.type != "cuda":
            start = time.perf_counter_ns()
            result = func(*args, **kwargs)
            kernel.ns = time.perf_counter_ns() - start
            return result
        before = torch.cuda.memory_allocated(self.device)
        torch.cuda.reset_peak_memory_stats(self.device)
        kernel.events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        kernel.events[0].record()
        result = func(*args, **kwargs)
        kernel.events[1].record()
        after = torch.cuda.memory_allocated(self.device)
        kernel.workspace = torch.cuda.max_memory_allocated(self.device) - max(before, after)
        return result

    def end(self):
        self.find_gradients()
        self.note_deaths()

    def signature(self):
        return [(k.name, sorted(s.bytes for s in k.reads.values()),
                 sorted(s.bytes for s in k.writes.values())) for k in self.kernels]


def page_rounded(size):
    return (size + PAGE - 1) // PAGE * PAGE


def named_state(model, optimizer):
    """(tensor, role, name) of parameters, buffers and optimizer state."""
    names = {}
    if model is not None:
        for name, p in model.named_parameters():
            names[p] = name
            yield p, "weight", name
        for name, b in model.named_buffers():
            yield b, None, name
    if optimizer is not None:
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p not in names:
                    names[p] = f"parameter{len(names)}"
                    yield p, "weight", names[p]
        for p, state in optimizer.state.items():
            for key, value in state.items():
                for tensor in tensors_in(value):
                    yield tensor, "optimizer", f"{names.get(p, 'parameter')}.{key}"


def parameters(model, optimizer):
    return {name: p for p, role, name in named_state(model, optimizer)
            if role == "weight" and p.requires_grad}


def one_iteration(step, device, model, optimizer, previous, roofline):
    known = [t for t, _, _ in named_state(model, optimizer)]
    params = parameters(model, optimizer)
    known += [p.grad for p in params.values() if p.grad is not None]
    recorder = Recorder(device, known, params, previous, roofline)
    del known
    with recorder:
        step()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    recorder.end()
    for tensor, role, name in named_state(model, optimizer):
        storage = recorder.storage(tensor)
        if storage:
            storage.role, storage.name = role, name
    return recorder


def describe(storage, number, kernels):
    """A storage as a tensor of the trace."""
    lasts = storage.death is None
    # One that no kernel makes was there before, however it came.
    given = not storage.written_first and storage.role != "input"
    tensor = {"id": number, "bytes": page_rounded(storage.bytes),
              "global": lasts and (storage.before or given)}
    role = storage.role or ("input" if given and not storage.name else None)
    if not role and not tensor["global"]:
        role = "activation"
    if storage.name:
        tensor["name"] = storage.name
    if role:
        tensor["role"] = role
    if not tensor["global"]:
        tensor["birth"] = 0 if given else min(storage.birth, storage.first)
        tensor["death"] = kernels - 1 if lasts else max(storage.death, storage.last)
    return tensor


def trace_of(recorder, times):
    """The file's content: tensors in the order of their first use, then the kernels."""
    used = sorted((s for s in recorder.storages.values() if s.first is not None),
                  key=lambda s: s.first)
    ids = {id(s): i for i, s in enumerate(used)}
    tensors = [describe(s, i, len(recorder.kernels)) for i, s in enumerate(used)]
    kernels = []
    for number, kernel in enumerate(recorder.kernels):
        out = sorted(ids[k] for k in kernel.writes)
        workspace = page_rounded(kernel.workspace)
        if workspace > 0:
            out.append(len(tensors))
            tensors.append({"id": len(tensors), "bytes": workspace, "global": False,
                            "role": "workspace", "birth": number, "death": number})
        kernels.append({"name": kernel.name, "ns": max(1, times[number]),
                        "in": sorted(ids[k] for k in kernel.reads), "out": out})
    return tensors, kernels


def save(path, head, tensors, kernels):
    """One tensor and one kernel a line; a regular file appears when it is complete. Pipes and
    devices are not replaced, and links are followed."""
    to = temporary = os.path.realpath(path)
    if os.path.isfile(to) or not os.path.exists(to):
        temporary += f".{os.getpid()}"
    try:
        with open(temporary, "w", encoding="ascii") as f:
            f.write(json.dumps(head)[:-1])
            for key, rows in (("tensors", tensors), ("kernels", kernels)):
                f.write(f',\n "{key}":[\n  ')
                f.write(",\n  ".join(json.dumps(row, separators=(",", ":")) for row in rows))
                f.write("\n ]")
            f.write("}\n")
        if temporary != to:
            os.replace(temporary, to)
    except OSError as failure:
        raise OSError(failure.errno, failure.strerror, path) from None
    finally:
        if temporary != to and os.path.exists(temporary):
            os.remove(temporary)


def device_of(model, optimizer, device):
    if device is not None:
        device = torch.device(device)
        if device.type == "cuda" and device.index is None:
            device = torch.device("cuda", torch.cuda.current_device())
        return device
    for tensor, _, _ in named_state(model, optimizer):
        return tensor.device
    raise ValueError("annex_torch: give a model, an optimizer, or a device")


def device_name(device):
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{device.type}, {torch.get_num_threads()} threads"


def record(step, out="trace.json", model=None, optimizer=None, iterations=3, warmup=1,
           batch=None, name=None, device=None, gpu=None):
    """Run step() warmup + iterations times, and write the last one as a trace to the file out.

    model and optimizer tell weights, gradients and optimizer state apart, and on which device to
    look; all of it works on that one device. The time of a kernel is the median over the iterations
    that ran the same operators as the last one. batch and name are for people. warmup must be long
    enough for the optimizer to make its state: once, usually. gpu: a GPU of annex trace gen, whose
    rates give the times; needed on the device "meta", which has neither memory nor time.

    Returns the trace as a dictionary.
    """
    if iterations < 1 or warmup < 0:
        raise ValueError("annex_torch: one iteration at least, and no negative warmup")
    device = device_of(model, optimizer, device)
    if device.type == "meta" and not gpu:
        raise ValueError("annex_torch: nothing takes time on meta: name a GPU, as in gpu='h100'")
    roofline = Roofline(gpu) if gpu else None
    for _ in range(warmup):
        step()
    recorders = [None]
    for _ in range(iterations):
        recorders.append(one_iteration(step, device, model, optimizer, recorders[-1],
                                       roofline))
    last = recorders[-1]
    if not last.kernels:
        raise ValueError(f"annex_torch: the function runs nothing on {device}")
    same = [r for r in recorders[1:] if r.signature() == last.signature()]
    times = [int(statistics.median(r.kernels[i].time() for r in same))
             for i in range(len(last.kernels))]
    head = {"format": "annex-trace/1",
            "model": name or (type(model).__name__ if model is not None else "step"),
            "device": f"{roofline.name if gpu else device_name(device)}, "
                      f"PyTorch {torch.__version__}"}
    if batch:
        head["batch"] = batch
    tensors, kernels = trace_of(last, times)
    save(out, head, tensors, kernels)
    return {**head, "tensors": tensors, "kernels": kernels}


def example_mlp():
    """Three linear layers and Adam."""
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(),
                                torch.nn.Linear(512, 512), torch.nn.ReLU(),
                                torch.nn.Linear(512, 10))
    return model, torch.randn(64, 256), torch.randint(10, (64,)), lambda y: y


def example_transformer():
    """Two encoder layers on random sequences, and Adam."""
    layer = torch.nn.TransformerEncoderLayer(128, 4, 512, batch_first=True)
    model = torch.nn.Sequential(torch.nn.Embedding(1000, 128),
                                torch.nn.TransformerEncoder(layer, 2), torch.nn.Linear(128, 1000))
    tokens = torch.randint(1000, (8, 64))
    return model, tokens, tokens, lambda y: y.flatten(0, 1)


EXAMPLES = {"mlp": example_mlp, "transformer": example_transformer}


def run_example(which, out, iterations, device, gpu=None):
    model, x, target, rows = EXAMPLES[which]()
    model = model.to(device)
    x, target = x.to(device), target.to(device).flatten()
    optimizer = torch.optim.Adam(model.parameters())

    def step():
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(rows(model(x)), target).backward()
        optimizer.step()

    return record(step, out=out, model=model, optimizer=optimizer, iterations=iterations,
                  batch=x.shape[0], name=which, gpu=gpu)


class Parser(argparse.ArgumentParser):
    def error(self, message):
        sys.exit(f"annex_torch: {message}")


def main():
    parser = Parser(description=__doc__.splitlines()[0])
    parser.add_argument("--example", required=True, choices=sorted(EXAMPLES), help="what to train")
    parser.add_argument("-o", "--output", required=True, help="the trace to write")
    parser.add_argument("--iterations", type=int, default=3, help="to take times from (3)")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or meta (cpu)")
    parser.add_argument("--gpu", help="take times from the rates of this GPU, as h100")
    args = parser.parse_args()
    try:
        trace = run_example(args.example, args.output, args.iterations, args.device, args.gpu)
    except (OSError, RuntimeError, ValueError, AssertionError) as failure:
        line = str(failure).splitlines()[0].replace("annex_torch: ", "", 1)
        sys.exit(f"annex_torch: {line}")
    total = sum(kernel["ns"] for kernel in trace["kernels"])
    print(f"{args.output}: {len(trace['kernels'])} kernels, {len(trace['tensors'])} tensors, "
          f"{total / 1e6:.3f} ms")


if __name__ == "__main__":
    main()
