package io.vertigrad.compute.data.digits;

/** A stroke as straight pieces; its points are moved in place by a {@link Warp}. */
final class Polyline {

  final double[] x;
  final double[] y;
  private int length;

  Polyline(int capacity) {
    x = new double[capacity];
    y = new double[capacity];
  }

  void add(double pointX, double pointY) {
    x[length] = pointX;
    y[length] = pointY;
    length++;
  }

  int length() {
    return length;
  }
}
