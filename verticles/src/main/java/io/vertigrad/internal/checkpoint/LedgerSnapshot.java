package io.vertigrad.internal.checkpoint;

import io.vertigrad.codecs.UpdateCounts;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Objects;

/**
 * The outcomes of all updates of one partition, at the version of their checkpoint. A server that
 * restores the checkpoint restores these counts.
 *
 * @param from version of the partition before the first counted update
 * @param entries the outcomes by rank
 */
public record LedgerSnapshot(long from, List<Entry> entries) {

  /** No counts. */
  public static final LedgerSnapshot EMPTY = new LedgerSnapshot(0, List.of());

  public LedgerSnapshot {
    entries = List.copyOf(entries);
  }

  /**
   * The last step of one worker that one partition has processed, and the outcomes of its updates.
   *
   * @param rank rank of the worker, from 0
   * @param incarnation of the worker that sent the last update, from 0; steps of a rank beyond the
   *     job's configured ranks are counted from 0 for each incarnation
   * @param next the first step that was not processed; all before are, so a repeated one is known
   * @param counts outcomes of the updates whose step is below {@code next}
   * @param refusedSteps steps from {@code next} on whose updates were refused for good
   */
  public record Entry(
      int rank, int incarnation, long next, UpdateCounts counts, List<Long> refusedSteps) {

    /** Largest number of steps in {@code refusedSteps}. */
    public static final int MOST_REFUSED_STEPS = 64;

    public Entry {
      requireNotNegative("worker", rank);
      requireNotNegative("incarnation", incarnation);
      requireNotNegative("next", next);
      Objects.requireNonNull(counts, "counts");
      refusedSteps = List.copyOf(refusedSteps);
      if (refusedSteps.size() > MOST_REFUSED_STEPS) {
        throw new IllegalArgumentException(
            "refusedSteps has %s entries, expected at most %s"
                .formatted(refusedSteps.size(), MOST_REFUSED_STEPS));
      }
      refusedSteps.forEach(step -> requireNotNegative("refusedSteps", step));
    }

    private static void requireNotNegative(String field, long found) {
      if (found < 0) {
        throw new IllegalArgumentException("%s is %s, expected at least 0".formatted(field, found));
      }
    }
  }

  JsonObject toJson() {
    JsonArray ranks = new JsonArray();
    entries.forEach(entry -> ranks.add(toJson(entry)));
    return new JsonObject().put("from", from).put("ranks", ranks);
  }

  private static JsonArray toJson(Entry entry) {
    UpdateCounts counts = entry.counts();
    return JsonArray.of(
        entry.rank(),
        entry.incarnation(),
        entry.next(),
        counts.applied(),
        counts.late(),
        counts.tooStale(),
        counts.refused(),
        counts.skipped(),
        new JsonArray(entry.refusedSteps()));
  }

  /** Reads the result of {@link #toJson}. */
  static LedgerSnapshot fromJson(JsonObject json) {
    return new LedgerSnapshot(
        json.getLong("from"),
        json.getJsonArray("ranks").stream()
            .map(JsonArray.class::cast)
            .map(LedgerSnapshot::entry)
            .toList());
  }

  private static Entry entry(JsonArray json) {
    return new Entry(
        json.getInteger(0),
        json.getInteger(1),
        json.getLong(2),
        new UpdateCounts(
            json.getLong(3), json.getLong(4), json.getLong(5), json.getLong(6), json.getLong(7)),
        json.getJsonArray(8).stream().map(step -> ((Number) step).longValue()).toList());
  }
}
