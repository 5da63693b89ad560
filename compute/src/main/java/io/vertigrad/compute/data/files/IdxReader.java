package io.vertigrad.compute.data.files;

import io.vertigrad.compute.data.DataException;
import java.nio.ByteBuffer;
import java.nio.file.Path;

/**
 * Reads IDX files of unsigned bytes, the format of MNIST.
 *
 * <p>Big-endian: magic number, number of items, for images rows and columns, then the bytes. See
 * LeCun, Cortes, Burges: "The MNIST database of handwritten digits", file formats.
 */
final class IdxReader {

  private static final int LABELS_MAGIC = 0x00000801;
  private static final int IMAGES_MAGIC = 0x00000803;
  private static final int LABELS_HEADER_BYTES = 8;
  private static final int IMAGES_HEADER_BYTES = 16;
  private static final int MOST_PIXELS_A_SIDE = 1024;

  private IdxReader() {}

  /** Images as one array, image after image and row after row. */
  record Images(int count, int rows, int columns, byte[] pixels) {}

  static Images images(Path path) {
    try (DataFile file = DataFile.open(path)) {
      ByteBuffer header = ByteBuffer.wrap(file.read(IMAGES_HEADER_BYTES, "header"));
      expectMagic(path, header.getInt(), IMAGES_MAGIC, "images");
      int count = count(path, header.getInt());
      int rows = side(path, "rows", header.getInt());
      int columns = side(path, "columns", header.getInt());
      long length = (long) count * rows * columns;
      byte[] pixels = file.read(length, "%s images %sx%s".formatted(count, rows, columns));
      file.expectEnd(IMAGES_HEADER_BYTES + length);
      return new Images(count, rows, columns, pixels);
    }
  }

  /** Returns labels, each below {@code classes}. */
  static byte[] labels(Path path, int classes) {
    try (DataFile file = DataFile.open(path)) {
      ByteBuffer header = ByteBuffer.wrap(file.read(LABELS_HEADER_BYTES, "header"));
      expectMagic(path, header.getInt(), LABELS_MAGIC, "labels");
      int count = count(path, header.getInt());
      byte[] labels = file.read(count, count + " labels");
      file.expectEnd(LABELS_HEADER_BYTES + (long) count);
      for (int i = 0; i < count; i++) {
        if ((labels[i] & 0xFF) >= classes) {
          throw new DataException(
              "%s: label %s is %s, expected 0 to %s"
                  .formatted(path, i, labels[i] & 0xFF, classes - 1));
        }
      }
      return labels;
    }
  }

  private static void expectMagic(Path path, int found, int expected, String what) {
    if (found != expected) {
      throw new DataException(
          "%s: magic number is 0x%08x%s, expected 0x%08x (IDX %s)"
              .formatted(path, found, meaning(found), expected, what));
    }
  }

  private static String meaning(int magic) {
    return switch (magic) {
      case LABELS_MAGIC -> " (IDX labels)";
      case IMAGES_MAGIC -> " (IDX images)";
      default -> magic >>> 16 == 0x1F8B ? " (gzip: the name must end in .gz)" : "";
    };
  }

  private static int count(Path path, int found) {
    if (found < 1) {
      throw new DataException(
          "%s: the header announces %s items, expected at least 1"
              .formatted(path, Integer.toUnsignedLong(found)));
    }
    return found;
  }

  private static int side(Path path, String what, int found) {
    if (found < 1 || found > MOST_PIXELS_A_SIDE) {
      throw new DataException(
          "%s: the header announces %s %s, expected 1 to %s"
              .formatted(path, Integer.toUnsignedLong(found), what, MOST_PIXELS_A_SIDE));
    }
    return found;
  }
}
