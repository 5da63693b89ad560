package io.vertigrad.streams.internal;

import io.vertigrad.compute.settings.Settings;
import io.vertigrad.streams.EventReader;
import io.vertigrad.streams.EventSource;
import io.vertx.core.json.JsonObject;
import java.util.Optional;

/**
 * An address of the event bus of the job's cluster. Senders use {@code request}: the reply says
 * that the event was applied. The bus cannot replay, so the sender decides what it sends again.
 */
public final class BusSource implements EventSource {

  /**
   * The settings of the source.
   *
   * @param most most events that a worker holds; others are refused
   * @param waitMillis after this time a smaller batch is trained on
   * @param labels where labels come from later; empty if events carry them
   */
  record BusConfig(String address, int most, long waitMillis, Optional<LabelConfig> labels) {

    static BusConfig read(Settings source) {
      source.string("kind", "bus");
      BusConfig config =
          new BusConfig(
              source.requiredString("address"),
              source.integer("most", 1_000, 1, 1_000_000),
              source.longInteger("waitMillis", 50, 0, 3_600_000),
              LabelConfig.read(source, "address"));
      config
          .labels()
          .filter(labels -> labels.key().isEmpty())
          .ifPresent(
              labels -> {
                throw source.refuse(
                    "labels.key", "is missing, expected the field that event and label share");
              });
      source.refuseUnknown();
      return config;
    }
  }

  @Override
  public String kind() {
    return "bus";
  }

  @Override
  public void check(Settings source) {
    BusConfig.read(source);
  }

  @Override
  public EventReader open(Settings source, Reading reading, Optional<JsonObject> position) {
    return new BusReader(BusConfig.read(source), reading);
  }
}
