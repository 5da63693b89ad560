package io.vertigrad.compute.data.shapes;

import io.vertigrad.compute.data.SplitMix64;

/** A linear colour gradient across the whole canvas. */
final class Gradient {

  private final Colour from;
  private final Colour to;
  private final double stepX;
  private final double stepY;

  /** Creates a gradient from one colour to the other in a random direction. */
  Gradient(Colour from, Colour to, SplitMix64 random) {
    this.from = from;
    this.to = to;
    double angle = 2 * StrictMath.PI * random.uniform();
    stepX = StrictMath.cos(angle) / Canvas.SIDE;
    stepY = StrictMath.sin(angle) / Canvas.SIDE;
  }

  /** Returns the fraction of the second colour at a pixel, from 0 to 1, half in the middle. */
  double share(int column, int row) {
    double middle = (Canvas.SIDE - 1) / 2.0;
    double share = 0.5 + (column - middle) * stepX + (row - middle) * stepY;
    return Math.max(0, Math.min(1, share));
  }

  double red(double share) {
    return from.red() + share * (to.red() - from.red());
  }

  double green(double share) {
    return from.green() + share * (to.green() - from.green());
  }

  double blue(double share) {
    return from.blue() + share * (to.blue() - from.blue());
  }
}
