package io.vertigrad.compute.data;

import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.settings.Settings;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/**
 * A data set of images that are drawn when it is opened. Image i of a split depends only on (seed,
 * split, i).
 *
 * <p>So a larger set begins with a smaller one, the splits never share random numbers, and every
 * process of a job draws the same bytes. Options: {@code train}, {@code test} (samples), {@code
 * seed} (1), {@code normalization} and {@code augmentation}.
 *
 * @param shape {@code [channels, height, width]}
 * @param classes number of classes
 * @param normalisation default normalisation, one per channel
 * @param train default number of training samples
 * @param test default number of test samples
 */
public record GeneratedImages(
    List<Integer> shape, int classes, List<Normalisation> normalisation, int train, int test) {

  private static final int MOST_SAMPLES = 1_000_000;
  private static final int MOST_BYTES = Integer.MAX_VALUE - 8;
  private static final int CHUNK = 64;

  /** The values of the options. */
  private record Drawing(int samples, long seed, List<Normalisation> chosen) {}

  /** Draws one image after the other; used by one thread at a time, so it may reuse a canvas. */
  @FunctionalInterface
  public interface Painter {

    /**
     * Writes one image's bytes at {@code pixels[offset...]} and returns its class.
     *
     * @param random random numbers for the image
     * @param pixels has room for an image from the offset on
     * @param offset index of the first byte
     * @return the image's class
     */
    int paint(SplitMix64 random, byte[] pixels, int offset);
  }

  /**
   * Draws the split on all cores, each chunk of images with its own painter.
   *
   * @param config the data section of a job file
   * @param split training or test set
   * @param painters creates a painter for each chunk
   * @return the images
   */
  public Dataset open(DataConfig config, Split split, Supplier<? extends Painter> painters) {
    Drawing drawing = read(config, split);
    long seed = drawing.seed();
    byte[] labels = new byte[drawing.samples()];
    byte[] pixels = new byte[labels.length * imageBytes()];
    int chunks = (labels.length + CHUNK - 1) / CHUNK;
    IntStream.range(0, chunks)
        .parallel()
        .forEach(chunk -> draw(chunk, painters.get(), seed, split, pixels, labels));
    return new ImageDataset(pixels, labels, labels.length, shape, classes, drawing.chosen());
  }

  /**
   * Checks the options, without drawing anything.
   *
   * @param config the data section of a job file
   * @param split training or test set
   * @throws io.vertigrad.compute.settings.SettingsException when one is unknown or out of range
   */
  public void check(DataConfig config, Split split) {
    read(config, split);
  }

  /**
   * Returns the number of images of a split.
   *
   * @param config the data section of a job file
   * @param split training or test set
   * @return a number of images
   */
  public int samples(DataConfig config, Split split) {
    return samples(config.settings(), split);
  }

  private Drawing read(DataConfig config, Split split) {
    Settings options = config.settings();
    int samples = samples(options, split);
    long seed = options.longInteger("seed", 1, Long.MIN_VALUE, Long.MAX_VALUE);
    List<Normalisation> chosen = Normalisation.of(options, normalisation);
    Augmentations.check(options);
    options.refuseUnknown();
    return new Drawing(samples, seed, chosen);
  }

  private int samples(Settings options, Split split) {
    int most = Math.min(MOST_SAMPLES, MOST_BYTES / imageBytes());
    int trainSize = options.integer("train", train, 1, most);
    int testSize = options.integer("test", test, 1, most);
    return split == Split.TRAIN ? trainSize : testSize;
  }

  private void draw(
      int chunk, Painter painter, long seed, Split split, byte[] pixels, byte[] labels) {
    int end = Math.min(labels.length, (chunk + 1) * CHUNK);
    for (int i = chunk * CHUNK; i < end; i++) {
      SplitMix64 random = new SplitMix64(seed, split.ordinal(), i);
      labels[i] = (byte) painter.paint(random, pixels, i * imageBytes());
    }
  }

  private int imageBytes() {
    return shape.stream().reduce(1, Math::multiplyExact);
  }
}
