"""Writes all that it takes to train a small transformer on text, character by character.

    python3 examples/pytorch/characters.py FOLDER            files for ./vertigrad train FOLDER/job.json
    python3 examples/pytorch/characters.py FOLDER --train    and PyTorch's own loop over the same samples

The text is this repository's documentation. A sample is 32 characters, its class the next one. FOLDER gets
train.csv, test.csv, transformer.pt and job.json. Needs PyTorch, nothing else.
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
CLASSES = 96
STRIDE = 9
BATCH = 128
STEPS = 200
RATE = 0.003


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
        weights = torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(width // self.heads), -1)
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
    """Takes characters as float32 numbers, which is what samples are, and puts out one row of logits."""

    def __init__(self, width: int = 64, heads: int = 4, blocks: int = 2):
        super().__init__()
        self.characters = nn.Embedding(CLASSES, width)
        self.positions = nn.Parameter(0.02 * torch.randn(CONTEXT, width))
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(blocks)))
        self.last = nn.LayerNorm(width)
        self.logits = nn.Linear(width, CLASSES)

    def forward(self, x):
        x = self.blocks(self.characters(x.long()) + self.positions)
        return self.logits(self.last(x[:, -1]))


def samples():
    """Windows of the documentation, of which every tenth stretch is for testing."""
    root = pathlib.Path(__file__).resolve().parents[2]
    pages = [root / "README.md", *sorted((root / "docs").glob("*.md")), root / "conf" / "README.md"]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    numbers = [min(max(ord(c) - 31, 0), CLASSES - 1) for c in text]
    split = {"train": [], "test": []}
    for i, at in enumerate(range(0, len(numbers) - CONTEXT - 1, STRIDE)):
        split["test" if i // 100 % 10 == 9 else "train"].append(numbers[at:at + CONTEXT + 1])
    return split


def write(folder, split):
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in split.items():
        with open(folder / (name + ".csv"), "w") as file:
            file.writelines(",".join(map(str, row)) + "\n" for row in rows)
    torch.manual_seed(0)
    torch.jit.script(Transformer()).save(str(folder / "transformer.pt"))
    job = {
        "job": "characters",
        "engine": "pytorch",
        "steps": STEPS,
        "data": {"name": "csv", "directory": str(folder), "label": CONTEXT + 1, "classes": CLASSES},
        "model": {"name": str(folder / "transformer.pt")},
        "optimizer": {"name": "adam", "learningRate": RATE},
        "strategy": {"name": "sync", "reduction": "mean"},
        "workers": {"count": 1, "batch": BATCH},
        "evaluator": {"every": 50, "samples": 1000},
    }
    (folder / "job.json").write_text(json.dumps(job, indent=2) + "\n")


def train(folder, split):
    """The same module, optimizer, batches of the same size, the same number of steps."""
    torch.set_num_threads(1)
    model = torch.jit.load(str(folder / "transformer.pt")).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    rows = torch.tensor(split["train"])
    order = []
    generator = random.Random(0)
    for step in range(STEPS):
        if len(order) < BATCH:
            order = list(range(len(rows)))
            generator.shuffle(order)
        batch = rows[[order.pop() for _ in range(BATCH)]]
        optimizer.zero_grad()
        functional.cross_entropy(model(batch[:, :-1].float()), batch[:, -1]).backward()
        optimizer.step()
        if (step + 1) % 50 == 0:
            test(model.eval(), split, step + 1)
            model.train()


def test(model, split, step):
    rows = torch.tensor(split["test"])
    with torch.no_grad():
        logits = model(rows[:, :-1].float())
    loss = functional.cross_entropy(logits, rows[:, -1])
    right = (logits.argmax(1) == rows[:, -1]).float().mean()
    print("step %4d  accuracy %.2f %%  loss %.4f  (%d test samples)" % (step, 100 * right, loss, len(rows)))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1]).resolve()
    split = samples()
    write(folder, split)
    print("%s: %d training and %d test samples" % (folder, len(split["train"]), len(split["test"])))
    if "--train" in sys.argv:
        train(folder, split)


main()
