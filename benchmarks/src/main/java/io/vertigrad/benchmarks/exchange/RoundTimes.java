package io.vertigrad.benchmarks.exchange;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The end times of one worker's rounds; the monotonic clock is the same in all processes of a
 * machine.
 *
 * @param nanos the clock at the start of the first counted round, then at the end of each
 */
record RoundTimes(long[] nanos) {

  static RoundTimes fromJson(JsonObject json) {
    return new RoundTimes(
        json.getJsonArray("nanos").stream()
            .mapToLong(value -> ((Number) value).longValue())
            .toArray());
  }

  /** Returns the times without the first {@code rounds}. */
  RoundTimes after(int rounds) {
    return new RoundTimes(Arrays.copyOfRange(nanos, rounds, nanos.length));
  }

  JsonObject toJson() {
    JsonArray array = new JsonArray();
    for (long nano : nanos) {
      array.add(nano);
    }
    return new JsonObject().put("nanos", array);
  }

  /** Returns the duration of each round in milliseconds. */
  double[] millis() {
    return IntStream.range(1, nanos.length)
        .mapToDouble(i -> (nanos[i] - nanos[i - 1]) / 1e6)
        .toArray();
  }

  /**
   * Returns the rounds per second of all workers together, from the first start to the last end.
   */
  static double roundsPerSecond(List<RoundTimes> workers) {
    long first = workers.stream().mapToLong(times -> times.nanos[0]).min().orElseThrow();
    long last =
        workers.stream()
            .mapToLong(times -> times.nanos[times.nanos.length - 1])
            .max()
            .orElseThrow();
    long rounds = workers.stream().mapToLong(times -> times.nanos.length - 1).sum();
    return rounds * 1e9 / (last - first);
  }
}
