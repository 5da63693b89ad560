package io.vertigrad.benchmarks.exchange;

import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.internal.exchange.PartitionPlan;
import io.vertigrad.job.JobConfig;
import io.vertx.core.json.JsonObject;

/**
 * One case of the exchange benchmark.
 *
 * @param name the job's name, different for every run so that no address is used twice
 * @param strategy {@code sync} or {@code async}
 * @param parameters float32 elements that each worker sends and receives in a round
 * @param workers number of workers
 * @param rounds counted rounds of each worker
 * @param warmRounds rounds before the counted ones
 * @param sums whether raw TCP also reads and writes vectors and its server adds and steps, as
 *     Vertigrad always does
 * @param transport the job's transport
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

  /** Creates a case in which raw TCP only moves bytes. */
  public ExchangeCase(
      String name, String strategy, int parameters, int workers, int rounds, int warmRounds) {
    this(name, strategy, parameters, workers, rounds, warmRounds, false, "auto");
  }

  /** Returns the same case with sums over raw TCP. */
  ExchangeCase thatSums() {
    return new ExchangeCase(
        name, strategy, parameters, workers, rounds, warmRounds, true, transport);
  }

  /** Returns the same case over streams, without shared memory. */
  ExchangeCase overStreams() {
    return new ExchangeCase(
        name, strategy, parameters, workers, rounds, warmRounds, sums, "stream");
  }

  /** Returns true when all workers wait for each other in every round. */
  boolean lockstep() {
    return strategy.equals("sync");
  }

  /** Returns the payload bytes in one direction of one worker's round. */
  long bytes() {
    return 4L * parameters;
  }

  /** Returns the job as a job file would define it. */
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
