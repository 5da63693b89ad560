package io.vertigrad.benchmarks.exchange;

import io.vertx.core.json.JsonObject;
import java.util.stream.IntStream;

/**
 * The workers that one process runs.
 *
 * @param first lowest rank
 * @param count number of workers
 * @param sharedModel whether they share one model's memory, for measurements of memory and not of
 *     speed
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
