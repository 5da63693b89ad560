package io.vertigrad.streams.internal;

import io.vertigrad.compute.settings.Settings;
import io.vertigrad.streams.EventReader;
import io.vertigrad.streams.EventSource;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * A topic of Kafka. Each partition belongs to one rank for good, and the offsets are in the
 * checkpoint of the run.
 */
public final class KafkaSource implements EventSource {

  /**
   * The settings of the source.
   *
   * @param servers addresses to begin with, as Kafka's {@code bootstrap.servers}
   * @param latest true to begin with what comes from now on, false with the oldest records
   * @param columns names of the values of a record; empty for JSON
   * @param group consumer group whose offsets follow the training, for monitors of lag
   * @param properties further properties of Kafka's consumer
   * @param labels where labels come from later; empty if records carry them
   */
  record KafkaConfig(
      String servers,
      String topic,
      boolean latest,
      List<String> columns,
      char separator,
      Optional<String> group,
      Map<String, Object> properties,
      Optional<LabelConfig> labels) {

    static KafkaConfig read(Settings source) {
      source.string("kind", "kafka");
      String servers = source.requiredString("servers");
      String topic = source.requiredString("topic");
      boolean latest = source.choice("from", "earliest", "earliest", "latest").equals("latest");
      boolean csv = source.choice("format", "json", "json", "csv").equals("csv");
      List<String> columns = source.textList("columns", List.of());
      if (csv == columns.isEmpty()) {
        throw source.refuse(
            "columns",
            csv
                ? "is missing, expected the names of the values of a record in their order"
                : "is given, but the format is json, whose records name their fields; expected format csv");
      }
      String separator = source.string("separator", ",");
      if (separator.length() != 1 || separator.charAt(0) > 127) {
        throw source.refuse(
            "separator", "is \"%s\", expected one character such as , or ;".formatted(separator));
      }
      Map<String, Object> properties =
          new TreeMap<>(source.section("properties").toJson().getMap());
      KafkaConfig config =
          new KafkaConfig(
              servers,
              topic,
              latest,
              columns,
              separator.charAt(0),
              source.optionalString("group"),
              properties,
              LabelConfig.read(source, "topic"));
      source.refuseUnknown();
      return config;
    }
  }

  @Override
  public String kind() {
    return "kafka";
  }

  @Override
  public void check(Settings source) {
    KafkaConfig.read(source);
  }

  @Override
  public EventReader open(Settings source, Reading reading, Optional<JsonObject> position) {
    return new KafkaReader(KafkaConfig.read(source), reading, position);
  }
}
