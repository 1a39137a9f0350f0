# SPDX-License-Identifier: MIT
"""Claims about annex.offload where touches of a tensor are not seen, as on a GPU.

twin.py DIRECTORY-OF-annex. The device tier is the host's frames: an operator whose tensors were not
brought crashes here.
"""
import sys
import tempfile
import threading

import whole
from whole import MIB, alike, annex, claim, closed, refused, run_in, summary, torch
import frames
from annex import library, native
from annex.block import hear, move_used

MEMORY = "6M"  # frames are whole ones


def tier(memory=MEMORY, **options):
    return whole.whole(memory, **options)


def fill():
    """Others leave for these."""
    return [torch.full((256, 1024), float(i)) for i in range(12)]


def check_entry():
    """Tensors move to the space and back; a tensor that an address fills does not lie there."""
    x = torch.arange(300000.0)
    place = x.data_ptr()
    large = torch.ones(1 << 20)
    with tier() as it:
        stats = it.stats()
        claim("a tensor moves", x.data_ptr() != place and stats["moved"] >= 1)
        told = torch.tensor([float(i) for i in range(30000)])
        raw = torch.empty(30000)
        raw.numpy()[:] = 7
        claim("a list and an array fill ordinary memory", told[29999] == 29999 and
              raw.sum() == 210000)
        view = x[1000:2000]
        x.add_(1)
        kept = fill()
        claim("a tensor has left, and its view comes", it.stats()["out"] > 4 * MIB and
              view[0] == 1001)
        claim("others have", all(t.sum() == i << 18 for i, t in enumerate(kept)))
        claim("more than half of the memory stays where it is", large.sum() == 1 << 20 and
              large.numpy()[5] == 1)
    claim("numbers afterwards", x[299999] == 300000 and
          all(t.numpy()[9, 9] == i for i, t in enumerate(kept)))
    claim("all is freed after entry", closed(it))


def check_lists():
    """An operator on lists, whose tensors are more than the device tier at once."""
    def work():
        values = [torch.full((256, 256), float(i + 1)) for i in range(40)]
        torch._foreach_add_(values, 1)
        torch._foreach_addcdiv_(values, values, values, [float(i) for i in range(40)])
        roots = torch._foreach_sqrt(values)
        norms = torch._foreach_norm(roots)
        return [*values, *roots, *norms]

    plain = work()
    with tier() as it:
        values = work()
        stats = it.stats()
    claim("lists: the same numbers", alike(plain, values))
    claim(f"lists: never more than the budget: {stats}", not stats["over"] and
          stats["out"] > 4 * MIB)
    del values
    claim("lists: all is freed", closed(it))


def check_kept():
    """An operator keeps memory that it has made, and uses it again without being given it."""
    if not hasattr(torch.library, "custom_op"):  # before PyTorch 2.4
        return
    workspace = []

    @torch.library.custom_op("annex_tests::plus_three", mutates_args=())
    def plus_three(x: torch.Tensor) -> torch.Tensor:
        if not workspace:
            workspace.append(torch.full((256, 512), 3.0))
        return x + workspace[0]

    x = torch.ones(256, 512)
    with tier() as it:
        first = plus_three(x)
        kept = fill()
        again = plus_three(x)
        claim("it is still there", it.stats()["out"] > 4 * MIB and first.sum() == 1 << 19 and
              torch.equal(first, again))
        del kept
    workspace.clear()
    claim("all is freed with a workspace", closed(it))


def check_sparse():
    """A sparse tensor has others inside."""
    indices = torch.arange(60000).repeat(2, 1)
    values = torch.arange(60000.0)
    dense = torch.ones(60000, 4)
    sparse = torch.sparse_coo_tensor(indices, values, (60000, 60000)).coalesce()
    plain = torch.sparse.mm(sparse, dense)
    with tier() as it:
        own = torch.sparse_coo_tensor(indices, values + 0, (60000, 60000)).coalesce()
        kept = fill()
        claim("a sparse tensor comes", torch.equal(torch.sparse.mm(own, dense), plain))
        del kept, own
    claim("all is freed with a sparse tensor", closed(it))


def check_threads():
    """A thread that is not the block's has ordinary memory."""
    sums = []

    def work():
        sums.append([torch.full((100000,), float(i)).sum().item() for i in range(30)])

    with tier() as it:
        thread = threading.Thread(target=work)
        thread.start()
        work()
        thread.join()
    claim("threads have the right sums", sums == [[100000.0 * i for i in range(30)]] * 2)
    claim("all is freed after threads", closed(it))


def check_errors():
    side, other = torch.ones(512, 512), torch.ones(512, 512)
    it = tier("2M")
    refused("a sum that is too large", 28, "aten::add uses 3145728 bytes of tensors at once, and "
            "device_memory is 2097152", lambda: run_in(it, lambda: side + other))
    claim("a sum that is too large: all is freed", closed(it) and side.sum() == 1 << 18)
    it = tier("2M", storage="mem:64M?fault=error,op=write,count=0")
    refused("storage that does not write", 5, "aten::", lambda: run_in(it, fill))
    claim("storage that does not write: all is freed", closed(it))


def check_device():
    refused("no such device", 22, "nonsense", lambda: annex.offload(
        device_memory="8M", storage="mem:64M", device="nonsense"))
    if not torch.cuda.is_available():
        refused("no GPU", 19, "no GPU", lambda: annex.offload(
            device_memory="8M", storage="mem:64M", device="cuda:0"))


def check_compiled():
    """The part for GPUs, where PyTorch and its headers are CUDA's."""
    if not torch.version.cuda:
        return
    told = None
    with tempfile.TemporaryDirectory() as scratch:
        try:
            native.compile_to(f"{scratch}/native.so", True)
        except native.Unavailable as reason:
            told = str(reason)
    claim(f"the part for GPUs compiles: {told}", not told or "CUDA's headers" in told)


def main():
    try:
        native.Native.load(library.Library(), hear, move_used)
    except native.Unavailable as reason:
        print(reason)
        return 1
    whole.warnings.simplefilter("ignore")
    check_device()
    with frames.instead():
        check_errors()
        check_entry()
        check_lists()
        check_kept()
        check_sparse()
        check_threads()
        whole.check_plans()
        whole.check_training()
    check_compiled()
    return summary()


sys.exit(main())
