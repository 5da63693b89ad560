package io.vertigrad.compute.data.digits;

import io.vertigrad.compute.data.SplitMix64;
import java.util.Arrays;
import java.util.List;

/**
 * A pen of random thickness, pressure and ink that draws anti-aliased strokes.
 *
 * <p>A pixel's ink depends on how deep its centre is inside the stroke; the stroke's soft edge is
 * about one pixel wide. One canvas is reused. Not thread-safe.
 */
final class Brush {

  private static final double SHORTEST_SQUARED = 1e-9;

  private final int side;
  private final float[] canvas;
  private double radius;
  private double pressure;
  private double edge;

  Brush(int side) {
    this.side = side;
    this.canvas = new float[side * side];
  }

  /** Draws the strokes, given in pixels, and writes {@code side * side} bytes, 255 for full ink. */
  void paint(List<Polyline> lines, SplitMix64 random, byte[] pixels, int offset) {
    Arrays.fill(canvas, 0);
    radius = random.between(0.9, 1.9);
    pressure = random.between(-0.3, 0.3);
    edge = random.between(0.9, 1.5);
    for (Polyline line : lines) {
      for (int i = 0; i + 1 < line.length(); i++) {
        double along = (double) i / line.length();
        segment(line, i, radius * (1 + pressure * (2 * along - 1)));
      }
    }
    develop(random, pixels, offset);
  }

  private void segment(Polyline line, int i, double thickness) {
    double ax = line.x[i];
    double ay = line.y[i];
    double dx = line.x[i + 1] - ax;
    double dy = line.y[i + 1] - ay;
    double reach = thickness + edge;
    int lastRow = last(Math.max(ay, ay + dy) + reach);
    int lastColumn = last(Math.max(ax, ax + dx) + reach);
    int firstColumn = first(Math.min(ax, ax + dx) - reach);
    for (int row = first(Math.min(ay, ay + dy) - reach); row <= lastRow; row++) {
      for (int column = firstColumn; column <= lastColumn; column++) {
        double ink = 0.5 + (thickness - distance(column - ax, row - ay, dx, dy)) / edge;
        int at = row * side + column;
        canvas[at] = (float) Math.max(canvas[at], Math.min(1, ink));
      }
    }
  }

  /** Returns the distance from point p to the straight segment from the origin to d. */
  private static double distance(double px, double py, double dx, double dy) {
    double along = (px * dx + py * dy) / Math.max(dx * dx + dy * dy, SHORTEST_SQUARED);
    double t = Math.max(0, Math.min(1, along));
    double ex = px - t * dx;
    double ey = py - t * dy;
    return Math.sqrt(ex * ex + ey * ey);
  }

  private int first(double position) {
    return Math.max(0, (int) Math.ceil(position));
  }

  private int last(double position) {
    return Math.min(side - 1, (int) Math.floor(position));
  }

  private void develop(SplitMix64 random, byte[] pixels, int offset) {
    double strength = random.between(0.7, 1.0);
    double grain = random.between(0, 0.25);
    double dirt = Math.max(0, random.between(-0.04, 0.05));
    for (int i = 0; i < canvas.length; i++) {
      double ink = canvas[i] * strength * (1 - grain * random.uniform());
      if (dirt > 0) {
        ink += dirt * random.normal();
      }
      pixels[offset + i] = (byte) Math.round(255 * Math.max(0, Math.min(1, ink)));
    }
  }
}
