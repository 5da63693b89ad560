"""Trains a network with plain PyTorch, 1.13 or newer, and prints its speed as JSON.

    python3 train.py --versions --device cuda
    python3 train.py --device cuda --model mlp --hidden 512 --batch 1024 --mode server --seconds 8

Modes:
  resident  parameters, samples and optimizer stay on the device; no loss is ever read
  host      each batch comes from the host's memory
  server    also: parameters come from the host and gradients go back in every step, and the host
            takes the step of SGD, as beside a parameter server
"""

import argparse
import json
import os
import sys
import time

import torch
from networks import NETWORKS, random_samples
from torch.nn import functional

BATCHES = 4
WARM_UP = 30
CHUNK = 10
LENGTH = 32
TOKENS = 256


def networks(arguments):
    """Returns the forms in which PyTorch can run the network, by name."""
    if not arguments.model.endswith(".pt"):
        options = {"hidden": arguments.hidden} if arguments.hidden else {}
        return {"eager": NETWORKS[arguments.model](**options)}
    scripted = torch.jit.load(arguments.model)
    forms = {"script": scripted}
    here = os.path.dirname(os.path.abspath(__file__))
    for folder in ("../../examples/pytorch", "../../vertigrad/examples/pytorch"):
        if os.path.exists(os.path.join(here, folder, "characters.py")):
            sys.path.insert(0, os.path.join(here, folder))
            from characters import Transformer

            eager = Transformer()
            eager.load_state_dict(scripted.state_dict())
            forms["eager"] = eager
            break
    return forms


def samples(arguments):
    """Returns batches of random samples and their classes, on the host."""
    if arguments.model.endswith(".pt"):
        ids = [torch.randint(0, TOKENS, (arguments.batch, LENGTH + 1)) for _ in range(BATCHES)]
        return [(rows[:, :-1].contiguous(), rows[:, 1:].contiguous()) for rows in ids]
    return [random_samples(arguments.model, arguments.batch) for _ in range(BATCHES)]


class Loop:
    """Takes steps of one form of the network in one mode."""

    def __init__(self, network, batches, arguments, pinned=False):
        self.device = torch.device(arguments.device)
        self.network = network.to(self.device).train()
        self.mode = arguments.mode
        self.bfloat16 = arguments.precision == "bfloat16"
        self.pinned = pinned
        self.batches = batches
        if self.mode == "resident":
            self.batches = [(x.to(self.device), y.to(self.device)) for x, y in batches]
        self.parameters = list(self.network.parameters())
        rule = torch.optim.Adam if arguments.optimizer == "adam" else torch.optim.SGD
        self.rule = rule(self.parameters, lr=0.003 if arguments.optimizer == "adam" else 0.01)
        if self.mode == "server":
            flat = torch.cat([one.detach().reshape(-1) for one in self.parameters]).cpu()
            self.server = flat.pin_memory() if pinned else flat
            self.gradients = torch.empty_like(flat, pin_memory=True) if pinned else None

    def step(self, number):
        x, y = self.batches[number % BATCHES]
        if self.mode != "resident":
            x, y = x.to(self.device), y.to(self.device)
        if self.mode == "server":
            self.take(self.server.to(self.device, non_blocking=self.pinned))
        self.rule.zero_grad()
        if self.bfloat16:
            with torch.autocast(self.device.type, dtype=torch.bfloat16):
                loss = self.loss(x, y)
        else:
            loss = self.loss(x, y)
        loss.backward()
        if self.mode == "server":
            self.give()
        else:
            self.rule.step()

    def loss(self, x, y):
        found = self.network(x)
        return functional.cross_entropy(found.float().flatten(0, -2), y.flatten())

    def take(self, flat):
        """Writes the server's parameters into the network's."""
        first = 0
        with torch.no_grad():
            for one in self.parameters:
                one.copy_(flat[first : first + one.numel()].view_as(one))
                first += one.numel()

    def give(self):
        """Takes the gradients to the host, which takes the step."""
        flat = torch.cat([one.grad.reshape(-1) for one in self.parameters])
        if self.pinned:
            self.gradients.copy_(flat)
            flat = self.gradients
        self.server.sub_(flat.cpu(), alpha=0.001)

    def measure(self, seconds):
        """Returns the milliseconds of a step."""
        for number in range(WARM_UP if seconds > 2 else 3):
            self.step(number)
        self.synchronize()
        start = time.perf_counter()
        steps = 0
        while steps == 0 or time.perf_counter() - start < seconds:
            for _ in range(CHUNK if seconds > 2 else 1):
                self.step(steps)
                steps += 1
        self.synchronize()
        return (time.perf_counter() - start) / steps * 1e3

    def synchronize(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()


def versions(device):
    found = {"torch": torch.__version__}
    if device.startswith("cuda"):
        # Fails where there is none.
        torch.ones(2, device=device).sum().item()
        found["cuda"] = torch.version.cuda
        found["cudnn"] = torch.backends.cudnn.version()
        found["gpu"] = torch.cuda.get_device_name()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--versions", action="store_true")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--model", default="mlp")
    parser.add_argument("--hidden", type=int, default=0)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--mode", choices=["resident", "host", "server"], default="resident")
    parser.add_argument("--optimizer", choices=["sgd", "adam"], default="sgd")
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--seconds", type=float, default=8)
    arguments = parser.parse_args()
    if arguments.versions:
        print(json.dumps(versions(arguments.device)))
        return
    torch.manual_seed(0)
    batches = samples(arguments)
    millis = {
        form: Loop(network, batches, arguments).measure(arguments.seconds)
        for form, network in networks(arguments).items()
    }
    best = min(millis, key=millis.get)
    mode = "%s, %s" % (arguments.mode, ", ".join("%s %.3f ms" % one for one in millis.items()))
    if arguments.mode == "server" and arguments.device.startswith("cuda"):
        pinned = Loop(networks(arguments)[best], batches, arguments, pinned=True)
        mode += ", with pinned memory %.3f ms" % pinned.measure(arguments.seconds / 2)
    print(
        json.dumps(
            {
                "millisPerStep": millis[best],
                "samplesPerSecond": arguments.batch / millis[best] * 1e3,
                "mode": mode,
            }
        )
    )


main()
