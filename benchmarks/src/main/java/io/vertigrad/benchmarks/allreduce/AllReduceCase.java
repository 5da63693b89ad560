package io.vertigrad.benchmarks.allreduce;

import io.vertx.core.json.JsonObject;

/**
 * What is summed, by how many, how often.
 *
 * @param name of the job, different for every run so that no address is used twice
 * @param direct from each to each; false around the ring
 * @param elements float32 elements of the vector
 * @param workers how many take part
 * @param rounds counted rounds
 * @param warmRounds rounds before those
 * @param transport of the job
 */
record AllReduceCase(
    String name,
    boolean direct,
    int elements,
    int workers,
    int rounds,
    int warmRounds,
    String transport) {

  /** The same one over streams, without shared memory. */
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
