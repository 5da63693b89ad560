package io.vertigrad.compute.data;

import java.util.List;
import java.util.Optional;

/**
 * Images that are kept as bytes and normalised when they are read, with one 256-entry table per
 * channel.
 *
 * <p>A byte v of channel c becomes {@code (v / 255 - mean[c]) / deviation[c]}. The arrays are not
 * copied, so the caller must not write to them afterwards.
 */
public final class ImageDataset implements Dataset {

  private final byte[] pixels;
  private final byte[] labels;
  private final List<Integer> shape;
  private final int classes;
  private final List<String> classNames;
  private final int size;
  private final int planeLength;
  private final List<Normalisation> normalisation;
  private final float[][] tables;

  /**
   * Creates a data set of the first {@code size} images, with classes without names.
   *
   * @param pixels image after image, each channel after channel, each row after row
   * @param labels class of each image, from 0
   * @param size how many of the images
   * @param shape {@code [channels, height, width]}
   * @param classes how many classes there are
   * @param normalisation one per channel
   */
  public ImageDataset(
      byte[] pixels,
      byte[] labels,
      int size,
      List<Integer> shape,
      int classes,
      List<Normalisation> normalisation) {
    this(pixels, labels, size, shape, classes, List.of(), normalisation);
  }

  /**
   * Creates a data set of the first {@code size} images, with named classes.
   *
   * @param pixels image after image, each channel after channel, each row after row
   * @param labels class of each image, from 0
   * @param size how many of the images
   * @param shape {@code [channels, height, width]}
   * @param classNames the name of each class
   * @param normalisation one per channel
   */
  public ImageDataset(
      byte[] pixels,
      byte[] labels,
      int size,
      List<Integer> shape,
      List<String> classNames,
      List<Normalisation> normalisation) {
    this(pixels, labels, size, shape, classNames.size(), classNames, normalisation);
  }

  private ImageDataset(
      byte[] pixels,
      byte[] labels,
      int size,
      List<Integer> shape,
      int classes,
      List<String> classNames,
      List<Normalisation> normalisation) {
    this.shape = List.copyOf(shape);
    this.planeLength = shape.get(1) * shape.get(2);
    long needed = (long) size * shape.get(0) * planeLength;
    if (size > labels.length || needed > pixels.length || normalisation.size() != shape.get(0)) {
      throw new IllegalArgumentException(
          "%s images %s need %s bytes, found %s bytes, %s labels and %s channel normalisations"
              .formatted(size, shape, needed, pixels.length, labels.length, normalisation.size()));
    }
    this.pixels = pixels;
    this.labels = labels;
    this.size = size;
    this.classes = classes;
    this.classNames = List.copyOf(classNames);
    this.normalisation = List.copyOf(normalisation);
    this.tables = normalisation.stream().map(Normalisation::table).toArray(float[][]::new);
  }

  @Override
  public int size() {
    return size;
  }

  @Override
  public List<Integer> shape() {
    return shape;
  }

  @Override
  public int classes() {
    return classes;
  }

  @Override
  public List<String> classNames() {
    return classNames;
  }

  @Override
  public void read(int index, float[] features, int offset) {
    int from = checked(index) * tables.length * planeLength;
    int to = offset;
    for (float[] table : tables) {
      for (int i = 0; i < planeLength; i++) {
        features[to++] = table[pixels[from++] & 0xFF];
      }
    }
  }

  @Override
  public float black(int channel) {
    return tables[channel][0];
  }

  @Override
  public Optional<List<Normalisation>> normalisation() {
    return Optional.of(normalisation);
  }

  @Override
  public int label(int index) {
    return labels[checked(index)] & 0xFF;
  }

  /** Returns the hash of the bytes of some images, from which their features follow. */
  long hash(int from, int to) {
    int image = tables.length * planeLength;
    return DataFingerprint.mix(0, pixels, from * image, to * image);
  }

  private int checked(int index) {
    if (index < 0 || index >= size) {
      throw new IndexOutOfBoundsException(
          "sample %s, expected one from 0 to %s".formatted(index, size - 1));
    }
    return index;
  }
}
