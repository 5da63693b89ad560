"""Writes pytorch-trajectories.json: 20 updates of 12 parameters by each of PyTorch's optimizers.

Run once with PyTorch 1.13 in the folder of this file: python3 pytorch_trajectories.py

All is computed in float64. Start parameters and gradients are float32 numbers, so that a program
which computes in float32 begins with the same. Gradients have sizes from 1e-6 to 10, of which the
small ones show where a rule adds its epsilon. An epoch is one update.
"""

import json

import torch
from torch.optim import SGD, Adagrad, Adam, AdamW, RMSprop
from torch.optim.lr_scheduler import CosineAnnealingLR, ExponentialLR, LinearLR, MultiStepLR

STEPS = 20
SIZES = [10.0, 1.0, 1.0, 0.3, 0.1, 0.03, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 0.0]



# name, our settings beside the name, PyTorch's optimizer, PyTorch's schedule
CASES = [
    ("sgd", {"learningRate": 0.01}, lambda p: SGD(p, lr=0.01), None),
    ("sgd", {"learningRate": 0.01, "l2": 0.1}, lambda p: SGD(p, lr=0.01, weight_decay=0.1), None),
    ("sgd", {"learningRate": 0.001, "momentum": 0.9}, lambda p: SGD(p, lr=0.001, momentum=0.9), None),
    ("sgd", {"learningRate": 0.001, "momentum": 0.9, "dampening": 0.3, "l2": 0.1},
     lambda p: SGD(p, lr=0.001, momentum=0.9, dampening=0.3, weight_decay=0.1), None),
    ("nesterov", {"learningRate": 0.001, "momentum": 0.9, "l2": 0.1},
     lambda p: SGD(p, lr=0.001, momentum=0.9, nesterov=True, weight_decay=0.1), None),
    ("sgd", {"learningRate": 0.001, "momentum": 0.9,
             "schedule": {"name": "step", "milestones": [5, 12], "gamma": 0.1}},
     lambda p: SGD(p, lr=0.001, momentum=0.9), lambda o: MultiStepLR(o, [5, 12], 0.1)),
    ("nesterov", {"learningRate": 0.001}, lambda p: SGD(p, lr=0.001, momentum=0.9, nesterov=True),
     None),
    ("nesterov", {"learningRate": 0.001, "momentum": 0.5,
                  "schedule": {"name": "exponential", "gamma": 0.8}},
     lambda p: SGD(p, lr=0.001, momentum=0.5, nesterov=True), lambda o: ExponentialLR(o, 0.8)),
    ("adam", {"learningRate": 0.001}, lambda p: Adam(p), None),
    ("adam", {"learningRate": 0.001, "epsilon": 1e-3}, lambda p: Adam(p, eps=1e-3), None),
    ("adam", {"learningRate": 0.01, "beta1": 0.5, "beta2": 0.9, "l2": 0.01,
              "schedule": {"name": "cosine", "epochs": 20, "least": 0.1}},
     lambda p: Adam(p, lr=0.01, betas=(0.5, 0.9), weight_decay=0.01),
     lambda o: CosineAnnealingLR(o, 20, eta_min=0.001)),
    ("adam", {"learningRate": 0.01, "weightDecay": 0.1,
              "schedule": {"warmUpUpdates": 8, "warmUpStart": 0.25}},
     lambda p: AdamW(p, lr=0.01, weight_decay=0.1), lambda o: LinearLR(o, 0.25, 1.0, 8)),
    ("adagrad", {"learningRate": 0.01}, lambda p: Adagrad(p), None),
    ("adagrad", {"learningRate": 0.01, "epsilon": 1e-3, "l2": 0.1},
     lambda p: Adagrad(p, eps=1e-3, weight_decay=0.1), None),
    ("rmsprop", {"learningRate": 0.001}, lambda p: RMSprop(p, lr=0.001), None),
    ("rmsprop", {"learningRate": 0.001, "beta2": 0.9, "epsilon": 1e-3, "l2": 0.01},
     lambda p: RMSprop(p, lr=0.001, alpha=0.9, eps=1e-3, weight_decay=0.01), None),
]


def trajectory(start, gradients, optimizer, schedule):
    parameter = start.clone().requires_grad_()
    optimizer = optimizer([parameter])
    schedule = schedule(optimizer) if schedule else None
    points = []
    for gradient in gradients:
        parameter.grad = gradient.clone()
        optimizer.step()
        if schedule:
            schedule.step()
        points.append(parameter.tolist())
    return points


def main():
    torch.manual_seed(14)
    sizes = torch.tensor(SIZES)
    sign = torch.where(torch.rand(len(SIZES)) < 0.5, -1.0, 1.0)
    start = (sign * (0.5 + torch.rand(len(SIZES)))).double()
    gradients = [(torch.randn(len(SIZES)) * sizes).double() for _ in range(STEPS)]
    cases = [
        {"optimizer": {"name": name, **settings},
         "parameters": trajectory(start, gradients, optimizer, schedule)}
        for name, settings, optimizer, schedule in CASES
    ]
    with open("pytorch-trajectories.json", "w") as file:
        head = {"torch": torch.__version__, "type": "float64", "start": start.tolist()}
        file.write(json.dumps(head)[:-1])
        file.write(',\n"gradients": [\n')
        file.write(",\n".join(json.dumps(g.tolist()) for g in gradients))
        file.write('],\n"cases": [\n')
        file.write(",\n".join(
            '{"optimizer": %s, "parameters": [\n%s]}' % (
                json.dumps(case["optimizer"]),
                ",\n".join(json.dumps(p) for p in case["parameters"]))
            for case in cases))
        file.write("]}\n")


main()
