package io.vertigrad.benchmarks.exchange;

import io.vertx.core.json.JsonObject;
import java.util.stream.IntStream;

/**
 * Which workers one process runs.
 *
 * @param first lowest rank
 * @param count how many
 * @param sharedModel whether they share one model's memory, where memory matters and not speed
 */
record Ranks(int first, int count, boolean sharedModel) {

  static Ranks fromJson(JsonObject json) {
    return new Ranks(
        json.getInteger("firstRank"),
        json.getInteger("count"),
        json.getBoolean("sharedModel", false));
  }

  IntStream stream() {
    return IntStream.range(first, first + count);
  }
}
