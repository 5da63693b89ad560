"""Writes the models of CheckCommandTest, and what PyTorch computes with them: python3 checked.py FOLDER

PyTorch 2.14.1 and safetensors 0.8.0 wrote the files here. The function is the one of docs/guide/pytorch.md.
"""
import sys
from torch import nn

# The guide begins here.
import torch, torch.nn.functional as F
from safetensors.torch import save_file

def write_reference(net, x, y, file, rate=0.1, steps=5):
    tensors = {"x": x, "y": y, "output": net.eval()(x)}
    optimizer, losses = torch.optim.SGD(net.train().parameters(), rate), []
    for _ in range(steps):
        output = net(x)
        loss = F.mse_loss(output, y) if y.is_floating_point() else F.cross_entropy(output.flatten(0, -2), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    tensors["loss"] = torch.stack(losses)
    tensors.update({"after." + name: value for name, value in net.state_dict().items()})
    save_file({name: value.detach().contiguous().clone() for name, value in tensors.items()}, file)
# The guide ends here.


class Tagger(nn.Module):
    """Puts out a class for each token; its last layer shares the weight of its first."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(11, 6)
        self.norm = nn.LayerNorm(6)
        self.mix = nn.Linear(6, 6)
        self.out = nn.Linear(6, 11, bias=False)
        self.out.weight = self.words.weight
        self.register_buffer("scale", torch.tensor(0.5))
        self.register_buffer("mask", torch.full((3,), float("-inf")))

    def forward(self, x):
        return self.out(torch.tanh(self.mix(self.norm(self.words(x)))) * self.scale)


torch.manual_seed(20261129)
image = nn.Sequential(
    nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(3), nn.Flatten(), nn.Linear(16, 3)
)
models = {
    "image": (image, torch.randn(5, 1, 8, 8), torch.randint(3, (5,))),
    "tagger": (Tagger(), torch.randint(11, (3, 4)), torch.randint(11, (3, 4))),
    "values": (nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)), torch.randn(7, 4), torch.randn(7, 2)),
}
for name, (net, x, y) in models.items():
    torch.jit.script(net).save(f"{sys.argv[1]}/{name}.pt")
    write_reference(net, x, y, f"{sys.argv[1]}/{name}.safetensors")
