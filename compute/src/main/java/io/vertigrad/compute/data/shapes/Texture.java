package io.vertigrad.compute.data.shapes;

import io.vertigrad.compute.data.SplitMix64;

/** Uneven brightness: random values on a coarse grid with linear interpolation between them. */
final class Texture {

  private static final int CELL = 5;
  private static final int KNOTS = Canvas.SIDE / CELL + 2;

  private final double[] lights = new double[KNOTS * KNOTS];

  /** Creates a texture whose grid values have this deviation. */
  Texture(double deviation, SplitMix64 random) {
    for (int i = 0; i < lights.length; i++) {
      lights[i] = deviation * random.normal();
    }
  }

  /** Returns the brightness to add to every channel of a pixel. */
  double light(int column, int row) {
    int knot = row / CELL * KNOTS + column / CELL;
    double right = (double) (column % CELL) / CELL;
    double down = (double) (row % CELL) / CELL;
    double above = interpolate(lights[knot], lights[knot + 1], right);
    double below = interpolate(lights[knot + KNOTS], lights[knot + KNOTS + 1], right);
    return interpolate(above, below, down);
  }

  private static double interpolate(double from, double to, double share) {
    return from + share * (to - from);
  }
}
