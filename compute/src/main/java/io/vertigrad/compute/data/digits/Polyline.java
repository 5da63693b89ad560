package io.vertigrad.compute.data.digits;

/** A stroke as straight pieces between points that a {@link Warp} moves in place. */
final class Polyline {

  final double[] x;
  final double[] y;
  private int filled;

  /** A stroke for exactly {@code length} points, to be added one by one. */
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
