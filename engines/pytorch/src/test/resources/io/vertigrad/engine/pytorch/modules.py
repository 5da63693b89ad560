"""Writes the TorchScript files of the tests, and what PyTorch makes of them.

Run once with PyTorch 1.13 in the folder of this file: python3 modules.py

normed.pt   convolution, batch norm in a Sequential, an unused layer, buffers of several kinds
tied.pt     two layers that share their weight, and a frozen bias
expected.json  one batch for each, with the loss, the gradient by parameter, and the statistics after it
The other files are what must be refused.
"""

import json

import torch
from torch import nn
from torch.nn import functional


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, padding=1, bias=False)
        self.body = nn.Sequential(nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2))
        self.fc = nn.Linear(16, 3)
        self.unused = nn.Linear(2, 2)
        self.register_buffer("mask", torch.full((2, 2), float("-inf")))
        self.register_buffer("scale", torch.tensor([2.0]))

    def forward(self, x):
        return self.fc(torch.flatten(self.body(self.conv(x)), 1) * self.scale)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(16, 16, bias=False)
        self.second = nn.Linear(16, 16, bias=False)
        self.second.weight = self.first.weight
        self.last = nn.Linear(16, 3)
        self.last.bias.requires_grad_(False)

    def forward(self, x):
        return self.last(torch.relu(self.second(torch.relu(self.first(x)))))


class Probable(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(16, 3)

    def forward(self, x):
        return torch.softmax(self.fc(x), 1)


class Named(nn.Module):
    """PyTorch writes code for this name that PyTorch does not read."""
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({"größe": nn.Linear(16, 3)})

    def forward(self, x):
        return self.layers["größe"](x)


class Raising(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(16, 3)

    def forward(self, x):
        if x.size(0) > 0:
            raise ValueError("pictures are grey here")
        return self.fc(x)


class Asserting(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(16, 3)

    def forward(self, x):
        assert x.size(0) == 7
        return self.fc(x)


def without_debug(script, name):
    """Our own copy of the archive without positions in source files, half of its size."""
    import io
    import zipfile
    memory = io.BytesIO()
    torch.jit.save(script, memory)
    with zipfile.ZipFile(memory) as old, zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            if not entry.filename.endswith(".debug_pkl"):
                new.writestr(zipfile.ZipInfo(entry.filename), old.read(entry),
                             compress_type=zipfile.ZIP_DEFLATED)


def expected(module, shape):
    x = torch.rand(5, *shape) * 2 - 1
    labels = torch.tensor([0, 2, 1, 1, 2])
    module.train()
    loss = functional.cross_entropy(module(x), labels)
    loss.backward()
    module.eval()
    return {
        "shape": list(shape),
        "features": x.flatten().tolist(),
        "labels": labels.tolist(),
        "loss": loss.item(),
        "gradient": {name: p.grad.flatten().tolist() for name, p in module.named_parameters()
                     if p.grad is not None},
        "statistics": {name: b.flatten().tolist() for name, b in module.named_buffers()
                       if "running" in name},
        "outputs": module(x).flatten().tolist(),
    }


def main():
    torch.manual_seed(3)
    normed, tied = Normed(), Tied()
    without_debug(torch.jit.script(normed), "normed.pt")
    without_debug(torch.jit.script(tied), "tied.pt")
    without_debug(torch.jit.trace(normed.train(), torch.rand(2, 1, 4, 4)), "traced.pt")
    without_debug(torch.jit.freeze(torch.jit.script(Tied()).eval()), "frozen.pt")
    without_debug(torch.jit.script(Tied().double()), "double.pt")
    without_debug(torch.jit.script(Probable()), "softmax.pt")
    without_debug(torch.jit.script(Named()), "named.pt")
    without_debug(torch.jit.script(Raising()), "raising.pt")
    without_debug(torch.jit.script(Asserting()), "asserting.pt")
    torch.save(tied.state_dict(), "state-dict.pt")
    torch.save(tied.state_dict(), "pickle.pt", _use_new_zipfile_serialization=False)
    normed = torch.jit.load("normed.pt")
    with open("expected.json", "w") as file:
        json.dump({"normed": expected(normed, (1, 4, 4)), "tied": expected(tied, (16,))}, file)


if __name__ == "__main__":
    main()
