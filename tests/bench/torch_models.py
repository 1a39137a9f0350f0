# SPDX-License-Identifier: MIT
"""Models like GPT and ViT, of any size, with batches of random data.

Attention is written out, so that PyTorch 1.13 runs the same operators as later versions.
"""
import torch
from torch.utils.checkpoint import checkpoint

F = torch.nn.functional


class Block(torch.nn.Module):
    """A layer: attention, then two linear layers."""

    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads = heads
        self.causal = causal
        self.before = torch.nn.LayerNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)
        self.between = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def attend(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) * (width // self.heads) ** -0.5
        if self.causal:
            later = torch.ones(length, length, dtype=torch.bool).triu(1)
            scores = scores.masked_fill(later, float("-inf"))
        mixed = scores.softmax(-1) @ v
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        x = x + self.attend(self.before(x))
        return x + self.down(F.gelu(self.up(self.between(x))))


class Transformer(torch.nn.Module):
    """@recompute: each block is a torch.utils.checkpoint."""

    def __init__(self, embed, length, width, heads, layers, head, causal):
        super().__init__()
        self.recompute = False
        self.embed = embed
        self.place = torch.nn.Parameter(torch.randn(length, width) * 0.02)
        self.blocks = torch.nn.ModuleList(Block(width, heads, causal) for _ in range(layers))
        self.norm = torch.nn.LayerNorm(width)
        self.head = head

    def forward(self, x):
        x = self.embed(x) + self.place
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.recompute else block(x)
        return self.head(self.norm(x))


class Patches(torch.nn.Module):
    """Squares of an image as a sequence."""

    def __init__(self, size, width):
        super().__init__()
        self.cut = torch.nn.Conv2d(3, width, size, stride=size)

    def forward(self, images):
        return self.cut(images).flatten(2).transpose(1, 2)


class Pool(torch.nn.Module):
    """Classes of the mean of a sequence."""

    def __init__(self, width, classes):
        super().__init__()
        self.linear = torch.nn.Linear(width, classes)

    def forward(self, x):
        return self.linear(x.mean(1))


class Words(torch.nn.Linear):
    """Words of all sequences, one a row."""

    def forward(self, x):
        return super().forward(x).flatten(0, 1)


def gpt(batch, width, layers, heads, length, words):
    model = Transformer(torch.nn.Embedding(words, width), length, width, heads, layers,
                        Words(width, words, bias=False), True)
    model.head.weight = model.embed.weight
    torch.nn.init.normal_(model.embed.weight, std=0.02)  # as GPT-2: no denormal probabilities
    tokens = torch.randint(words, (batch, length))
    return model, tokens, tokens.roll(-1, 1).flatten()


def vit(batch, width, layers, heads, side, patch, classes):
    model = Transformer(Patches(patch, width), (side // patch) ** 2, width, heads, layers,
                        Pool(width, classes), False)
    return model, torch.randn(batch, 3, side, side), torch.randint(classes, (batch,))


class Residual(torch.nn.Sequential):
    """Gradients reach the first of many: they do not become denormal, which is slow."""

    def forward(self, x):
        return x + super().forward(x)


def deep(batch, width, layers):
    """Many small operators."""
    parts = [Residual(torch.nn.Linear(width, width), torch.nn.Tanh()) for _ in range(layers)]
    return torch.nn.Sequential(*parts), torch.randn(batch, width), torch.randint(width, (batch,))


MODELS = {"gpt": gpt, "vit": vit, "deep": deep}
