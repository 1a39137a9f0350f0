# SPDX-License-Identifier: MIT
"""Models and trainers of others in annex.offload(device_memory=...): libraries.py DIRECTORY.

It needs transformers, accelerate and safetensors, and no files of them: weights are random.
"""
import contextlib
import gc
import os
import signal
import sys
import tempfile
import warnings

sys.path.insert(0, sys.argv[1])
os.environ["HF_HUB_OFFLINE"] = "1"
import safetensors.torch  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
import annex  # noqa: E402
from claims import alike, claim, summary  # noqa: E402
from models import numbers  # noqa: E402

MIB = 1 << 20
NOBODY = 65534
VOCABULARY, LENGTH = 500, 64


def whole(memory="4M", storage="mem:256M"):
    return annex.offload(device_memory=memory, storage=storage)


def words(count):
    return torch.randint(VOCABULARY, (count, LENGTH))


def gpt2():
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
        n_layer=2, n_head=4, n_embd=128, vocab_size=VOCABULARY, n_positions=LENGTH))
    tokens = words(4)
    return model, {"input_ids": tokens, "labels": tokens}


def llama():
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, vocab_size=VOCABULARY, max_position_embeddings=LENGTH))
    tokens = words(4)
    return model, {"input_ids": tokens, "labels": tokens}


def vit():
    model = transformers.ViTForImageClassification(transformers.ViTConfig(
        hidden_size=128, intermediate_size=512, num_hidden_layers=2, num_attention_heads=4,
        image_size=32, patch_size=4, num_labels=10))
    return model, {"pixel_values": torch.randn(8, 3, 32, 32), "labels": torch.randint(10, (8,))}


OPTIMIZERS = {
    "AdamW": lambda p: torch.optim.AdamW(p, lr=1e-3),
    "AdamW, foreach": lambda p: torch.optim.AdamW(p, lr=1e-3, foreach=True),
    "AdamW, fused": lambda p: torch.optim.AdamW(p, lr=1e-3, fused=True),
    "SGD, fused": lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9, fused=True),
    "SGD": lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9, nesterov=True),
}


def train(make, optimizer, around, parts=1, bfloat16=False):
    """A loop with accumulation and clipping."""
    torch.manual_seed(7)
    model, batch = make()
    model.train()
    optimizer = OPTIMIZERS[optimizer](model.parameters())
    seen = []
    with around as it:
        for _ in range(5):
            for _ in range(parts):
                with torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
                    loss = model(**batch).loss / parts
                loss.backward()
                seen.append(loss.detach().clone())
            seen.append(torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5).clone())
            optimizer.step()
            optimizer.zero_grad()
        stats = it.stats() if it else None
    return seen + numbers(model, optimizer), stats


def check(name, plain, values, stats, steps):
    claim(f"{name}: the same numbers", alike(plain, values) and len(plain) > 20)
    claim(f"{name}: tensors have left and returned: {stats}",
          stats["out"] > MIB and stats["in"] > MIB and stats["over"] == 0 and
          stats["ordinary"] == 0 and stats["iterations"] == steps)


def compare(name, make, optimizer="AdamW", memory="4M", **options):
    plain = train(make, optimizer, contextlib.nullcontext(), **options)[0]
    values, stats = train(make, optimizer, whole(memory), **options)
    check(f"{name}, {optimizer}", plain, values, stats, 5)


def check_loops():
    for make in (gpt2, llama, vit):
        compare(make.__name__, make)
    for optimizer in OPTIMIZERS:
        compare("gpt2", gpt2, optimizer, "12M" if "fused" in optimizer else "4M")
    compare("parts of a batch", llama, parts=2)
    compare("bfloat16", llama, bfloat16=True)


