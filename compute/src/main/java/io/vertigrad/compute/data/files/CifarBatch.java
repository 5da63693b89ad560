package io.vertigrad.compute.data.files;

import io.vertigrad.compute.data.DataException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * The images and labels of one CIFAR-10 file, of the binary or of the Python version.
 *
 * @param labels class of each image, 0 to 9
 * @param bytes array that holds the images; not copied
 * @param offset index of the first image
 * @param stride bytes from one image to the next
 */
record CifarBatch(byte[] labels, byte[] bytes, int offset, int stride) {

  static final int CLASSES = 10;
  static final int IMAGE_BYTES = 3 * 32 * 32;

  private static final int RECORD_BYTES = 1 + IMAGE_BYTES;
  private static final int MOST_RECORDS = 100_000;

  /** Reads a file of the binary version: records of one label byte and 3072 pixel bytes. */
  static CifarBatch binary(Path path) {
    byte[] records = content(path, MOST_RECORDS * RECORD_BYTES);
    if (records.length == 0 || records.length % RECORD_BYTES != 0) {
      throw new DataException(
          "%s: truncated or damaged: %s bytes, expected a multiple of %s (label and 3x32x32)"
              .formatted(path, records.length, RECORD_BYTES));
    }
    byte[] labels = new byte[records.length / RECORD_BYTES];
    for (int i = 0; i < labels.length; i++) {
      labels[i] = label(path, i, records[i * RECORD_BYTES] & 0xFF);
    }
    return new CifarBatch(labels, records, 1, RECORD_BYTES);
  }

  /**
   * Reads a file of the Python version: a pickled dict in which {@code data} is a NumPy array of
   * bytes, n x 3072, and {@code labels} is a list of n numbers.
   */
  static CifarBatch pickled(Path path) {
    // The limit leaves room for labels, names and, from Python 3, pixels above 127 as two bytes.
    byte[] content = content(path, 2 * MOST_RECORDS * RECORD_BYTES);
    Object value = PickleReader.read(path, content);
    if (!(value instanceof Map<?, ?> batch)
        || !(batch.get("data") instanceof PickleReader.ByteArray images)
        || !(batch.get("labels") instanceof List<?> found)) {
      throw new DataException(
          "%s: holds %s, expected a dict with an array \"data\" and a list \"labels\": is it CIFAR-10?"
              .formatted(path, PickleReader.described(value)));
    }
    if (images.shape().size() != 2 || images.shape().get(1) != IMAGE_BYTES || found.isEmpty()) {
      throw new DataException(
          "%s: data is an array %s, expected [images, %s]"
              .formatted(path, images.shape(), IMAGE_BYTES));
    }
    if (images.shape().get(0) != found.size()) {
      throw new DataException(
          "%s: holds %s images and %s labels, expected as many"
              .formatted(path, images.shape().get(0), found.size()));
    }
    byte[] labels = new byte[found.size()];
    for (int i = 0; i < labels.length; i++) {
      labels[i] = label(path, i, found.get(i));
    }
    PickleReader.Bytes data = images.data();
    return new CifarBatch(labels, data.array(), data.offset(), IMAGE_BYTES);
  }

  /** Returns the number of images. */
  int size() {
    return labels.length;
  }

  /**
   * Copies all images and their labels to the position of image {@code sample} in larger arrays.
   */
  void copyTo(byte[] allPixels, byte[] allLabels, int sample) {
    for (int i = 0; i < size(); i++) {
      int to = (sample + i) * IMAGE_BYTES;
      System.arraycopy(bytes, offset + i * stride, allPixels, to, IMAGE_BYTES);
    }
    System.arraycopy(labels, 0, allLabels, sample, size());
  }

  private static byte[] content(Path path, int most) {
    try (DataFile file = DataFile.open(path)) {
      return file.readAll(most);
    }
  }

  private static byte label(Path path, int record, Object found) {
    if (found instanceof Number label && label.longValue() >= 0 && label.longValue() < CLASSES) {
      return label.byteValue();
    }
    throw new DataException(
        "%s: label of record %s is %s, expected 0 to %s"
            .formatted(path, record, found, CLASSES - 1));
  }
}
