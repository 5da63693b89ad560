package io.vertigrad.internal.checkpoint;

import io.vertigrad.internal.exchange.DuplicateWindow;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;

/**
 * The table of contents at the end of a checkpoint: everything but the arrays, and their positions.
 *
 * @param job hash of the job's name
 * @param shard the shard
 * @param incarnation incarnation of the server that wrote the file
 * @param layout hash of the parameter layout
 * @param entries one per partition, by index
 */
record Manifest(long job, int shard, int incarnation, long layout, List<Entry> entries) {

  /** One partition; its arrays are blocks of the file. */
  record Entry(
      int index,
      int first,
      long version,
      long samples,
      Block parameters,
      Block state,
      List<DuplicateWindow.Entry> window,
      LedgerSnapshot ledger) {

    static Entry of(PartitionHead part, Block parameters, Block state) {
      return new Entry(
          part.index(),
          part.first(),
          part.version(),
          part.samples(),
          parameters,
          state,
          part.window(),
          part.ledger());
    }

    PartitionSnapshot with(float[] parameters, float[] state) {
      return new PartitionSnapshot(
          index, first, version, samples, parameters, state, window, ledger);
    }
  }

  JsonObject toJson() {
    JsonArray partitions = new JsonArray();
    entries.forEach(entry -> partitions.add(json(entry)));
    return new JsonObject()
        .put("format", CheckpointFile.FORMAT)
        .put("job", Long.toHexString(job))
        .put("shard", shard)
        .put("incarnation", incarnation)
        .put("layout", Long.toHexString(layout))
        .put("partitions", partitions);
  }

  static Manifest fromJson(JsonObject json) {
    return new Manifest(
        Long.parseUnsignedLong(json.getString("job"), 16),
        json.getInteger("shard"),
        json.getInteger("incarnation"),
        Long.parseUnsignedLong(json.getString("layout"), 16),
        json.getJsonArray("partitions").stream()
            .map(JsonObject.class::cast)
            .map(Manifest::entry)
            .toList());
  }

  private static JsonObject json(Entry entry) {
    JsonArray window = new JsonArray();
    entry.window().forEach(w -> window.add(JsonArray.of(w.worker(), w.incarnation(), w.step())));
    return new JsonObject()
        .put("index", entry.index())
        .put("first", entry.first())
        .put("version", entry.version())
        .put("samples", entry.samples())
        .put("parameters", entry.parameters().toJson())
        .put("state", entry.state().toJson())
        .put("window", window)
        .put("ledger", entry.ledger().toJson());
  }

  private static Entry entry(JsonObject json) {
    List<DuplicateWindow.Entry> window =
        json.getJsonArray("window").stream()
            .map(JsonArray.class::cast)
            .map(w -> new DuplicateWindow.Entry(w.getInteger(0), w.getInteger(1), w.getLong(2)))
            .toList();
    return new Entry(
        json.getInteger("index"),
        json.getInteger("first"),
        json.getLong("version"),
        json.getLong("samples"),
        Block.fromJson(json.getJsonObject("parameters")),
        Block.fromJson(json.getJsonObject("state")),
        window,
        LedgerSnapshot.fromJson(json.getJsonObject("ledger")));
  }
}
