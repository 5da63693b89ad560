"""Writes files of torch.export in what formats differ: formats.py FOLDER, in the folder of mlp.pt2.

PyTorch 2.14 writes strided.pt2, infinity.pt2 and mlp-layout-2.8.pt2: the latter is mlp.pt2 in the layout of 2.8, whose
weights are a file of torch.save. PyTorch 2.6 writes strided-2.6.pt2, infinity-2.6.pt2 and buffers-2.6.pt2. mlp-2.6.pt2
is the network of mlp.pt2 with the same seed, exported by 2.6.
"""
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)
OLD = torch.__version__.startswith("2.6.")


class Strided(nn.Module):
    """Tensors that are views: transposed, with an offset, a step, one element repeated, and two names of one."""

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 3)
        self.w = nn.Parameter(torch.randn(4, 3).t())
        base = torch.arange(10.0)
        self.register_buffer("u", base[2:8:2])
        self.register_buffer("v", base[2:5])
        self.register_buffer("e", torch.tensor([2.0]).expand(3))
        self.register_buffer("t", base[2:5])

    def forward(self, x):
        return F.linear(x, self.w) + self.u + self.v * self.e + self.t + self.l(x)


class Infinity(nn.Module):
    """Infinity as an argument: a number in the JSON of 2.6, text later."""

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 3)

    def forward(self, x):
        y = self.l(x)
        return y.masked_fill(y > 1e9, float("-inf")) + torch.nan_to_num(y, nan=0.0, posinf=float("inf"))


class Buffers(nn.Module):
    """Buffers with attributes of Python, and one that is not persistent."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(5, 3)
        self.k = nn.Buffer(torch.tensor(0.5))
        self.n = nn.Buffer(torch.ones(3), persistent=False)
        noted = torch.ones(3) * 3
        noted.note = "x"
        self.register_buffer("m", noted)

    def forward(self, x):
        return self.a(x) * self.k * self.n * self.m


def export(name, net, x):
    shapes = {"x": {0: torch.export.Dim("n", min=2, max=4096)}}
    program = torch.export.export(net, (x,), dynamic_shapes=shapes, strict=name != "buffers" and OLD)
    torch.export.save(program, f"{sys.argv[1]}/{name}{'-2.6' if OLD else ''}.pt2")


export("strided", Strided(), torch.randn(5, 4))
torch.manual_seed(3)
export("infinity", Infinity(), torch.randn(5, 4))
if OLD:
    export("buffers", Buffers(), torch.randn(4, 5))
else:
    from torch._export.serde.serialize import serialize
    from torch.export.pt2_archive._package import PT2ArchiveWriter

    parts = serialize(torch.export.load("mlp.pt2"))
    with PT2ArchiveWriter(f"{sys.argv[1]}/mlp-layout-2.8.pt2") as archive:
        archive.write_bytes("models/model.json", parts.exported_program)
        archive.write_bytes("data/weights/model.pt", parts.state_dict)
        archive.write_bytes("data/constants/model.pt", parts.constants)
        archive.write_bytes("data/sample_inputs/model.pt", parts.example_inputs)