def run_trainer(make, around, scratch, **options):
    torch.manual_seed(7)
    model, batch = make()
    rows = [{key: value[i] for key, value in batch.items()} for i in range(len(batch["labels"]))]
    trainer = transformers.Trainer(model, train_dataset=rows, args=transformers.TrainingArguments(
        output_dir=scratch, use_cpu=True, report_to=[], save_strategy="no", logging_steps=1,
        per_device_train_batch_size=2, gradient_accumulation_steps=2, max_steps=4,
        disable_tqdm=True, dataloader_pin_memory=False, **options))
    with around as it:
        trainer.train()
        trainer.save_model(scratch)
        stats = it.stats() if it else None
    losses = [torch.tensor(row["loss"]) for row in trainer.state.log_history if "loss" in row]
    saved = safetensors.torch.load_file(os.path.join(scratch, "model.safetensors"))
    return losses + list(saved.values()) + list(model.parameters()), stats


def check_trainer(scratch):
    for make, memory, options in ((gpt2, "12M", {}), (vit, "4M", {"optim": "adamw_torch"}),
                                  (llama, "4M", {"optim": "adamw_torch", "bf16": True})):
        plain = run_trainer(make, contextlib.nullcontext(), scratch, **options)[0]
        values, stats = run_trainer(make, whole(memory), scratch, **options)
        check(f"Trainer, {make.__name__}", plain, values, stats, 4)


def check_pretrained(scratch):
    """Weights of from_pretrained() are parts of a mapped file. When they are trained, they move."""
    torch.manual_seed(7)
    model, batch = llama()
    model.save_pretrained(scratch)
    optimizer = OPTIMIZERS["AdamW"]

    def load():
        return transformers.LlamaForCausalLM.from_pretrained(scratch)

    def run(around, before):
        loaded = load() if before else None
        with around as it:
            loaded = loaded or load()
            steps, seen = optimizer(loaded.parameters()), []
            for _ in range(4):
                loss = loaded(**batch).loss
                loss.backward()
                steps.step()
                steps.zero_grad()
                seen.append(loss.detach().clone())
            stats = it and it.stats()
        return seen + numbers(loaded, steps), stats

    plain = run(contextlib.nullcontext(), False)[0]
    for before in (False, True):
        values, stats = run(whole("3M"), before)
        claim(f"from_pretrained, before the block {before}: the same numbers",
              alike(plain, values))
        claim(f"from_pretrained, before the block {before}: weights have moved: {stats}",
              stats["outside"] < MIB // 2 and stats["moved"] > 10 and stats["out"] > MIB)


def check_files(name, scratch):
    """Tensors are saved, and loaded: some of them have left."""
    path = os.path.join(scratch, name)

    def make():
        return {str(i): torch.arange(200000.0) * (i + 1) for i in range(20)}

    plain = make()

    def same(loaded):
        return loaded.keys() == plain.keys() and all(
            torch.equal(loaded[key], plain[key]) for key in plain)

    with whole("4M") as it:
        tensors = make()
        safetensors.torch.save_file(tensors, path)
        claim(f"{name}: a file", same(safetensors.torch.load_file(path)))
        claim(f"{name}: bytes", same(safetensors.torch.load(safetensors.torch.save(tensors))))
        torch.save(tensors, path)
        claim(f"{name}: PyTorch's own", same(torch.load(path)))
        claim(f"{name}: tensors have left", it.stats()["out"] > 16 * MIB)
    safetensors.torch.save_file(tensors, path)
    claim(f"{name}: after the block", same(safetensors.torch.load_file(path)))
    del tensors
    gc.collect()
    claim(f"{name}: all is freed", not it.is_open())


def check_user(scratch):
    """An ordinary user's system calls fail on absent bytes."""
    torch.set_num_threads(1)  # OpenMP's others are not in a child
    child = os.fork()
    if not child:
        signal.alarm(100)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        check_files("an ordinary user's files", scratch)
        os._exit(summary())
    claim("an ordinary user's files", os.waitpid(child, 0)[1] == 0)


def main():
    transformers.logging.set_verbosity_error()
    warnings.simplefilter("ignore", FutureWarning)
    warnings.simplefilter("ignore", UserWarning)
    with tempfile.TemporaryDirectory() as scratch:
        os.chmod(scratch, 0o777)
        check_loops()
        check_trainer(scratch)
        check_pretrained(scratch)
        check_files("files", scratch)
        if os.getuid() == 0:
            check_user(scratch)
    return summary()


sys.exit(main())
