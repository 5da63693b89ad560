package io.vertigrad.internal.checkpoint;

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
    entries.forEach(entry -> ranks.add(entry.toJson()));
    return new JsonObject().put("from", from).put("ranks", ranks);
  }

  /** Reads the result of {@link #toJson}. Returns an empty ledger for null (a file without one). */
  static LedgerSnapshot fromJson(JsonObject json) {
    return json == null
        ? EMPTY
        : new LedgerSnapshot(
            json.getLong("from"),
            json.getJsonArray("ranks").stream()
                .map(JsonArray.class::cast)
                .map(LedgerEntry::fromJson)
                .toList());
  }
}
