package io.vertigrad.compute.data.shapes;

import io.vertigrad.compute.data.SplitMix64;

/** The region inside a closed chain of straight edges around the origin, convex or not. */
final class Polygon implements Outline {

  private static final double TURN = 2 * StrictMath.PI;
  private static final double WOBBLE = 0.05;
  private static final double NEAR = 0.2;

  private final double[] x;
  private final double[] y;
  private final double[] edgeX;
  private final double[] edgeY;
  private final double[] inverseSquare;
  private final double reach;

  /** Creates a polygon from its corners, in either direction; it keeps the arrays. */
  Polygon(double[] x, double[] y) {
    this.x = x;
    this.y = y;
    edgeX = new double[x.length];
    edgeY = new double[x.length];
    inverseSquare = new double[x.length];
    double farthest = 0;
    for (int i = 0; i < x.length; i++) {
      int next = (i + 1) % x.length;
      edgeX[i] = x[next] - x[i];
      edgeY[i] = y[next] - y[i];
      inverseSquare[i] = 1 / (edgeX[i] * edgeX[i] + edgeY[i] * edgeY[i]);
      farthest = Math.max(farthest, x[i] * x[i] + y[i] * y[i]);
    }
    reach = Math.sqrt(farthest);
  }

  /**
   * Returns a polygon with equal edges and angles, with corners at this distance from the middle.
   */
  static Polygon regular(int corners, double radius) {
    return star(corners, radius, StrictMath.cos(StrictMath.PI / corners));
  }

  /**
   * Returns a star with tips at this distance from the middle and the corners between them at
   * {@code inner} times it.
   */
  static Polygon star(int tips, double radius, double inner) {
    double[] x = new double[2 * tips];
    double[] y = new double[2 * tips];
    for (int i = 0; i < x.length; i++) {
      double distance = i % 2 == 0 ? radius : radius * inner;
      x[i] = distance * StrictMath.cos(TURN * i / x.length);
      y[i] = distance * StrictMath.sin(TURN * i / x.length);
    }
    return new Polygon(x, y);
  }

  /**
   * Returns a plus sign of four equal arms that end {@code r} from the middle and are {@code 2w}
   * wide.
   */
  static Polygon cross(double r, double w) {
    return new Polygon(
        new double[] {r, r, w, w, -w, -w, -r, -r, -w, -w, w, w},
        new double[] {-w, w, w, r, r, w, w, -w, -w, -r, -r, -w});
  }

  /** Returns this polygon with every corner displaced at random. */
  Polygon shaken(SplitMix64 random) {
    double[] shakenX = new double[x.length];
    double[] shakenY = new double[y.length];
    for (int i = 0; i < x.length; i++) {
      shakenX[i] = x[i] + WOBBLE * random.normal();
      shakenY[i] = y[i] + WOBBLE * random.normal();
    }
    return new Polygon(shakenX, shakenY);
  }

  @Override
  public double distance(double px, double py) {
    double outside = Math.sqrt(px * px + py * py) - reach;
    return outside > NEAR ? outside : exactDistance(px, py);
  }

  private double exactDistance(double px, double py) {
    double least = Double.MAX_VALUE;
    boolean inside = false;
    for (int i = 0; i < x.length; i++) {
      int next = i + 1 == x.length ? 0 : i + 1;
      boolean above = py < y[i];
      double fromX = px - x[i];
      double fromY = py - y[i];
      double along = (fromX * edgeX[i] + fromY * edgeY[i]) * inverseSquare[i];
      double t = along < 0 ? 0 : along > 1 ? 1 : along;
      double missX = fromX - t * edgeX[i];
      double missY = fromY - t * edgeY[i];
      double square = missX * missX + missY * missY;
      least = square < least ? square : least;
      // A ray to the right crosses the edge, so the point changes sides.
      inside ^= above != py < y[next] && fromX < edgeX[i] * fromY / edgeY[i];
    }
    return inside ? -Math.sqrt(least) : Math.sqrt(least);
  }
}
