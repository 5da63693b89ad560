package io.vertigrad.compute.data.digits;

import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.data.SplitMix64;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Draws samples: number i of a split is a function of (seed, split, i) and of nothing else.
 *
 * <p>So a larger set begins with a smaller one, the splits never share a stream, and every process
 * of a job draws the same bytes.
 */
record DigitPress(long seed, Split split) {

  /** Pixels along one side of an image. */
  static final int SIDE = 28;

  private static final int IMAGE_BYTES = SIDE * SIDE;
  private static final double WOBBLE = 0.028;
  private static final int CHUNK = 64;

  /** Fills both arrays, on all cores: {@code labels.length} images of 784 bytes. */
  void print(byte[] pixels, byte[] labels) {
    int chunks = (labels.length + CHUNK - 1) / CHUNK;
    IntStream.range(0, chunks)
        .parallel()
        .forEach(
            chunk -> {
              Brush brush = new Brush(SIDE);
              int end = Math.min(labels.length, (chunk + 1) * CHUNK);
              for (int i = chunk * CHUNK; i < end; i++) {
                labels[i] = draw(i, brush, pixels, i * IMAGE_BYTES);
              }
            });
  }

  private byte draw(int sample, Brush brush, byte[] pixels, int offset) {
    SplitMix64 random = new SplitMix64(seed, split.ordinal(), sample);
    int digit = random.below(Handwriting.digits());
    List<Glyph> styles = Handwriting.styles(digit);
    Glyph glyph = styles.get(random.below(styles.size()));
    List<Polyline> lines = glyph.trace(random, WOBBLE);
    new Warp(random).apply(lines, (SIDE - 1) / 2.0);
    brush.paint(lines, random, pixels, offset);
    return (byte) digit;
  }
}
