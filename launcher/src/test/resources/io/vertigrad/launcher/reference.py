"""Writes the model and the file of CheckCommandTest: python3 reference.py FOLDER (PyTorch 2.14.1).

mlp.safetensors is a network of ours (mlp, hidden 4) with parameters of PyTorch's, reference.safetensors
what PyTorch computes with it: docs/guide/pytorch.md says what its tensors are.
"""
import json, struct, sys
import torch
from torch.nn.functional import cross_entropy, linear, relu


def write(path, tensors, texts):
    head, data = {"__metadata__": texts} if texts else {}, b""
    for name, tensor in tensors.items():
        values = tensor.detach().contiguous().numpy().tobytes()
        kind = {torch.float32: "F32", torch.int64: "I64"}[tensor.dtype]
        head[name] = dict(dtype=kind, shape=list(tensor.shape), data_offsets=[len(data), len(data) + len(values)])
        data += values
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


torch.manual_seed(20261129)
shapes = {"fc1.W": (4, 5), "fc1.b": (4,), "fc2.W": (3, 4), "fc2.b": (3,)}
parameters = {name: torch.randn(shape).div(2).requires_grad_() for name, shape in shapes.items()}
texts = {"vertigrad.engine": "dl4j", "vertigrad.model": json.dumps({"name": "mlp", "hidden": 4})}
write(sys.argv[1] + "/mlp.safetensors", parameters, texts)


def network(x):
    hidden = relu(linear(x, parameters["fc1.W"], parameters["fc1.b"]))
    return linear(hidden, parameters["fc2.W"], parameters["fc2.b"])


x, y = torch.randn(6, 5), torch.randint(3, (6,))
tensors = {"x": x, "y": y, "output": network(x).detach()}
sgd, losses = torch.optim.SGD(parameters.values(), 0.1), []
for _ in range(5):
    sgd.zero_grad()
    loss = cross_entropy(network(x), y)
    loss.backward()
    sgd.step()
    losses.append(loss)
tensors["loss"] = torch.stack(losses)
tensors.update({"after." + name: value for name, value in parameters.items()})
tensors["after.count"] = torch.tensor(5)
write(sys.argv[1] + "/reference.safetensors", tensors, {})
