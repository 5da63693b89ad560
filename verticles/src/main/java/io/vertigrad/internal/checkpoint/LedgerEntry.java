package io.vertigrad.internal.checkpoint;

import io.vertx.core.json.JsonArray;
import java.util.List;

/**
 * The outcomes of one rank's updates of one partition, as a checkpoint holds them.
 *
 * @param rank the worker's rank
 * @param incarnation incarnation of the worker that sent the last update; steps of a rank beyond
 *     the job's configured ranks are counted from 0 for each incarnation
 * @param next the first step that is not settled
 * @param applied updates that are in the parameters
 * @param late updates that came after their round or after the last version
 * @param tooStale updates older than the strategy's limit
 * @param refused updates that were refused for good and whose step was passed
 * @param skipped steps that were passed without an update
 * @param turnedAway steps from {@code next} on whose updates were refused for good
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
