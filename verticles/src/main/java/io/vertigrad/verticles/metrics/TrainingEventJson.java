package io.vertigrad.verticles.metrics;

import io.vertx.core.json.JsonObject;

/** Training events to JSON and back, by record component. */
final class TrainingEventJson {

  private TrainingEventJson() {}

  static JsonObject write(TrainingEvent event) {
    throw new UnsupportedOperationException("written by the metrics room");
  }

  static TrainingEvent read(JsonObject json) {
    throw new UnsupportedOperationException("written by the metrics room");
  }
}
