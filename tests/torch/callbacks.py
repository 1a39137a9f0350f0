# SPDX-License-Identifier: MIT
"""The callbacks of a page train as plain PyTorch does: callbacks.py DIRECTORY-OF-annex PAGE.

It needs transformers, accelerate and lightning, and no files of them: weights are random.
"""
import contextlib
import os
import re
import sys
import tempfile
import warnings

sys.path.insert(0, sys.argv[1])
os.environ["HF_HUB_OFFLINE"] = "1"
import accelerate  # noqa: E402
import lightning  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
import annex  # noqa: E402
from claims import alike, claim, summary  # noqa: E402

BUDGET = ("6M", "mem:256M")
STEPS = 4
PARTS = {}


def model_and_rows():
    torch.manual_seed(7)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
        n_layer=2, n_head=4, n_embd=128, vocab_size=500, n_positions=64))
    rows = [{"input_ids": row, "labels": row} for row in torch.randint(500, (8, 64))]
    return model, rows


def adam(model):
    return torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)


def check(name, plain, model, stats):
    claim(f"{name}: the same parameters", alike(plain, list(model.parameters())))
    claim(f"{name}: tensors have left, in {STEPS} iterations: {stats}",
          stats["out"] > 0 and stats["over"] == 0 and stats["iterations"] == STEPS)


def transformers_run(scratch, callbacks):
    model, rows = model_and_rows()
    trainer = transformers.Trainer(
        model, train_dataset=rows, callbacks=callbacks, args=transformers.TrainingArguments(
            output_dir=scratch, use_cpu=True, report_to=[], save_strategy="no", max_steps=STEPS,
            per_device_train_batch_size=2, disable_tqdm=True, dataloader_pin_memory=False,
            optim="adamw_torch"))
    trainer.train()
    return model


def check_transformers(scratch):
    plain = list(transformers_run(scratch, []).parameters())
    callback = PARTS["TrainerOffload"](*BUDGET)
    model = transformers_run(scratch, [callback])
    check("transformers", plain, model, callback.block.stats())


class Module(lightning.LightningModule):
    def __init__(self, model, fails=False):
        super().__init__()
        self.model, self.fails = model, fails

    def training_step(self, batch, number):
        if self.fails:
            raise ArithmeticError
        return self.model(**batch).loss

    def configure_optimizers(self):
        return adam(self.model)


def lightning_run(scratch, callbacks, fails=False):
    model, rows = model_and_rows()
    trainer = lightning.Trainer(
        accelerator="cpu", max_steps=STEPS, logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, callbacks=callbacks,
        default_root_dir=scratch)
    trainer.fit(Module(model, fails), torch.utils.data.DataLoader(rows, batch_size=2))
    return model


def check_lightning(scratch):
    plain = list(lightning_run(scratch, []).parameters())
    callback = PARTS["LightningOffload"](*BUDGET)
    model = lightning_run(scratch, [callback])
    check("lightning", plain, model, callback.block.stats())
    callback = PARTS["LightningOffload"](*BUDGET)
    with contextlib.suppress(ArithmeticError):
        lightning_run(scratch, [callback], True)
    claim("lightning: an exception ends the block", callback.block.stats()["state"] == "ended")


def check_accelerate(_):
    model, rows = model_and_rows()
    optimizer = adam(model)
    for batch in torch.utils.data.DataLoader(rows, batch_size=2):
        model(**batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    plain = list(model.parameters())
    model, rows = model_and_rows()
    stats = PARTS["train"](accelerate.Accelerator(cpu=True), model, adam(model),
                           torch.utils.data.DataLoader(rows, batch_size=2), *BUDGET)
    check("accelerate", plain, model, stats)


def main():
    transformers.logging.set_verbosity_error()
    warnings.simplefilter("ignore")
    with open(sys.argv[2], encoding="utf-8") as file:
        section = file.read().split("## Trainers of other libraries\n")[1].split("\n## ")[0]
    PARTS.update(annex=annex, transformers=transformers, lightning=lightning)
    for text in re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL):
        exec(text, PARTS)  # pylint: disable=exec-used
    with tempfile.TemporaryDirectory() as scratch:
        for run in check_transformers, check_lightning, check_accelerate:
            run(scratch)
    return summary()


if __name__ == "__main__":
    sys.exit(main())
