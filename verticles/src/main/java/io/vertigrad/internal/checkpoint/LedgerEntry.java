package io.vertigrad.internal.checkpoint;

import io.vertx.core.json.JsonArray;
import java.util.List;

/**
 * What became of one rank's updates of one partition, as kept in a checkpoint.
 *
 * @param rank the worker's rank
 * @param incarnation of the worker that sent the last one; steps of a rank that the job is not
 *     shared out to are counted anew for each
 * @param next the first step that was not dealt with
 * @param applied updates that are in the parameters
 * @param late updates that came after their round, or after the last version
 * @param tooStale updates older than the strategy's bound
 * @param refused updates turned away for good, whose step was passed
 * @param skipped steps that were passed without an update
 * @param turnedAway steps from {@code next} on whose updates were turned away for good
 */
public record LedgerEntry(
    int rank,
    int incarnation,
    long next,
    long applied,
    long late,
    long tooStale,
    long refused,
    long skipped,
    List<Long> turnedAway) {

  public LedgerEntry {
    turnedAway = List.copyOf(turnedAway);
  }

  JsonArray toJson() {
    return JsonArray.of(
        rank,
        incarnation,
        next,
        applied,
        late,
        tooStale,
        refused,
        skipped,
        new JsonArray(turnedAway));
  }

  static LedgerEntry fromJson(JsonArray json) {
    return new LedgerEntry(
        json.getInteger(0),
        json.getInteger(1),
        json.getLong(2),
        json.getLong(3),
        json.getLong(4),
        json.getLong(5),
        json.getLong(6),
        json.getLong(7),
        json.getJsonArray(8).stream().map(step -> ((Number) step).longValue()).toList());
  }
}
