package io.vertigrad.compute.data.files;

import io.vertigrad.compute.data.Augmentations;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.data.Normalisation;
import io.vertigrad.compute.settings.Settings;
import java.util.List;

/**
 * The options of a data set whose files hold images.
 *
 * @param train most training samples to use
 * @param test most test samples to use
 * @param normalisation one rule for each channel
 */
record ImageOptions(int train, int test, List<Normalisation> normalisation) {

  /**
   * Reads all options.
   *
   * @param standard the data set's own normalisation
   * @throws io.vertigrad.compute.settings.SettingsException when one is unknown or out of range
   */
  static ImageOptions read(DataConfig config, List<Normalisation> standard) {
    Settings options = config.settings();
    ImageOptions read =
        new ImageOptions(
            options.integer("train", Integer.MAX_VALUE, 1, Integer.MAX_VALUE),
            options.integer("test", Integer.MAX_VALUE, 1, Integer.MAX_VALUE),
            Normalisation.of(options, standard));
    Augmentations.check(options);
    options.refuseUnknown();
    return read;
  }

  int most(Split split) {
    return split == Split.TRAIN ? train : test;
  }
}
