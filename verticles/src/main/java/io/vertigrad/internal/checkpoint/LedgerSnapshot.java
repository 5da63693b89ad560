package io.vertigrad.internal.checkpoint;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;

/**
 * What became of every update of one partition, at the version of the checkpoint it is part of: a
 * server that goes back to the checkpoint goes back to these counts.
 *
 * @param from version of the partition before the first update that is counted
 * @param entries by rank
 */
public record LedgerSnapshot(long from, List<LedgerEntry> entries) {

  /** Nothing counted yet. */
  public static final LedgerSnapshot EMPTY = new LedgerSnapshot(0, List.of());

  public LedgerSnapshot {
    entries = List.copyOf(entries);
  }

  JsonObject toJson() {
    JsonArray ranks = new JsonArray();
    entries.forEach(entry -> ranks.add(entry.toJson()));
    return new JsonObject().put("from", from).put("ranks", ranks);
  }

  /** Reads what {@link #toJson} wrote; null, of a file without a ledger, is an empty one. */
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
