"""Writes the samples of regression.json and labels.json beside this file.

    python3 examples/losses/samples.py

A ball is thrown from the ground with speed v (m/s) at angle a (degrees), against wind w (m/s). The first three columns of both
are v, a and w, each on a scale of -1 to 1. Then come, in regression/, how far and how high it flies in tens of metres; in
labels/, whether it flies further than 20 m, higher than 8 m, and longer than 2.5 s.
"""

import math
import pathlib
import random

HERE = pathlib.Path(__file__).resolve().parent
STEP = 0.01
DRAG = 0.01
GRAVITY = 9.81


def flight(speed, angle, wind):
    x, y, high, time = 0.0, 0.0, 0.0, 0.0
    across, up = speed * math.cos(angle), speed * math.sin(angle)
    while y >= 0:
        drag = DRAG * math.hypot(across + wind, up)
        across -= STEP * drag * (across + wind)
        up -= STEP * (GRAVITY + drag * up)
        x, y, time = x + STEP * across, y + STEP * up, time + STEP
        high = max(high, y)
    return x, high, time


def main():
    draw = random.Random(7)
    for name, count in (("train", 600), ("test", 200)):
        values, labels = [], []
        for _ in range(count):
            v, a, w = (draw.uniform(-1, 1) for _ in range(3))
            far, high, time = flight(15 + 8 * v, math.radians(45 + 25 * a), 4 * w)
            throw = "%.4f,%.4f,%.4f" % (v, a, w)
            values.append("%s,%.4f,%.4f\n" % (throw, far / 10, high / 10))
            labels.append("%s,%d,%d,%d\n" % (throw, far > 20, high > 8, time > 2.5))
        for folder, lines in (("regression", values), ("labels", labels)):
            (HERE / folder).mkdir(exist_ok=True)
            (HERE / folder / (name + ".csv")).write_text("".join(lines))


main()
