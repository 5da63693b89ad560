package io.vertigrad.compute.data.digits;

import io.vertigrad.compute.data.GeneratedImages;
import io.vertigrad.compute.data.SplitMix64;
import java.util.List;

/** Draws one handwritten-like digit after another on the same canvas. Not thread-safe. */
final class DigitPainter implements GeneratedImages.Painter {

  /** Pixels along one side of an image. */
  static final int SIDE = 28;

  private static final double WOBBLE = 0.028;

  private final Brush brush = new Brush(SIDE);

  @Override
  public int paint(SplitMix64 random, byte[] pixels, int offset) {
    int digit = random.below(Handwriting.digits());
    List<Glyph> styles = Handwriting.styles(digit);
    Glyph glyph = styles.get(random.below(styles.size()));
    List<Polyline> lines = glyph.trace(random, WOBBLE);
    new Warp(random).apply(lines, (SIDE - 1) / 2.0);
    brush.paint(lines, random, pixels, offset);
    return digit;
  }
}
