"""Writes the files beside it, with PyTorch 2.14: exported.py FOLDER.

Each NAME.pt2 is a network that torch.export.save wrote, and NAME.safetensors what PyTorch computes with it: x and y
(a batch), output (of x in inference mode), loss (before each of five steps of SGD at rate 0.1, in training mode) and
after.TENSOR (every parameter and buffer after these steps).
"""
import json
import struct
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.parametrizations import weight_norm

torch.manual_seed(7)
torch.set_num_threads(1)


class Recurrent(nn.Module):
    """Lists of tensors as arguments, two layers in both directions."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 8, padding_idx=0)
        self.gru = nn.GRU(8, 8, num_layers=2, bidirectional=True, batch_first=True)
        self.out = nn.Linear(16, 20)

    def forward(self, x):
        return self.out(self.gru(self.embedding(x))[0])


class Norms(nn.Module):
    """Normalisation with and without statistics: only the first depends on the mode."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 8, 3, padding=1)
        self.group = nn.GroupNorm(2, 8)
        self.tracked = nn.InstanceNorm2d(8, affine=True, track_running_stats=True)
        self.instance = nn.InstanceNorm2d(8)
        self.batch = nn.BatchNorm2d(8, track_running_stats=False)
        self.layer = nn.LayerNorm([8, 6, 6], elementwise_affine=False)
        self.prelu = nn.PReLU(8)
        self.out = nn.Linear(8, 3)

    def forward(self, x):
        x = self.instance(self.tracked(self.prelu(self.group(self.conv(x)))))
        return self.out(F.hardswish(self.layer(self.batch(x))).mean((-1, -2)))


class Mixed(nn.Module):
    """Arithmetic of sizes, numbers beside tensors, lists, slices, a scalar parameter and a table."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 12)
        self.b = weight_norm(nn.Linear(12, 12))
        self.c = nn.Linear(24, 3)
        self.register_buffer("mask", torch.tril(torch.ones(4, 4)), persistent=False)
        self.register_buffer("ramp", torch.linspace(0, 1, 12))
        self.scale = nn.Parameter(torch.tensor(1.5))

    def forward(self, x):
        n = x.shape[0]
        first, second = (self.a(x) * self.scale + 2).chunk(2, -1)
        z = torch.cat([second, first], -1) * self.ramp
        z = torch.where(z > 0.1, z, z * 0.5 - 1)
        q = torch.stack([z, self.b(z)], 1).reshape(n * 2, 12).view(n, 2, -1)
        q = q.transpose(1, 2).contiguous().view(n, 24)
        q = torch.cat((q[:, ::2], q[:, 1::2].masked_fill(q[:, 1::2] < -1, 0.0)), 1)
        q = q + torch.einsum("ij,kj->ki", self.mask, q[:, :4]).sum(1, keepdim=True) / 4
        return self.c(q) + torch.arange(n, device=x.device).unsqueeze(1) * 0.01


class Frozen(nn.Module):
    """A frozen layer, and a batch norm that stays in inference mode while the other one trains."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 8)
        self.fixed = nn.BatchNorm1d(8)
        self.b = nn.Linear(8, 3)
        self.moving = nn.BatchNorm1d(3)
        for parameter in self.a.parameters():
            parameter.requires_grad_(False)

    def train(self, mode=True):
        super().train(mode)
        self.fixed.eval()
        return self

    def forward(self, x):
        return self.moving(self.b(self.fixed(self.a(x))))


class Plain(nn.Module):
    """Batch norm and dropout."""

    def __init__(self, dropout):
        super().__init__()
        self.a = nn.Linear(8, 6)
        self.norm = nn.BatchNorm1d(6)
        self.dropout = nn.Dropout(dropout)
        self.b = nn.Linear(6, 3)

    def forward(self, x):
        return self.b(self.dropout(F.relu(self.norm(self.a(x)))))


class Views(Plain):
    """Training changes a row of a buffer, of which only a view is written; another buffer is empty."""

    def __init__(self):
        super().__init__(0.0)
        self.register_buffer("means", torch.zeros(2, 6))
        self.register_buffer("empty", torch.zeros(0))

    def forward(self, x):
        x = self.a(x)
        if self.training:
            self.means[1].mul_(0.9).add_(0.1 * x.mean(0).detach())
        return self.b(F.relu(self.norm(x - self.means[1])))


def values(*shape):
    return torch.randn(*shape)


def classes(count, *shape):
    return torch.randint(0, count, shape)


# Name: the network, a batch, whether it is exported in training mode, whether its batch may vary, its steps.
NETWORKS = {
    "recurrent": (Recurrent, lambda: (classes(20, 5, 7), classes(20, 5, 7)), True, True, 5),
    "norms": (Norms, lambda: (values(4, 2, 6, 6), classes(3, 4)), True, True, 5),
    "mixed": (Mixed, lambda: (values(6, 8), classes(3, 6)), True, True, 5),
    "frozen": (Frozen, lambda: (values(6, 8), classes(3, 6)), True, True, 5),
    "evaluated": (lambda: Plain(0.0), lambda: (values(6, 8), classes(3, 6)), False, True, 5),
    "dropped": (lambda: Plain(0.5), lambda: (values(6, 8), classes(3, 6)), True, True, 0),
    "fixed": (lambda: Plain(0.0), lambda: (values(6, 8), classes(3, 6)), True, False, 5),
    "views": (Views, lambda: (values(6, 8), classes(3, 6)), True, True, 5),
    "decomposed": (lambda: Plain(0.0), lambda: (values(6, 8), classes(3, 6)), True, True, 5),
    "decomposed-evaluated": (lambda: Plain(0.0), lambda: (values(6, 8), classes(3, 6)), False, True, 0),
}


def safetensors(path, tensors):
    head, at, parts = {}, 0, []
    for name, tensor in tensors.items():
        part = tensor.detach().contiguous().numpy().tobytes()
        kind = {torch.float32: "F32", torch.int64: "I64"}[tensor.dtype]
        head[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [at, at + len(part)]}
        at += len(part)
        parts.append(part)
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(parts))


for name, (make, batch, training, dynamic, steps) in NETWORKS.items():
    net = make()
    x, y = batch()
    net.eval()
    found = {"x": x, "y": y, "output": net(x).detach().clone()}
    net.train(training)
    shapes = {"x": {0: torch.export.Dim("batch", min=2)}} if dynamic else None
    program = torch.export.export(net, (x,), dynamic_shapes=shapes)
    if name.startswith("decomposed"):
        program = program.run_decompositions()
    torch.export.save(program, f"{sys.argv[1]}/{name}.pt2")
    net.train()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x).flatten(0, -2), y.flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    if losses:
        found["loss"] = torch.stack(losses)
        found.update({"after." + key: value for key, value in net.state_dict().items()})
    safetensors(f"{sys.argv[1]}/{name}.safetensors", found)
