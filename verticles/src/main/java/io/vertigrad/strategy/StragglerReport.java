package io.vertigrad.strategy;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Collection;
import java.util.List;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Whom the waiting workers of a partition wait for.
 *
 * @param partition its index
 * @param step the round, or the step of the slowest, that has to come
 * @param workers ranks whose gradient for it is missing, ascending
 */
public record StragglerReport(int partition, long step, List<Integer> workers) {

  /** Copies the ranks. */
  public StragglerReport {
    workers = List.copyOf(workers);
  }

  /**
   * Of these ranks, in whatever order they come.
   *
   * @param partition where they are missing
   * @param step which step they did not make
   * @param ranks workers
   * @return the report, ranks in ascending order
   */
  public static StragglerReport of(int partition, long step, Collection<Integer> ranks) {
    return new StragglerReport(partition, step, List.copyOf(new TreeSet<>(ranks)));
  }

  /**
   * For people.
   *
   * @param shard the server that waits
   * @return one line
   */
  public String describe(int shard) {
    return "shard %d, partition %d waits for step %d of %s"
        .formatted(
            shard,
            partition,
            step,
            workers.stream().map(rank -> "worker " + rank).collect(Collectors.joining(", ")));
  }

  /**
   * As part of a server's status.
   *
   * @return what {@link #fromJson} reads
   */
  public JsonObject toJson() {
    return new JsonObject()
        .put("partition", partition)
        .put("step", step)
        .put("workers", new JsonArray(workers));
  }

  /**
   * Reads it back.
   *
   * @param json what {@link #toJson} wrote
   * @return the report
   */
  public static StragglerReport fromJson(JsonObject json) {
    List<Integer> workers =
        json.getJsonArray("workers").stream().map(rank -> ((Number) rank).intValue()).toList();
    return new StragglerReport(json.getInteger("partition"), json.getLong("step"), workers);
  }
}
