package io.vertigrad.internal.checkpoint;

import io.vertigrad.codecs.LedgerEntry;
import io.vertigrad.codecs.UpdateCounts;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;

/**
 * The outcomes of all updates of one partition, at the version of their checkpoint. A server that
 * restores the checkpoint restores these counts.
 *
 * @param from version of the partition before the first counted update
 * @param entries the outcomes by rank
 */
public record LedgerSnapshot(long from, List<LedgerEntry> entries) {

  /** No counts. */
  public static final LedgerSnapshot EMPTY = new LedgerSnapshot(0, List.of());

  public LedgerSnapshot {
    entries = List.copyOf(entries);
  }

  JsonObject toJson() {
    JsonArray ranks = new JsonArray();
    entries.forEach(entry -> ranks.add(toJson(entry)));
    return new JsonObject().put("from", from).put("ranks", ranks);
  }

  private static JsonArray toJson(LedgerEntry entry) {
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

  /** Reads the result of {@link #toJson}. Returns an empty ledger for null (a file without one). */
  static LedgerSnapshot fromJson(JsonObject json) {
    return json == null
        ? EMPTY
        : new LedgerSnapshot(
            json.getLong("from"),
            json.getJsonArray("ranks").stream()
                .map(JsonArray.class::cast)
                .map(LedgerSnapshot::entry)
                .toList());
  }

  private static LedgerEntry entry(JsonArray json) {
    return new LedgerEntry(
        json.getInteger(0),
        json.getInteger(1),
        json.getLong(2),
        new UpdateCounts(
            json.getLong(3), json.getLong(4), json.getLong(5), json.getLong(6), json.getLong(7)),
        json.getJsonArray(8).stream().map(step -> ((Number) step).longValue()).toList());
  }
}
