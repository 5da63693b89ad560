"""Writes all that it takes to train a small transformer on text, byte by byte.

    python3 examples/pytorch/characters.py FOLDER            files for ./vertigrad train FOLDER/job.json
    python3 examples/pytorch/characters.py FOLDER --train    and PyTorch's own loop over the same samples

The text is this repository's folder docs/guide. A sample is a window of 32 bytes; the model tells at each position
the next one. FOLDER gets transformer.pt and job.json. Needs PyTorch, nothing else.
"""

import json
import math
import pathlib
import random
import sys

import torch
from torch import nn
from torch.nn import functional

CONTEXT = 32
TOKENS = 256
TEST_SHARE = 0.1
BATCH = 64
STEPS = 200
RATE = 0.003
DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs" / "guide"


class Attention(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.inward = nn.Linear(width, 3 * width)
        self.outward = nn.Linear(width, width)

    def forward(self, x):
        samples, length, width = x.shape
        parts = self.inward(x).view(samples, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        scores = query @ key.transpose(-2, -1) / math.sqrt(width // self.heads)
        later = torch.ones(length, length, device=x.device).triu(1).to(torch.bool)
        weights = torch.softmax(scores.masked_fill(later, -math.inf), -1)
        return self.outward((weights @ value).transpose(1, 2).reshape(samples, length, width))


class Block(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.before_attention = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.before_dense = nn.LayerNorm(width)
        self.dense = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.before_attention(x))
        return x + self.dense(self.before_dense(x))


class Transformer(nn.Module):
    """Takes ids as int64, [samples, CONTEXT], and puts out logits at each position, [samples, CONTEXT, TOKENS]."""

    def __init__(self, width: int = 64, heads: int = 4, blocks: int = 2):
        super().__init__()
        self.tokens = nn.Embedding(TOKENS, width)
        self.positions = nn.Parameter(0.02 * torch.randn(CONTEXT, width))
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(blocks)))
        self.last = nn.LayerNorm(width)
        self.logits = nn.Linear(width, TOKENS)

    def forward(self, x):
        return self.logits(self.last(self.blocks(self.tokens(x) + self.positions)))


def samples():
    """Windows as the data set `text` cuts them: the pages in order of their names, the last tenth for testing."""
    text = b"".join(page.read_bytes() for page in sorted(DOCS.glob("*.md")))
    border = int(len(text) * (1 - TEST_SHARE))
    split = {"train": text[:border], "test": text[border:]}
    return {
        name: torch.tensor([list(part[at:at + CONTEXT + 1]) for at in range(0, len(part) - CONTEXT, CONTEXT)])
        for name, part in split.items()
    }


def write(folder):
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    torch.jit.script(Transformer()).save(str(folder / "transformer.pt"))
    job = {
        "job": "characters",
        "engine": "pytorch",
        "steps": STEPS,
        "data": {"name": "text", "directory": str(DOCS), "length": CONTEXT, "predict": "each"},
        "model": {"name": str(folder / "transformer.pt")},
        "optimizer": {"name": "adam", "learningRate": RATE},
        "strategy": {"name": "sync", "reduction": "mean"},
        "workers": {"count": 1, "batch": BATCH},
        "evaluator": {"every": 50, "samples": 200},
    }
    (folder / "job.json").write_text(json.dumps(job, indent=2) + "\n")


def train(folder, split):
    """The same module, optimizer, batches of the same size, the same number of steps."""
    torch.set_num_threads(1)
    model = torch.jit.load(str(folder / "transformer.pt")).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    rows = split["train"]
    order = []
    generator = random.Random(0)
    for step in range(STEPS):
        if len(order) < BATCH:
            order = list(range(len(rows)))
            generator.shuffle(order)
        batch = rows[[order.pop() for _ in range(BATCH)]]
        optimizer.zero_grad()
        loss(model, batch).backward()
        optimizer.step()
        if (step + 1) % 50 == 0:
            test(model.eval(), split["test"], step + 1)
            model.train()


def loss(model, rows):
    return functional.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())


def test(model, rows, step):
    with torch.no_grad():
        found = loss(model, rows).item()
        right = (model(rows[:, :-1]).argmax(2) == rows[:, 1:]).float().mean()
    print(
        "step %4d  accuracy %.2f %%  perplexity %.4g  loss %.4f  (%d test samples)"
        % (step, 100 * right, math.exp(found), found, len(rows))
    )


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1]).resolve()
    split = samples()
    write(folder)
    print("%s: %d training and %d test samples" % (folder, len(split["train"]), len(split["test"])))
    if "--train" in sys.argv:
        train(folder, split)


if __name__ == "__main__":
    main()
