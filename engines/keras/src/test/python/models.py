"""Writes small Keras models as Keras 2 writes them to HDF5, and what they answer.

    python3 models.py ../resources/io/vertigrad/engine/keras

needs h5py and NumPy (Debian: python3-h5py), not Keras. The answers are computed here by the formulas of
Keras' documentation, in double precision, with loops over the kernel's places: nothing is shared with the
code that they test. NAME.h5 is the model; NAME.txt has, line by line, inputs in the order channels, height,
width, then probabilities.
"""

import json
import sys

import h5py
import numpy as np

random = np.random.RandomState(7)


# The formulas, for arrays [samples, height, width, channels].


def pads(size, kernel, stride, padding, dilation=1):
    reach = (kernel - 1) * dilation + 1
    if padding == "valid":
        return 0, 0, (size - reach) // stride + 1
    outputs = -(-size // stride)
    total = max((outputs - 1) * stride + reach - size, 0)
    return total // 2, total - total // 2, outputs


def windows(x, kernel, strides, padding, fill, dilation=(1, 1)):
    """Yields (row, column, values of that place of every window)."""
    top, bottom, height = pads(x.shape[1], kernel[0], strides[0], padding, dilation[0])
    left, right, width = pads(x.shape[2], kernel[1], strides[1], padding, dilation[1])
    wide = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=fill)
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            rows = slice(i * dilation[0], i * dilation[0] + (height - 1) * strides[0] + 1, strides[0])
            columns = slice(j * dilation[1], j * dilation[1] + (width - 1) * strides[1] + 1, strides[1])
            yield i, j, wide[:, rows, columns, :]


def conv2d(x, weights, config):
    kernel = weights["kernel"].astype(np.float64)
    total = 0
    for i, j, values in windows(
        x, config["kernel_size"], config["strides"], config["padding"], 0.0, config["dilation_rate"]
    ):
        total = total + values @ kernel[i, j]
    return total + (weights["bias"] if config["use_bias"] else 0)


def max_pool(x, config):
    places = windows(x, config["pool_size"], config["strides"], config["padding"], -np.inf)
    return np.max([values for _, _, values in places], axis=0)


def average_pool(x, config):
    sums = sum(values for _, _, values in windows(x, config["pool_size"], config["strides"], config["padding"], 0.0))
    ones = np.ones_like(x)
    counts = sum(values for _, _, values in windows(ones, config["pool_size"], config["strides"], config["padding"], 0.0))
    return sums / counts


def batch_norm(x, weights, config):
    x = (x - weights["moving_mean"]) / np.sqrt(weights["moving_variance"].astype(np.float64) + config["epsilon"])
    return x * (weights["gamma"] if config["scale"] else 1) + (weights["beta"] if config["center"] else 0)


def softmax(x):
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


ACTIVATIONS = {
    "linear": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "softmax": softmax,
}


def answer(layer, weights, inputs):
    kind, config = layer["class_name"], layer["config"]
    x = inputs[0] if inputs else None
    if kind == "Dense":
        x = x @ weights["kernel"].astype(np.float64) + (weights["bias"] if config["use_bias"] else 0)
        return ACTIVATIONS[config["activation"]](x)
    if kind == "Conv2D":
        return ACTIVATIONS[config["activation"]](conv2d(x, weights, config))
    return {
        "MaxPooling2D": lambda: max_pool(x, config),
        "AveragePooling2D": lambda: average_pool(x, config),
        "GlobalAveragePooling2D": lambda: x.mean(axis=(1, 2)),
        "GlobalMaxPooling2D": lambda: x.max(axis=(1, 2)),
        "BatchNormalization": lambda: batch_norm(x, weights, config),
        "Activation": lambda: ACTIVATIONS[config["activation"]](x),
        "ReLU": lambda: np.clip(x, 0, config["max_value"]) + config["negative_slope"] * np.minimum(x, 0),
        "LeakyReLU": lambda: np.where(x > 0, x, config["alpha"] * x),
        "Softmax": lambda: softmax(x),
        "Dropout": lambda: x,
        "Flatten": lambda: x.reshape(len(x), -1),
        "ZeroPadding2D": lambda: np.pad(x, ((0, 0), *[tuple(p) for p in config["padding"]], (0, 0))),
        "Add": lambda: sum(inputs),
        "Concatenate": lambda: np.concatenate(inputs, axis=config["axis"]),
    }[kind]()


# Layers as Keras 2 describes them.


def of_weights(*names):
    """What Keras says of weights besides their shapes."""
    found = {"activity_regularizer": None}
    for name in names:
        kind = "GlorotUniform" if name == "kernel" else "Ones" if name in ("gamma", "moving_variance") else "Zeros"
        found[f"{name}_initializer"] = {"class_name": kind, "config": {"seed": None} if name == "kernel" else {}}
        if not name.startswith("moving"):
            found[f"{name}_regularizer"] = None
            found[f"{name}_constraint"] = None
    return found


