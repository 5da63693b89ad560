package io.vertigrad.compute.data;

import io.vertigrad.compute.settings.Settings;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Turns one channel's bytes into network inputs: {@code (v / range - mean) / deviation}.
 *
 * @param range divisor of a byte: 255 for values from 0 to 1 before the rest, 1 for the bytes as
 *     they are
 * @param mean mean of the channel over the training set, after the division
 * @param deviation standard deviation of the channel, above 0
 */
public record Normalisation(float range, float mean, float deviation) {

  /** The usual values for MNIST. */
  public static final Normalisation MNIST = new Normalisation(0.1307f, 0.3081f);

  /** The usual values for CIFAR-10: red, green, blue. */
  public static final List<Normalisation> CIFAR10 =
      List.of(
          new Normalisation(0.4914f, 0.2023f),
          new Normalisation(0.4822f, 0.1994f),
          new Normalisation(0.4465f, 0.2010f));

  /** Inputs from 0 to 1, as torchvision's {@code ToTensor()} gives them. */
  public static final Normalisation UNIT = new Normalisation(0, 1);

  /** Inputs from 0 to 255: the bytes as numbers. */
  public static final Normalisation RAW = new Normalisation(1, 0, 1);

  private static final String KEY = "normalization";
  private static final String MEAN = "mean";
  private static final String DEVIATION = "deviation";
  private static final float BYTE_RANGE = 255;

  public Normalisation {
    if (!(range > 0) || !(deviation > 0) || !Float.isFinite(mean)) {
      throw new IllegalArgumentException(
          "range %s, mean %s, deviation %s: expected a finite mean, the others above 0"
              .formatted(range, mean, deviation));
    }
  }

  /**
   * Creates the normalisation of a channel with this mean and deviation on the scale 0 to 1.
   *
   * @param mean mean, from 0 to 1
   * @param deviation standard deviation, above 0
   */
  public Normalisation(float mean, float deviation) {
    this(BYTE_RANGE, mean, deviation);
  }

  /**
   * Returns the normalisation that the option {@code normalization} asks for, one per channel; for
   * a provider that reads its options. The option is {@code standard} (the default), {@code unit},
   * {@code raw}, or an object of {@code mean} and {@code deviation}, each one number for all
   * channels or a list of one for each.
   *
   * @param options options of the data set
   * @param standard the data set's own normalisation, one per channel
   * @return one rule for each channel
   * @throws io.vertigrad.compute.settings.SettingsException when the option is none of these
   */
  public static List<Normalisation> of(Settings options, List<Normalisation> standard) {
    if (options.isSection(KEY)) {
      return given(options.section(KEY), standard.size());
    }
    return switch (options.choice(KEY, "standard", "standard", "unit", "raw")) {
      case "unit" -> Collections.nCopies(standard.size(), UNIT);
      case "raw" -> Collections.nCopies(standard.size(), RAW);
      default -> standard;
    };
  }

  private static List<Normalisation> given(Settings section, int channels) {
    List<Double> means = perChannel(section, MEAN, channels);
    List<Double> deviations = perChannel(section, DEVIATION, channels);
    section.refuseUnknown();
    List<Normalisation> given = new ArrayList<>();
    for (int channel = 0; channel < channels; channel++) {
      float mean = means.get(channel).floatValue();
      float deviation = deviations.get(channel).floatValue();
      if (!Float.isFinite(mean)) {
        throw section.refuse(MEAN, "has %s, too large".formatted(means.get(channel)));
      }
      if (!(deviation > 0)) {
        throw section.refuse(DEVIATION, "has %s, expected numbers above 0".formatted(deviation));
      }
      given.add(new Normalisation(mean, deviation));
    }
    return List.copyOf(given);
  }

  private static List<Double> perChannel(Settings section, String key, int channels) {
    List<Double> numbers = section.oneOrMoreNumbers(key);
    if (numbers.size() == 1) {
      return Collections.nCopies(channels, numbers.get(0));
    }
    if (numbers.size() != channels) {
      throw section.refuse(
          key,
          "has %s numbers, expected one for all channels or %s, one for each"
              .formatted(numbers.size(), channels));
    }
    return numbers;
  }

  /**
   * Returns the input for each byte, in single precision as torchvision computes it.
   *
   * @return 256 values, for the bytes 0 to 255
   */
  public float[] table() {
    float[] table = new float[256];
    for (int value = 0; value < table.length; value++) {
      table[value] = (value / range - mean) / deviation;
    }
    return table;
  }
}
