package io.vertigrad.compute.data.shapes;

/** A region of the plane, given by the distance of any point to its edge. */
@FunctionalInterface
interface Outline {

  /**
   * Distance from (x, y) to the edge, negative inside; near the edge it is exact, but for corners.
   */
  double distance(double x, double y);

  /** What both regions cover. */
  default Outline within(Outline other) {
    return (x, y) -> Math.max(distance(x, y), other.distance(x, y));
  }

  /** What only this region covers. */
  default Outline without(Outline other) {
    return (x, y) -> Math.max(distance(x, y), -other.distance(x, y));
  }

  static Outline disc(double centreX, double centreY, double radius) {
    return (x, y) -> length(x - centreX, y - centreY) - radius;
  }

  /** A circle drawn with a pen: all points within {@code thickness} of it. */
  static Outline ring(double radius, double thickness) {
    return (x, y) -> Math.abs(length(x, y) - radius) - thickness;
  }

  /** A straight bar along the x axis, this far above or below it. */
  static Outline bar(double halfLength, double halfWidth, double centreY) {
    return (x, y) -> Math.max(Math.abs(x) - halfLength, Math.abs(y - centreY) - halfWidth);
  }

  /** Endless bars across the x axis, half of the plane; {@code phase} is a part of the period. */
  static Outline stripes(double period, double phase) {
    return (x, y) -> wave(x, period, phase);
  }

  /** Every other cell of an endless board with cells of this width. */
  static Outline checker(double cell, double phaseX, double phaseY) {
    return (x, y) -> {
      double across = wave(x, 2 * cell, phaseX);
      double along = wave(y, 2 * cell, phaseY);
      double nearest = Math.min(Math.abs(across), Math.abs(along));
      return across * along < 0 ? -nearest : nearest;
    };
  }

  /** Distance to the nearest end of a bar, negative within a bar; bars fill half the period. */
  private static double wave(double x, double period, double phase) {
    double position = x / period + phase;
    double fraction = position - Math.floor(position);
    return period * (Math.abs(fraction - 0.5) - 0.25);
  }

  private static double length(double x, double y) {
    return Math.sqrt(x * x + y * y);
  }
}
