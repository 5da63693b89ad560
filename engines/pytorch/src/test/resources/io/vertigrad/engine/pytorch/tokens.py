"""Writes a TorchScript file that takes ids of tokens, and what PyTorch makes of it.

Run once with PyTorch 1.13 in the folder of this file: python3 tokens.py

tokens.pt    takes int64 [samples, 5], ids up to 10, and puts out [samples, 5, 11]: causal attention over embeddings
tokens.json  one batch with the loss of torch.nn.functional.cross_entropy over all positions and the gradient by parameter
"""

import json
import math

import torch
from torch import nn
from torch.nn import functional

from modules import without_debug

LENGTH = 5
TOKENS = 11


class Tokens(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(TOKENS, 8)
        self.places = nn.Parameter(0.1 * torch.randn(LENGTH, 8))
        self.inward = nn.Linear(8, 24)
        self.logits = nn.Linear(8, TOKENS)

    def forward(self, ids):
        x = self.tokens(ids) + self.places
        query, key, value = self.inward(x).chunk(3, 2)
        scores = query @ key.transpose(1, 2) / math.sqrt(8)
        later = torch.ones(ids.size(1), ids.size(1)).triu(1).to(torch.bool)
        return self.logits(x + torch.softmax(scores.masked_fill(later, -math.inf), -1) @ value)


def main():
    torch.manual_seed(5)
    without_debug(torch.jit.script(Tokens()), "tokens.pt")
    module = torch.jit.load("tokens.pt")
    ids = torch.randint(0, TOKENS, (4, LENGTH + 1))
    outputs = module(ids[:, :-1])
    loss = functional.cross_entropy(outputs.flatten(0, 1), ids[:, 1:].flatten())
    loss.backward()
    with open("tokens.json", "w") as file:
        json.dump({
            "ids": ids[:, :-1].flatten().tolist(),
            "next": ids[:, 1:].flatten().tolist(),
            "loss": loss.item(),
            "right": (outputs.argmax(2) == ids[:, 1:]).sum().item(),
            "gradient": [value for p in module.parameters() for value in p.grad.flatten().tolist()],
        }, file)


main()
