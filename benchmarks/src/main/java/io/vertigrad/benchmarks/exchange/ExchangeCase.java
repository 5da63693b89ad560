package io.vertigrad.benchmarks.exchange;

import io.vertx.core.json.JsonObject;

/**
 * What is exchanged, by how many, how often.
 *
 * @param strategy {@code sync} or {@code async}
 * @param parameters float32 elements that each worker sends and gets back in a round
 * @param workers how many take part
 * @param rounds counted rounds of each worker
 * @param warmRounds rounds before those
 */
record ExchangeCase(String strategy, int parameters, int workers, int rounds, int warmRounds) {

  /** True when all workers wait for each other in every round. */
  boolean lockstep() {
    return strategy.equals("sync");
  }

  /** Payload bytes of one direction of one worker's round. */
  long bytes() {
    return 4L * parameters;
  }

  JsonObject toJson() {
    return new JsonObject()
        .put("strategy", strategy)
        .put("parameters", parameters)
        .put("workers", workers)
        .put("rounds", rounds)
        .put("warmRounds", warmRounds);
  }

  static ExchangeCase fromJson(JsonObject json) {
    return new ExchangeCase(
        json.getString("strategy"),
        json.getInteger("parameters"),
        json.getInteger("workers"),
        json.getInteger("rounds"),
        json.getInteger("warmRounds"));
  }
}
