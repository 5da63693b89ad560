package io.vertigrad.compute.data.digits;

/** A stroke as straight segments between points; a {@link Warp} moves the points in place. */
final class Polyline {

  final double[] x;
  final double[] y;
  private int filled;

  /** Creates a stroke for exactly {@code length} points, which are added one by one. */
  Polyline(int length) {
    x = new double[length];
    y = new double[length];
  }

  void add(double pointX, double pointY) {
    x[filled] = pointX;
    y[filled] = pointY;
    filled++;
  }

  int length() {
    return x.length;
  }

  void move(double byX, double byY) {
    for (int i = 0; i < x.length; i++) {
      x[i] += byX;
      y[i] += byY;
    }
  }
}
