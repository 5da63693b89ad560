"""Exports torchvision's ResNet-18 for small images.

    python3 examples/pytorch/images.py FILE.pt [CHANNELS CLASSES]

10 classes of 3 channels if not said otherwise. Needs PyTorch and torchvision. Where torchvision is not installed,
any other module will do in its place: what counts is the last line.
"""

import sys

import torch
from torch import nn


def main():
    if len(sys.argv) not in (2, 4):
        sys.exit(__doc__)
    try:
        from torchvision.models import resnet18
    except ModuleNotFoundError:
        sys.exit("torchvision is not installed: python3 -m pip install torchvision")
    channels, classes = map(int, sys.argv[2:]) if len(sys.argv) == 4 else (3, 10)
    torch.manual_seed(0)
    model = resnet18(num_classes=classes)
    # For images of 32 x 32: no halving before the first block.
    model.conv1 = nn.Conv2d(channels, 64, 3, padding=1, bias=False)
    model.maxpool = nn.Identity()
    torch.jit.script(model).save(sys.argv[1])


main()
