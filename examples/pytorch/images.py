"""Exports torchvision's ResNet-18 for small images.

    python3 examples/pytorch/images.py FILE.pt [CHANNELS CLASSES]
    python3 examples/pytorch/images.py FILE.pt --train FOLDER

10 classes of 3 channels if not said otherwise. Needs PyTorch and torchvision. Where torchvision is not installed,
any other module will do in its place: what counts is the last line of export.

--train trains the file that is there by PyTorch's own loop, to compare with: 20 steps of SGD on
the first 32 images of CIFAR-10's binary version in FOLDER (data_batch_1.bin or .gz), so that all batches are alike.
"""

import gzip
import os
import sys

import torch
from torch import nn

STEPS = 20
BATCH = 32
RATE = 0.01
TEST = 200
RECORD = 1 + 3 * 32 * 32
MEAN = torch.tensor([0.4914, 0.4822, 0.4465]).reshape(1, 3, 1, 1)
DEVIATION = torch.tensor([0.2023, 0.1994, 0.2010]).reshape(1, 3, 1, 1)


def export(file, channels, classes):
    try:
        from torchvision.models import resnet18
    except ModuleNotFoundError:
        sys.exit("torchvision is not installed: apt install python3-torchvision, or python3 -m pip install torchvision")
    torch.manual_seed(0)
    model = resnet18(num_classes=classes)
    # For images of 32 x 32: no halving before the first block.
    model.conv1 = nn.Conv2d(channels, 64, 3, padding=1, bias=False)
    model.maxpool = nn.Identity()
    torch.jit.script(model).save(file)


def read(folder, name, count):
    path = os.path.join(folder, name)
    with open(path, "rb") if os.path.exists(path) else gzip.open(path + ".gz") as file:
        records = torch.frombuffer(bytearray(file.read(count * RECORD)), dtype=torch.uint8).reshape(count, RECORD)
    images = records[:, 1:].reshape(count, 3, 32, 32).float() / 255
    return (images - MEAN) / DEVIATION, records[:, 0].long()


def test(model, images, labels):
    model.eval()
    with torch.no_grad():
        outputs = torch.cat([model(images[i : i + 50]) for i in range(0, len(images), 50)])
    loss = nn.functional.cross_entropy(outputs, labels).item()
    return f"loss {loss:.4f}, accuracy {100 * (outputs.argmax(1) == labels).float().mean():.1f} %"


def train(file, folder):
    torch.set_num_threads(1)
    model = torch.jit.load(file)
    images, labels = read(folder, "data_batch_1.bin", BATCH)
    held = read(folder, "test_batch.bin", TEST)
    print("before:", test(model, *held))
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    model.train()
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        print(f"step {step + 1}: loss {loss.item():.4f}")
    print("after:", test(model, *held))


def main():
    arguments = sys.argv[1:]
    if len(arguments) == 3 and arguments[1] == "--train":
        train(arguments[0], arguments[2])
    elif len(arguments) in (1, 3):
        channels, classes = map(int, arguments[1:]) if len(arguments) == 3 else (3, 10)
        export(arguments[0], channels, classes)
    else:
        sys.exit(__doc__)


main()
