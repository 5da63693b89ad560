"""The networks of the peer programs, as Vertigrad has them."""

import torch
from torch import nn
from torch.nn import functional

CLASSES = 10


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(1, 3, 3)
        self.dense = nn.Linear(192, CLASSES)

    def forward(self, x):
        x = functional.relu(functional.max_pool2d(self.convolution(x), 3))
        return self.dense(x.flatten(1))


class Mlp(nn.Module):
    def __init__(self, hidden=512):
        super().__init__()
        self.inward = nn.Linear(784, hidden)
        self.outward = nn.Linear(hidden, CLASSES)

    def forward(self, x):
        return self.outward(functional.relu(self.inward(x.flatten(1))))


class Block(nn.Module):
    """Two convolutions beside a shortcut without parameters, which pads channels with zeros."""

    def __init__(self, channels, filters, stride):
        super().__init__()
        self.first = nn.Conv2d(channels, filters, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(filters)
        self.second = nn.Conv2d(filters, filters, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(filters)
        self.stride = stride
        self.padding = (filters - channels) // 2

    def forward(self, x):
        y = functional.relu(self.first_norm(self.first(x)))
        y = self.second_norm(self.second(y))
        if self.stride != 1 or self.padding > 0:
            x = x[:, :, :: self.stride, :: self.stride]
            x = functional.pad(x, (0, 0, 0, 0, self.padding, self.padding))
        return functional.relu(x + y)


class ResNet20(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(3, 16, 3, 1, 1, bias=False)
        self.norm = nn.BatchNorm2d(16)
        blocks = []
        channels = 16
        for filters in (16, 32, 64):
            for index in range(3):
                blocks.append(Block(channels, filters, 2 if index == 0 and filters > 16 else 1))
                channels = filters
        self.blocks = nn.Sequential(*blocks)
        self.dense = nn.Linear(64, CLASSES)

    def forward(self, x):
        x = self.blocks(functional.relu(self.norm(self.convolution(x))))
        return self.dense(x.mean((2, 3)))


NETWORKS = {"convnet": ConvNet, "mlp": Mlp, "resnet20": ResNet20}


def random_samples(network, count):
    """Returns samples of the shape that a network takes, and their classes."""
    shape = (3, 32, 32) if network == "resnet20" else (1, 28, 28)
    return torch.randn(count, *shape), torch.randint(0, CLASSES, (count,))
