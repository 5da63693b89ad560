"""Writes what PyTorch makes of the built-in network transformer.

Run with a current PyTorch in the folder of this file, after TransformerTest.main has written the initial parameters:
python3 built-in-transformer.py

built-in-transformer.safetensors  initial parameters of the network of 2 layers, 2 heads, width 8 with seed 7
built-in-transformer.json         windows of ids, and the losses before each of five steps of SGD (rate 0.1): of a
                                  network that puts out the token behind the window (next), and one for each position
                                  (each)
"""

import json
import struct

import torch
from torch import nn
from torch.nn import functional

LENGTH = 6
TOKENS = 11
LAYERS, HEADS, WIDTH = 2, 2, 8
DROPOUT = 0.0


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        samples, length, width = x.shape
        parts = self.qkv(x).view(samples, length, 3, HEADS, width // HEADS).permute(2, 0, 3, 1, 4)
        query, key, value = parts.unbind(0)
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(seen.transpose(1, 2).reshape(samples, length, width))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.norm2 = nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x):
        x = x + self.dropout(self.attention(self.norm1(x)))
        return x + self.dropout(self.mlp(self.norm2(x)))


class Transformer(nn.Module):
    def __init__(self, each):
        super().__init__()
        self.each = each
        self.token_embedding = nn.Embedding(TOKENS, WIDTH)
        self.position_embedding = nn.Embedding(LENGTH, WIDTH)
        self.dropout = nn.Dropout(DROPOUT)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, TOKENS, bias=False)
        self.head.weight = self.token_embedding.weight

    def forward(self, tokens):
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return self.head(x if self.each else x[:, -1])


def parameters(path):
    with open(path, "rb") as file:
        head = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    found = {}
    for name, tensor in head.items():
        if name != "__metadata__":
            begin, end = tensor["data_offsets"]
            values = torch.frombuffer(bytearray(data[begin:end]), dtype=torch.float32)
            found[name] = values.reshape(tensor["shape"])
    found["head.weight"] = found["token_embedding.weight"]
    return found


def losses(each, windows):
    net = Transformer(each)
    net.load_state_dict(parameters("built-in-transformer.safetensors"))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    target = windows[:, 1:] if each else windows[:, -1]
    found = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = functional.cross_entropy(net(windows[:, :-1]).flatten(0, -2), target.flatten())
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def main():
    torch.manual_seed(5)
    torch.set_num_threads(1)
    windows = torch.randint(0, TOKENS, (5, LENGTH + 1))
    found = {"windows": windows.tolist()}
    for name, each in (("next", False), ("each", True)):
        found[name] = losses(each, windows)
    with open("built-in-transformer.json", "w") as file:
        json.dump(found, file)


main()
