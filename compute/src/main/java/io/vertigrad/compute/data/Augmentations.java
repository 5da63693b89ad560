package io.vertigrad.compute.data;

import io.vertigrad.compute.settings.Settings;
import java.util.List;

/** The augmentations that a job file's data section can name with {@code augmentation}. */
public final class Augmentations {

  private static final String KEY = "augmentation";
  private static final String NONE = "none";
  private static final String PAD_CROP_FLIP = "pad-crop-flip";
  private static final int PADDING = 4;

  private Augmentations() {}

  /**
   * Marks the key as known and checks its value; for a provider that reads its options.
   *
   * @param options options of the data set
   * @throws io.vertigrad.compute.settings.SettingsException when the key does not name an
   *     augmentation
   */
  public static void check(Settings options) {
    choice(options);
  }

  /**
   * Returns the augmentation that {@code config} asks for, for samples of {@code dataset}.
   *
   * @param config the data section of a job file
   * @param dataset the data set whose samples are changed
   * @return the augmentation
   * @throws io.vertigrad.compute.settings.SettingsException when it names no augmentation, or one
   *     that does not fit the samples
   */
  public static Augmentation of(DataConfig config, Dataset dataset) {
    Settings options = config.settings();
    return choice(options).equals(NONE) ? Augmentation.none() : padCropFlip(options, dataset);
  }

  private static String choice(Settings options) {
    return options.choice(KEY, NONE, NONE, PAD_CROP_FLIP);
  }

  private static Augmentation padCropFlip(Settings options, Dataset dataset) {
    List<Integer> shape = dataset.shape();
    if (shape.size() != 3) {
      throw options.refuse(
          KEY,
          "is \"%s\", but samples have shape %s, expected images [channels, height, width]; use %s"
              .formatted(PAD_CROP_FLIP, shape, NONE));
    }
    float[] black = new float[shape.get(0)];
    for (int channel = 0; channel < black.length; channel++) {
      black[channel] = dataset.black(channel);
    }
    return new PadCropFlip(PADDING, black);
  }
}
