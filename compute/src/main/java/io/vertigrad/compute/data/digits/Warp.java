package io.vertigrad.compute.data.digits;

import io.vertigrad.compute.data.SplitMix64;
import java.util.Arrays;
import java.util.DoubleSummaryStatistics;
import java.util.List;
import java.util.function.Function;

/**
 * The random distortion of one sample: an elastic displacement, then an affine map for slant, size
 * and position.
 *
 * <p>The elastic part is a sum of a few long sine waves with random direction, which is smooth and
 * cheap to compute at a stroke's points. Sines come from {@link StrictMath}, so they are the same
 * on every machine.
 */
final class Warp {

  private static final int WAVES = 3;
  private static final double TAU = 2 * StrictMath.PI;

  private final double[] waves = new double[WAVES * 5];
  private final double xx;
  private final double xy;
  private final double yx;
  private final double yy;
  private final double shiftX;
  private final double shiftY;

  Warp(SplitMix64 random) {
    for (int i = 0; i < waves.length; i += 5) {
      waves[i] = random.between(-1.1, 1.1);
      waves[i + 1] = random.between(-1.1, 1.1);
      waves[i + 2] = random.uniform();
      waves[i + 3] = 0.035 * random.normal();
      waves[i + 4] = 0.035 * random.normal();
    }
    double height = random.between(16.5, 21.5);
    double width = height * random.between(0.66, 0.98);
    double angle = 0.1 * random.normal();
    double slant = 0.08 + 0.17 * random.normal();
    double cos = StrictMath.cos(angle);
    double sin = StrictMath.sin(angle);
    xx = cos * width;
    xy = -(sin + slant * cos) * height;
    yx = sin * width;
    yy = (cos - slant * sin) * height;
    shiftX = 0.9 * random.normal();
    shiftY = 0.9 * random.normal();
  }

  /** Moves points from the unit box to pixels, with the middle of the digit near {@code centre}. */
  void apply(List<Polyline> lines, double centre) {
    for (Polyline line : lines) {
      for (int i = 0; i < line.length(); i++) {
        place(line, i);
      }
    }
    double moveX = centre - middle(lines, line -> line.x) + shiftX;
    double moveY = centre - middle(lines, line -> line.y) + shiftY;
    lines.forEach(line -> line.move(moveX, moveY));
  }

  private void place(Polyline line, int point) {
    double x = line.x[point];
    double y = line.y[point];
    double bentX = x;
    double bentY = y;
    for (int i = 0; i < waves.length; i += 5) {
      double wave = StrictMath.sin(TAU * (waves[i] * x + waves[i + 1] * y + waves[i + 2]));
      bentX += waves[i + 3] * wave;
      bentY += waves[i + 4] * wave;
    }
    line.x[point] = xx * bentX + xy * bentY;
    line.y[point] = yx * bentX + yy * bentY;
  }

  private static double middle(List<Polyline> lines, Function<Polyline, double[]> axis) {
    DoubleSummaryStatistics range =
        lines.stream().map(axis).flatMapToDouble(Arrays::stream).summaryStatistics();
    return (range.getMin() + range.getMax()) / 2;
  }
}
