package io.vertigrad.benchmarks.allreduce;

import io.vertx.core.json.JsonObject;

/**
 * One case of the all-reduce benchmark.
 *
 * @param name the job's name, different for every run so that no address is used twice
 * @param direct true when every worker sends to every other; false around the ring
 * @param elements float32 elements of the vector
 * @param workers number of workers
 * @param rounds counted rounds
 * @param warmRounds rounds before the counted ones
 * @param transport the job's transport
 */
record AllReduceCase(
    String name,
    boolean direct,
    int elements,
    int workers,
    int rounds,
    int warmRounds,
    String transport) {

  /** Returns the same case over streams, without shared memory. */
  AllReduceCase overStreams() {
    return new AllReduceCase(name, direct, elements, workers, rounds, warmRounds, "stream");
  }

  JsonObject toJson() {
    return new JsonObject()
        .put("name", name)
        .put("direct", direct)
        .put("elements", elements)
        .put("workers", workers)
        .put("rounds", rounds)
        .put("warmRounds", warmRounds)
        .put("transport", transport);
  }

  static AllReduceCase fromJson(JsonObject json) {
    return new AllReduceCase(
        json.getString("name"),
        json.getBoolean("direct"),
        json.getInteger("elements"),
        json.getInteger("workers"),
        json.getInteger("rounds"),
        json.getInteger("warmRounds"),
        json.getString("transport"));
  }
}
