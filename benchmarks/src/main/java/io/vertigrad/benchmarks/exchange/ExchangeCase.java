package io.vertigrad.benchmarks.exchange;

import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.internal.exchange.PartitionPlan;
import io.vertigrad.job.JobConfig;
import io.vertx.core.json.JsonObject;

/**
 * What is exchanged, by how many, how often.
 *
 * @param name of the job, different for every run so that no address is used twice
 * @param strategy {@code sync} or {@code async}
 * @param parameters float32 elements that each worker sends and gets back in a round
 * @param workers how many take part
 * @param rounds counted rounds of each worker
 * @param warmRounds rounds before those
 * @param sums over raw TCP, whether bytes come from and go into vectors and the server adds and
 *     steps; everywhere else they do
 * @param transport of the job
 */
public record ExchangeCase(
    String name,
    String strategy,
    int parameters,
    int workers,
    int rounds,
    int warmRounds,
    boolean sums,
    String transport) {

  /** Raw TCP moves bytes only. */
  public ExchangeCase(
      String name, String strategy, int parameters, int workers, int rounds, int warmRounds) {
    this(name, strategy, parameters, workers, rounds, warmRounds, false, "auto");
  }

  /** The same one that sums. */
  ExchangeCase thatSums() {
    return new ExchangeCase(
        name, strategy, parameters, workers, rounds, warmRounds, true, transport);
  }

  /** The same one over streams, without shared memory. */
  ExchangeCase overStreams() {
    return new ExchangeCase(
        name, strategy, parameters, workers, rounds, warmRounds, sums, "stream");
  }

  /** True when all workers wait for each other in every round. */
  boolean lockstep() {
    return strategy.equals("sync");
  }

  /** Payload bytes of one direction of one worker's round. */
  long bytes() {
    return 4L * parameters;
  }

  /** The job as a job file would say it. */
  public JobConfig job() {
    return JobConfig.read(
        "exchange benchmark",
        new JsonObject()
            .put("job", name)
            .put("steps", rounds + warmRounds + 1)
            .put("strategy", new JsonObject().put("name", strategy))
            .put("exchange", new JsonObject().put("transport", transport))
            .put("workers", new JsonObject().put("count", workers)));
  }

  ParameterLayout layout() {
    return SyntheticModel.layout(parameters);
  }

  public PartitionPlan plan() {
    return PartitionPlan.of(job(), layout());
  }

  JsonObject toJson() {
    return new JsonObject()
        .put("name", name)
        .put("strategy", strategy)
        .put("parameters", parameters)
        .put("workers", workers)
        .put("rounds", rounds)
        .put("warmRounds", warmRounds)
        .put("sums", sums)
        .put("transport", transport);
  }

  static ExchangeCase fromJson(JsonObject json) {
    return new ExchangeCase(
        json.getString("name"),
        json.getString("strategy"),
        json.getInteger("parameters"),
        json.getInteger("workers"),
        json.getInteger("rounds"),
        json.getInteger("warmRounds"),
        json.getBoolean("sums"),
        json.getString("transport"));
  }
}
