package io.vertigrad.engine.dl4j.kernels;

/**
 * The windows of max-pooling over one plane; the arithmetic of {@link MaxPooling}.
 *
 * <p>Floats are compared as integers that have the same order, which needs no branch and
 * vectorises. The maximum is taken down the columns of the whole plane first, then along the rows.
 */
final class PoolingWindows {

  private final int height;
  private final int width;
  private final int[] kernel;
  private final int rows;
  private final int columns;
  private final int[] corners;
  private final int[] highest;
  private final int[] below;

  /**
   * Creates windows without padding.
   *
   * @param kernel height and width of a window
   * @param stride distance between corners, down and across
   */
  PoolingWindows(int height, int width, int[] kernel, int[] stride) {
    this.height = height;
    this.width = width;
    this.kernel = kernel;
    this.rows = (height - kernel[0]) / stride[0] + 1;
    this.columns = (width - kernel[1]) / stride[1] + 1;
    this.corners = new int[rows * columns];
    for (int w = 0; w < corners.length; w++) {
      corners[w] = w / columns * stride[0] * width + w % columns * stride[1];
    }
    this.highest = new int[height * width - (kernel[0] - 1) * width];
    this.below = new int[highest.length];
  }

  boolean isFor(int someHeight, int someWidth) {
    return height == someHeight && width == someWidth;
  }

  int rows() {
    return rows;
  }

  int columns() {
    return columns;
  }

  int count() {
    return corners.length;
  }

  int area() {
    return height * width;
  }

  /**
   * Finds each window's maximum, as an integer in float order.
   *
   * @param plane bits of the floats; converted to integers in float order
   */
  void maxima(int[] plane, int[] maxima) {
    swapOrder(plane, area());
    System.arraycopy(plane, 0, highest, 0, highest.length);
    for (int y = 1; y < kernel[0]; y++) {
      System.arraycopy(plane, y * width, below, 0, below.length);
      updateMaxima(highest, below);
    }
    for (int w = 0; w < corners.length; w++) {
      int most = highest[corners[w]];
      for (int x = 1; x < kernel[1]; x++) {
        most = Math.max(most, highest[corners[w] + x]);
      }
      maxima[w] = most;
    }
  }

  /** Finds the first position of each window's maximum, in a plane of integers in float order. */
  void places(int[] plane, int[] maxima, int[] places, int first) {
    for (int w = 0; w < corners.length; w++) {
      places[first + w] = place(plane, corners[w], maxima[w]);
    }
  }

  private int place(int[] plane, int corner, int most) {
    for (int row = corner; ; row += width) {
      for (int at = row; at < row + kernel[1]; at++) {
        if (plane[at] == most) {
          return at;
        }
      }
    }
  }

  /** Converts the bits of floats into integers that compare like the floats, and back. */
  static void swapOrder(int[] values, int count) {
    for (int i = 0; i < count; i++) {
      values[i] ^= values[i] >> 31 & Integer.MAX_VALUE;
    }
  }

  private static void updateMaxima(int[] values, int[] others) {
    for (int i = 0; i < values.length; i++) {
      values[i] = Math.max(values[i], others[i]);
    }
  }
}
