package io.vertigrad.engine.dl4j.models;

import io.vertigrad.compute.ModelConfig;
import java.util.Arrays;

/** Reads a model's options and checks their type and range. */
final class Options {

  private Options() {}

  static int integer(ModelConfig config, String key, int otherwise, int least, int most) {
    Object found = config.options().get(key);
    if (found == null) {
      return otherwise;
    }
    if (found instanceof Number number && number.doubleValue() == number.intValue()) {
      int value = number.intValue();
      if (value >= least && value <= most) {
        return value;
      }
    }
    throw refused(config, key, "a whole number from %s to %s".formatted(least, most));
  }

  static String choice(ModelConfig config, String key, String otherwise, String... choices) {
    Object given = config.options().get(key);
    Object found = given == null ? otherwise : given;
    if (Arrays.asList(choices).contains(found)) {
      return (String) found;
    }
    throw refused(config, key, "one of " + String.join(", ", choices));
  }

  private static IllegalArgumentException refused(ModelConfig config, String key, String expected) {
    return new IllegalArgumentException(
        "model %s: option %s is %s, expected %s"
            .formatted(config.name(), key, config.options().get(key), expected));
  }
}