def layer(kind, name, weights=None, **config):
    config = {"name": name, "trainable": True, "dtype": "float32", **config}
    return {"class_name": kind, "config": config}, {
        key: np.asarray(value, np.float32) for key, value in (weights or {}).items()
    }


def dense(name, inputs, units, activation="linear", bias=True):
    weights = {"kernel": random.randn(inputs, units) / np.sqrt(inputs)}
    if bias:
        weights["bias"] = random.randn(units) * 0.1
    return layer("Dense", name, weights, units=units, activation=activation, use_bias=bias,
                 **of_weights("kernel", "bias"))


def conv(name, inputs, filters, kernel=(3, 3), strides=(1, 1), padding="valid", activation="linear",
         bias=True, dilation=(1, 1), data_format="channels_last"):
    weights = {"kernel": random.randn(*kernel, inputs, filters) / np.sqrt(inputs * kernel[0] * kernel[1])}
    if bias:
        weights["bias"] = random.randn(filters) * 0.1
    return layer("Conv2D", name, weights, filters=filters, kernel_size=list(kernel), strides=list(strides),
                 padding=padding, data_format=data_format, dilation_rate=list(dilation), groups=1,
                 activation=activation, use_bias=bias, **of_weights("kernel", "bias"))


def norm(name, channels, axis=3, scale=True, center=True):
    weights = {}
    if scale:
        weights["gamma"] = 1 + random.randn(channels) * 0.2
    if center:
        weights["beta"] = random.randn(channels) * 0.2
    weights["moving_mean"] = random.randn(channels) * 0.3
    weights["moving_variance"] = 0.5 + random.rand(channels)
    return layer("BatchNormalization", name, weights, axis=[axis], momentum=0.99, epsilon=0.001, scale=scale,
                 center=center, **of_weights("beta", "gamma", "moving_mean", "moving_variance"))


def pool(kind, name, size=(2, 2), strides=(2, 2), padding="valid", data_format="channels_last"):
    return layer(kind, name, pool_size=list(size), strides=list(strides), padding=padding, data_format=data_format)


def sequential(name, shape, parts, first="InputLayer"):
    """A chain; its input is a layer of its own, or the first layer's batch_input_shape."""
    parts = list(parts)
    if first == "InputLayer":
        parts.insert(0, layer("InputLayer", "input", batch_input_shape=[None, *shape], sparse=False, ragged=False))
    else:
        parts[0][0]["config"]["batch_input_shape"] = [None, *shape]
    model = {"class_name": "Sequential", "config": {"name": name, "layers": [part for part, _ in parts]}}
    return model, parts


def functional(name, shape, parts):
    """A graph: parts are (layer, names of what it reads)."""
    start = layer("InputLayer", "image", batch_input_shape=[None, *shape], sparse=False, ragged=False)
    layers = []
    for (part, _), reads in [(start, [])] + parts:
        nodes = [[[read, 0, 0, {}] for read in reads]] if reads else []
        layers.append({**part, "name": part["config"]["name"], "inbound_nodes": nodes})
    model = {"class_name": "Functional", "config": {
        "name": name, "trainable": True, "layers": layers, "input_layers": [["image", 0, 0]],
        "output_layers": [[layers[-1]["name"], 0, 0]]}}
    return model, [start] + [part for part, _ in parts]


def answers(model, parts, x):
    """What the model says to x, which is in its own data format; the image formulas take channels last."""
    outputs = {}
    before = None
    for number, (part, weights) in enumerate(parts):
        name = part["config"]["name"]
        if part["class_name"] == "InputLayer":
            outputs[name] = x
        else:
            nodes = model["config"]["layers"][number].get("inbound_nodes")
            reads = [node[0] for node in nodes[0]] if nodes else [before]
            outputs[name] = answer(part, weights, [outputs.get(read, x) for read in reads])
        before = name
    last = outputs[before]
    # A model that ends with logits: the loss has the softmax.
    return last if np.allclose(last.sum(axis=-1), 1) else softmax(last)


def write(file, model, parts):
    with h5py.File(file, "w") as h5:
        h5.attrs["keras_version"] = "2.11.0"
        h5.attrs["backend"] = "tensorflow"
        h5.attrs["model_config"] = json.dumps(model)
        group = h5.create_group("model_weights")
        names = [part["config"]["name"] for part, _ in parts]
        group.attrs["layer_names"] = np.array([name.encode() for name in names])
        group.attrs["backend"] = "tensorflow"
        group.attrs["keras_version"] = "2.11.0"
        for (part, weights), name in zip(parts, names):
            own = group.create_group(name)
            paths = [f"{name}/{key}:0" for key in weights]
            own.attrs["weight_names"] = np.array([path.encode() for path in paths]) if paths else np.zeros(0)
            for path, value in zip(paths, weights.values()):
                own.create_dataset(path, data=value)


