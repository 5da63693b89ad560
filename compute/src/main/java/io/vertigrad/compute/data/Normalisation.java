package io.vertigrad.compute.data;

import java.util.List;

/**
 * How one channel's bytes become network inputs: {@code (v / 255 - mean) / deviation}.
 *
 * @param mean of the channel over the training set, on the scale 0 to 1
 * @param deviation its standard deviation, above 0
 */
public record Normalisation(float mean, float deviation) {

  /** The values everyone uses for MNIST. */
  public static final Normalisation MNIST = new Normalisation(0.1307f, 0.3081f);

  /** The values published programs use for CIFAR-10: red, green, blue. */
  public static final List<Normalisation> CIFAR10 =
      List.of(
          new Normalisation(0.4914f, 0.2023f),
          new Normalisation(0.4822f, 0.1994f),
          new Normalisation(0.4465f, 0.2010f));

  public Normalisation {
    if (!(deviation > 0) || !Float.isFinite(mean)) {
      throw new IllegalArgumentException(
          "mean %s, deviation %s: expected a finite mean and a deviation above 0"
              .formatted(mean, deviation));
    }
  }

  /** The input for each byte 0 to 255, in single precision as torchvision computes it. */
  float[] table() {
    float[] table = new float[256];
    for (int value = 0; value < table.length; value++) {
      table[value] = (value / 255f - mean) / deviation;
    }
    return table;
  }
}
