package io.vertigrad.strategy;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Collection;
import java.util.List;
import java.util.TreeSet;

/**
 * The workers that the waiting workers of a partition wait for.
 *
 * @param partition its index
 * @param step the awaited round, or the step of the slowest worker
 * @param workers ranks whose gradient for it is missing, ascending
 */
public record StragglerReport(int partition, long step, List<Integer> workers) {

  private static final int NAMED = 16;

  /**
   * Copies the ranks.
   *
   * @param partition its index
   * @param step the awaited round, or the step of the slowest worker
   * @param workers ranks, ascending
   */
  public StragglerReport {
    workers = List.copyOf(workers);
  }

  /**
   * Creates a report of ranks in any order.
   *
   * @param partition its index
   * @param step the awaited round, or the step of the slowest worker
   * @param ranks whose gradient for it is missing
   * @return the report
   */
  public static StragglerReport of(int partition, long step, Collection<Integer> ranks) {
    return new StragglerReport(partition, step, List.copyOf(new TreeSet<>(ranks)));
  }

  /**
   * Describes the report for display.
   *
   * @param shard rank of the shard that holds the partition
   * @return one line
   */
  public String describe(int shard) {
    return "shard %s, partition %s waits for step %s of %s"
        .formatted(
            shard,
            partition,
            step,
            listed(workers.stream().map(rank -> "worker " + rank).toList(), ", "));
  }

  /**
   * Joins the names of members for a message, which so has a limit in a job of many.
   *
   * @param names all names, in order
   * @param separator between two names
   * @return the first {@value #NAMED} names, and how many more there are
   */
  public static String listed(List<String> names, String separator) {
    String first = String.join(separator, names.subList(0, Math.min(NAMED, names.size())));
    return names.size() > NAMED ? first + " and %s more".formatted(names.size() - NAMED) : first;
  }

  /**
   * Converts the report for a server's status.
   *
   * @return the JSON
   */
  public JsonObject toJson() {
    return new JsonObject()
        .put("partition", partition)
        .put("step", step)
        .put("workers", new JsonArray(workers));
  }

  /**
   * Reads a report from a server's status.
   *
   * @param json a value of {@link #toJson()}
   * @return the report
   */
  public static StragglerReport fromJson(JsonObject json) {
    List<Integer> workers =
        json.getJsonArray("workers").stream().map(rank -> ((Number) rank).intValue()).toList();
    return new StragglerReport(json.getInteger("partition"), json.getLong("step"), workers);
  }
}
