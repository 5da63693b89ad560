package io.vertigrad.compute.data;

import java.util.Arrays;
import java.util.List;

/**
 * The usual CIFAR-10 augmentation: pads an image with a few black pixels, crops it at random, and
 * mirrors half of the images.
 *
 * <p>He, Zhang, Ren, Sun: "Deep residual learning for image recognition", CVPR 2016, section 4.2;
 * torchvision's RandomCrop(32, padding=4) and RandomHorizontalFlip. torchvision pads the raw image
 * with zeros <em>before</em> it normalises. Here samples are normalised already, so the padding is
 * a normalised raw zero, {@code (0 - mean) / deviation} of each channel, with the same result. It
 * works in place and keeps no state, so that workers may share it.
 */
final class PadCropFlip implements Augmentation {

  private final int padding;
  private final float[] black;

  /**
   * Creates an augmentation for {@code black.length} channels.
   *
   * @param padding pixels added on each side
   * @param black normalised value of a raw zero, for each channel
   */
  PadCropFlip(int padding, float... black) {
    this.padding = padding;
    this.black = black.clone();
  }

  @Override
  public void apply(float[] features, int offset, List<Integer> shape, SplitMix64 random) {
    int height = shape.get(1);
    int width = shape.get(2);
    int down = random.below(2 * padding + 1) - padding;
    int right = random.below(2 * padding + 1) - padding;
    boolean mirrored = random.below(2) == 1;
    for (int channel = 0; channel < black.length; channel++) {
      int from = offset + channel * height * width;
      crop(features, from, height, width, down, right, black[channel]);
      if (mirrored) {
        mirror(features, from, height, width);
      }
    }
  }

  /** Sets pixel (row, column) to the former (row + down, column + right), or to black outside. */
  private static void crop(
      float[] plane, int from, int height, int width, int down, int right, float black) {
    int kept = Math.max(0, width - Math.abs(right));
    int source = Math.max(0, right);
    int target = Math.max(0, -right);
    for (int i = 0; i < height; i++) {
      // In this order no row is overwritten before it is read.
      int row = down >= 0 ? i : height - 1 - i;
      int start = from + row * width;
      if (kept == 0 || row + down < 0 || row + down >= height) {
        Arrays.fill(plane, start, start + width, black);
      } else {
        System.arraycopy(plane, start + down * width + source, plane, start + target, kept);
        Arrays.fill(plane, start, start + target, black);
        Arrays.fill(plane, start + target + kept, start + width, black);
      }
    }
  }

  private static void mirror(float[] plane, int from, int height, int width) {
    for (int row = 0; row < height; row++) {
      int left = from + row * width;
      for (int right = left + width - 1; left < right; left++, right--) {
        float swapped = plane[left];
        plane[left] = plane[right];
        plane[right] = swapped;
      }
    }
  }
}
