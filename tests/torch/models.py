# SPDX-License-Identifier: MIT
"""Small models, each with a batch and its targets."""
import torch

F = torch.nn.functional


def mlp():
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.Tanh(), torch.nn.Dropout(0.2),
                                torch.nn.Linear(512, 512), torch.nn.ReLU(inplace=True),
                                torch.nn.LayerNorm(512), torch.nn.Linear(512, 100))
    return model, torch.randn(256, 256), torch.randint(100, (256,))


def small():
    model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(3)])
    return model, torch.randn(16, 256), torch.randint(100, (16,))


def convnet():
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.BatchNorm2d(16),
                                torch.nn.ReLU(), torch.nn.MaxPool2d(2),
                                torch.nn.Conv2d(16, 32, 3, padding=1), torch.nn.GELU(),
                                torch.nn.AdaptiveAvgPool2d(8), torch.nn.Flatten(),
                                torch.nn.Linear(2048, 100))
    return model.to(memory_format=torch.channels_last), torch.randn(8, 3, 32, 32), \
        torch.randint(100, (8,))


class Transformer(torch.nn.Module):
    """The embedding is also the output's matrix."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(500, 128)
        layer = torch.nn.TransformerEncoderLayer(128, 4, 512, batch_first=True)
        self.layers = torch.nn.TransformerEncoder(layer, 3)

    def forward(self, tokens):
        return F.linear(self.layers(self.embed(tokens)), self.embed.weight).flatten(0, 1)


def transformer():
    tokens = torch.randint(500, (4, 64))
    return Transformer(), tokens, tokens.flatten()


def numbers(model, optimizer):
    """All that training has changed."""
    found = [t.detach().clone() for t in (*model.parameters(), *model.buffers())]
    for values in optimizer.state.values():
        found += [v.clone() for v in values.values() if isinstance(v, torch.Tensor)]
    return found