def save(folder, name, model, parts, shape, channels_first=False):
    """Shape as the model has it; lines with inputs are channels, height, width."""
    x = random.randn(4, *shape).astype(np.float32)
    found = answers(model, parts, x.astype(np.float64))
    if channels_first:
        model = to_channels_first(model)
    write(f"{folder}/{name}.h5", model, parts)
    rows = x.transpose(0, 3, 1, 2) if x.ndim == 4 else x
    with open(f"{folder}/{name}.txt", "w") as out:
        for row, probabilities in zip(rows, found):
            out.write(" ".join(f"{value:.9g}" for value in row.reshape(-1)) + "\n")
            out.write(" ".join(f"{value:.9g}" for value in probabilities) + "\n")


def to_channels_first(model):
    """The same network as a description with channels first; kernels are stored alike."""
    model = json.loads(json.dumps(model).replace("channels_last", "channels_first"))
    for part in model["config"]["layers"]:
        config = part["config"]
        if "batch_input_shape" in config:
            none, height, width, channels = config["batch_input_shape"]
            config["batch_input_shape"] = [none, channels, height, width]
        if part["class_name"] == "BatchNormalization":
            config["axis"] = [1]
    return model


def main(folder):
    shape = (28, 28, 1)
    save(folder, "digits", *sequential("digits", shape, [
        conv("conv", 1, 4, strides=(2, 2), padding="same", activation="relu"),
        norm("norm", 4),
        pool("MaxPooling2D", "pool", (3, 3), (2, 2)),
        layer("Flatten", "flatten", data_format="channels_last"),
        layer("Dropout", "dropout", rate=0.25, noise_shape=None, seed=None),
        dense("hidden", 6 * 6 * 4, 16, "tanh"),
        dense("classes", 16, 10, "softmax"),
    ], first="Conv2D"), shape)
    shape = (9, 7, 3)
    graph = [
        (conv("a", 3, 4, padding="same", bias=False), ["image"]),
        (norm("a_norm", 4), ["a"]),
        (layer("Activation", "a_relu", activation="relu"), ["a_norm"]),
        (conv("b", 4, 4, (3, 2), padding="same", dilation=(2, 1)), ["a_relu"]),
        (norm("b_norm", 4, scale=False), ["b"]),
        (layer("Add", "sum"), ["a_relu", "b_norm"]),
        (layer("LeakyReLU", "sum_relu", alpha=0.3), ["sum"]),
        (pool("AveragePooling2D", "mean", (3, 3), (2, 2), "same"), ["sum_relu"]),
        (layer("ZeroPadding2D", "edge", padding=[[1, 0], [2, 1]], data_format="channels_last"), ["a_relu"]),
        (conv("c", 4, 2, (3, 3), (2, 2), activation="elu"), ["edge"]),
        (pool("MaxPooling2D", "top", (2, 2), (1, 1), "same"), ["mean"]),
        (conv("d", 4, 3, (2, 1), activation="sigmoid"), ["top"]),
        (layer("Concatenate", "both", axis=-1), ["d", "c"]),
        (layer("ReLU", "cap", max_value=6.0, negative_slope=0.0, threshold=0.0), ["both"]),
        (layer("Flatten", "flatten", data_format="channels_last"), ["cap"]),
        (dense("hidden", 4 * 4 * 5, 8, "relu"), ["flatten"]),
        (layer("GlobalMaxPooling2D", "peak", data_format="channels_last", keepdims=False), ["a_relu"]),
        (layer("Concatenate", "row", axis=1), ["hidden", "peak"]),
        (dense("classes", 12, 5), ["row"]),
        (layer("Softmax", "softmax", axis=-1), ["classes"]),
    ]
    save(folder, "graph", *functional("graph", shape, graph), shape)
    shape = (6, 5, 3)
    save(folder, "first", *sequential("first", shape, [
        conv("conv", 3, 4, (2, 3), padding="same", activation="relu"),
        norm("norm", 4, center=False),
        pool("AveragePooling2D", "pool"),
        layer("Flatten", "flatten", data_format="channels_last"),
        dense("classes", 3 * 2 * 4, 3),
    ]), shape, channels_first=True)
    shape = (12,)
    save(folder, "row", *sequential("row", shape, [
        dense("hidden", 12, 7, "relu", bias=False),
        dense("classes", 7, 4, "softmax"),
    ]), shape)
    shape = (7, 5, 2)
    save(folder, "pooled", *sequential("pooled", shape, [
        conv("conv", 2, 6, (3, 3), activation="relu"),
        conv("last", 6, 4, (1, 1)),
        layer("GlobalAveragePooling2D", "mean", data_format="channels_last", keepdims=False),
        layer("Activation", "softmax", activation="softmax"),
    ]), shape)


if __name__ == "__main__":
    main(sys.argv[1])
