package io.vertigrad.compute.data.shapes;

import io.vertigrad.compute.data.SplitMix64;

/** A colour image that is being painted: red, green and blue planes with values from 0 to 1. */
final class Canvas {

  /** Pixels along one side of an image. */
  static final int SIDE = 32;

  static final int CHANNELS = 3;

  private static final int PLANE = SIDE * SIDE;
  private static final double SQRT_3 = 1.7320508075688772;

  private final float[] values = new float[CHANNELS * PLANE];

  /** Paints the whole image. */
  void fill(Gradient paint) {
    for (int at = 0; at < PLANE; at++) {
      blend(at, paint, 1);
    }
  }

  /** Paints a region, anti-aliased over an edge of {@code edge} pixels. */
  void fill(Outline outline, Pose pose, Gradient paint, double edge) {
    for (int at = 0; at < PLANE; at++) {
      double cover = 0.5 - pose.distance(outline, at % SIDE, at / SIDE) / edge;
      if (cover > 0) {
        blend(at, paint, Math.min(1, cover));
      }
    }
  }

  /** Lightens or darkens all channels by the same amount. */
  void shade(Texture texture) {
    for (int at = 0; at < PLANE; at++) {
      double light = texture.light(at % SIDE, at / SIDE);
      for (int channel = 0; channel < CHANNELS; channel++) {
        values[channel * PLANE + at] += light;
      }
    }
  }

  /**
   * Writes the image as bytes and adds noise with the given deviation to every channel.
   *
   * <p>The noise equals {@link SplitMix64#normal()}, but uses the four 16-bit parts of one random
   * number, because the noise takes most of the time of an image.
   */
  void develop(double noise, SplitMix64 random, byte[] pixels, int offset) {
    double scale = noise * SQRT_3 / (1 << Short.SIZE);
    for (int i = 0; i < values.length; i++) {
      double value = values[i] + scale * quarters(random.nextLong());
      pixels[offset + i] = (byte) Math.round(255 * Math.max(0, Math.min(1, value)));
    }
  }

  /** Returns the sum of four whole numbers, each equally likely from -32768 to 32767. */
  private static int quarters(long bits) {
    return (short) bits + (short) (bits >> 16) + (short) (bits >> 32) + (short) (bits >> 48);
  }

  private void blend(int at, Gradient paint, double cover) {
    double share = paint.share(at % SIDE, at / SIDE);
    blend(at, paint.red(share), cover);
    blend(PLANE + at, paint.green(share), cover);
    blend(2 * PLANE + at, paint.blue(share), cover);
  }

  private void blend(int at, double colour, double cover) {
    values[at] = (float) ((1 - cover) * values[at] + cover * colour);
  }
}
