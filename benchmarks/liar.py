"""Divides MNIST among nodes, and reports what benchmarks/liar has run."""

import gzip
import json
import os
import sys


def read(folder, name):
    path = os.path.join(folder, name)
    opened = open(path, "rb") if os.path.exists(path) else gzip.open(path + ".gz", "rb")
    with opened as file:
        return file.read()


def write(folder, name, head, items):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(head[:4] + len(items).to_bytes(4, "big") + head[8:])
        file.writelines(items)


def divide(mnist, nodes, folder):
    images = read(mnist, "train-images-idx3-ubyte")
    labels = read(mnist, "train-labels-idx1-ubyte")
    size = 28 * 28
    pictures = [images[16 + i * size : 16 + (i + 1) * size] for i in range(len(labels) - 8)]
    digits = [labels[8 + i : 9 + i] for i in range(len(pictures))]
    for node in range(nodes):
        own = os.path.join(folder, "data-%d" % node)
        write(own, "train-images-idx3-ubyte", images[:16], pictures[node::nodes])
        write(own, "train-labels-idx1-ubyte", labels[:8], digits[node::nodes])
    wrong = [bytes([(digit[0] + 1) % 10]) for digit in digits[nodes - 1 :: nodes]]
    write(os.path.join(folder, "wrong"), "train-images-idx3-ubyte", images[:16], pictures[nodes - 1 :: nodes])
    write(os.path.join(folder, "wrong"), "train-labels-idx1-ubyte", labels[:8], wrong)


def report(*files):
    summaries = [json.load(open(file)) for file in files]
    for name, summary in zip(("without a liar", "with a liar"), summaries):
        print("%-15s accuracy %.2f %%, updates %s" % (name, summary["accuracy"], summary["updates"]))
    said = summaries[1].get("workerUpdates") or {}
    print("about the liar: %s" % json.dumps(said, indent=2))
    print("difference %.2f points" % (summaries[0]["accuracy"] - summaries[1]["accuracy"]))


{"divide": lambda a: divide(a[0], int(a[1]), a[2]), "report": lambda a: report(*a)}[sys.argv[1]](sys.argv[2:])
