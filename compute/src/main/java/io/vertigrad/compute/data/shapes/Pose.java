package io.vertigrad.compute.data.shapes;

import io.vertigrad.compute.data.SplitMix64;

/**
 * The position of an outline on the image: a random affine map, applied from pixels back to the
 * outline.
 *
 * <p>Sines come from {@link StrictMath}, so they are the same on every machine.
 */
final class Pose {

  private final double centreX;
  private final double centreY;
  private final double xx;
  private final double xy;
  private final double yx;
  private final double yy;
  private final double scale;

  /** Creates a random pose: any rotation, near the middle of the canvas. */
  Pose(SplitMix64 random) {
    double angle = 2 * StrictMath.PI * random.uniform();
    double cos = StrictMath.cos(angle);
    double sin = StrictMath.sin(angle);
    double width = random.between(9.5, 13);
    double height = width * random.between(0.78, 1);
    double shear = 0.12 * random.normal();
    double middle = (Canvas.SIDE - 1) / 2.0;
    centreX = middle + 2 * random.normal();
    centreY = middle + 2 * random.normal();
    // The inverse of rotation times ((width, shear * height), (0, height)).
    xx = (cos + shear * sin) / width;
    xy = (sin - shear * cos) / width;
    yx = -sin / height;
    yy = cos / height;
    scale = Math.sqrt(width * height);
  }

  /**
   * Returns the distance in pixels from a pixel's centre to the edge of the outline, negative
   * inside.
   */
  double distance(Outline outline, int column, int row) {
    double x = column - centreX;
    double y = row - centreY;
    return scale * outline.distance(xx * x + xy * y, yx * x + yy * y);
  }
}
