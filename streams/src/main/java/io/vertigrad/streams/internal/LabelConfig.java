package io.vertigrad.streams.internal;

import io.vertigrad.compute.settings.Settings;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * The settings of labels that come later than their events.
 *
 * @param place topic or address of the labels
 * @param key field that an event and its label share; empty for the key of Kafka's records
 * @param withinMillis longest time between an event and its label
 * @param most most events of a lane that wait for their labels
 */
record LabelConfig(String place, Optional<String> key, long withinMillis, int most) {

  private static final double SECONDS = 3_600;
  private static final double MOST_SECONDS = 31_536_000;
  private static final int MOST_EVENTS = 10_000_000;

  /** Reads the section {@code labels}, where the key {@code place} names a topic or address. */
  static Optional<LabelConfig> read(Settings source, String place) {
    if (!source.isSection("labels")) {
      if (source.has("labels")) {
        throw source.refuse(
            "labels", "is no object, expected { \"%s\": \"...\", ... }".formatted(place));
      }
      return Optional.empty();
    }
    Settings section = source.section("labels");
    LabelConfig config =
        new LabelConfig(
            section.requiredString(place),
            section.optionalString("key"),
            (long)
                (TimeUnit.SECONDS.toMillis(1)
                    * section.number("withinSeconds", SECONDS, 0.001, MOST_SECONDS)),
            section.integer("most", 10_000, 1, MOST_EVENTS));
    section.refuseUnknown();
    return Optional.of(config);
  }
}
