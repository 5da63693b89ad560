package io.vertigrad.compute.data.shapes;

/** A region of the plane, given by the distance of any point to its edge. */
@FunctionalInterface
interface Outline {

  /**
   * Returns the distance from (x, y) to the edge, negative inside. Near the edge it is exact,
   * except at corners.
   */
  double distance(double x, double y);

  /** Returns the intersection of both regions. */
  default Outline within(Outline other) {
    return (x, y) -> Math.max(distance(x, y), other.distance(x, y));
  }

  /** Returns this region without the other one. */
  default Outline without(Outline other) {
    return (x, y) -> Math.max(distance(x, y), -other.distance(x, y));
  }

  static Outline disc(double centreX, double centreY, double radius) {
    return (x, y) -> length(x - centreX, y - centreY) - radius;
  }

  /** Returns a ring: all points within {@code thickness} of a circle. */
  static Outline ring(double radius, double thickness) {
    return (x, y) -> Math.abs(length(x, y) - radius) - thickness;
  }

  /** Returns a straight bar along the x axis at a given distance above or below it. */
  static Outline bar(double halfLength, double halfWidth, double centreY) {
    return (x, y) -> Math.max(Math.abs(x) - halfLength, Math.abs(y - centreY) - halfWidth);
  }

  /**
   * Returns infinite stripes across the x axis that cover half of the plane; {@code phase} is a
   * fraction of the period.
   */
  static Outline stripes(double period, double phase) {
    return (x, y) -> wave(x, period, phase);
  }

  /** Returns every other cell of an infinite checkerboard with cells of this width. */
  static Outline checker(double cell, double phaseX, double phaseY) {
    return (x, y) -> {
      double across = wave(x, 2 * cell, phaseX);
      double along = wave(y, 2 * cell, phaseY);
      double nearest = Math.min(Math.abs(across), Math.abs(along));
      return across * along < 0 ? -nearest : nearest;
    };
  }

  /**
   * Returns the distance to the nearest end of a bar, negative within a bar; bars fill half the
   * period.
   */
  private static double wave(double x, double period, double phase) {
    double position = x / period + phase;
    double fraction = position - Math.floor(position);
    return period * (Math.abs(fraction - 0.5) - 0.25);
  }

  private static double length(double x, double y) {
    return Math.sqrt(x * x + y * y);
  }
}
