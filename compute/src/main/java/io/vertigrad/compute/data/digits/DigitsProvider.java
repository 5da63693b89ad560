package io.vertigrad.compute.data.digits;

import io.vertigrad.codecs.settings.Settings;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.ImageDataset;
import io.vertigrad.compute.data.Normalisation;
import io.vertx.core.json.JsonObject;
import java.util.List;

/**
 * Opens {@code digits}: handwritten-like digits, 28x28, drawn when they are opened.
 *
 * <p>Options: {@code train} (samples, 12000), {@code test} (samples, 2000), {@code seed} (1).
 */
public final class DigitsProvider implements DatasetProvider {

  private static final int MOST_SAMPLES = 1_000_000;

  @Override
  public String name() {
    return "digits";
  }

  @Override
  public Dataset open(DataConfig config, Split split) {
    Settings options = Settings.of("data set 'digits'", new JsonObject(config.options()));
    int train = options.integer("train", 12_000, 1, MOST_SAMPLES);
    int test = options.integer("test", 2_000, 1, MOST_SAMPLES);
    long seed = options.longInteger("seed", 1, Long.MIN_VALUE, Long.MAX_VALUE);
    options.refuseUnknown();
    byte[] labels = new byte[split == Split.TRAIN ? train : test];
    byte[] pixels = new byte[labels.length * DigitPress.SIDE * DigitPress.SIDE];
    new DigitPress(seed, split).print(pixels, labels);
    return new ImageDataset(
        pixels,
        labels,
        labels.length,
        List.of(1, DigitPress.SIDE, DigitPress.SIDE),
        Handwriting.digits(),
        List.of(Normalisation.MNIST));
  }
}
