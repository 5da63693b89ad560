package io.vertigrad.compute.data.shapes;

import io.vertigrad.compute.data.SplitMix64;

/** A colour: red, green and blue, each from 0 to 1. */
record Colour(double red, double green, double blue) {

  static Colour any(SplitMix64 random) {
    return new Colour(random.uniform(), random.uniform(), random.uniform());
  }

  /**
   * Returns a random colour at a distance of at least {@code contrast} (below 0.8) from this one.
   */
  Colour other(SplitMix64 random, double contrast) {
    Colour other = any(random);
    while (distance(other) < contrast) {
      other = any(random);
    }
    return other;
  }

  /** Returns a colour close to this one. */
  Colour near(SplitMix64 random, double deviation) {
    return new Colour(
        clamp(red + deviation * random.normal()),
        clamp(green + deviation * random.normal()),
        clamp(blue + deviation * random.normal()));
  }

  private double distance(Colour other) {
    double r = red - other.red;
    double g = green - other.green;
    double b = blue - other.blue;
    return Math.sqrt(r * r + g * g + b * b);
  }

  private static double clamp(double value) {
    return Math.max(0, Math.min(1, value));
  }
}
