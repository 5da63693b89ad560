"""Writes an image network for ./vertigrad train, with PyTorch 2.6 or newer: network.py FILE.pt2"""
import sys

import torch
import torch.nn as nn

net = nn.Sequential(
    nn.Conv2d(1, 8, 3),
    nn.BatchNorm2d(8),
    nn.ReLU(),
    nn.MaxPool2d(3),
    nn.Flatten(),
    nn.Dropout(0.1),
    nn.Linear(512, 10),
)
net.train()
images = torch.zeros(2, 1, 28, 28)
program = torch.export.export(net, (images,), dynamic_shapes=({0: torch.export.Dim("samples", min=2)},))
torch.export.save(program, sys.argv[1])
