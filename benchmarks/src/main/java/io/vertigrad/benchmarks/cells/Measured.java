package io.vertigrad.benchmarks.cells;

import io.vertx.core.json.JsonObject;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * One measurement.
 *
 * @param turn in which it was taken, from 1
 * @param cell the cell's name, or a peer's key
 * @param peer empty unless another program was measured: its version of PyTorch, or an empty text
 *     where only one is compared
 * @param at when it began, in UTC
 * @param load the machine's load average before it
 * @param figures empty when it failed
 * @param failure why there are no figures
 */
record Measured(
    int turn,
    String cell,
    Optional<String> peer,
    String at,
    double load,
    Map<Figure, Double> figures,
    Optional<String> failure) {

  static Measured fromJson(JsonObject json) {
    Map<Figure, Double> figures = new LinkedHashMap<>();
    json.getJsonObject("figures", new JsonObject())
        .forEach(
            entry ->
                figures.put(
                    Figure.of(entry.getKey()).orElseThrow(),
                    ((Number) entry.getValue()).doubleValue()));
    return new Measured(
        json.getInteger("turn"),
        json.getString("cell"),
        json.getBoolean("peer") ? Optional.of(json.getString("pytorch", "")) : Optional.empty(),
        json.getString("at"),
        json.getDouble("load"),
        figures,
        Optional.ofNullable(json.getString("failed")));
  }

  JsonObject toJson() {
    JsonObject json =
        new JsonObject()
            .put("turn", turn)
            .put("cell", cell)
            .put("peer", peer.isPresent())
            .put("at", at)
            .put("load", load);
    peer.filter(version -> !version.isEmpty()).ifPresent(version -> json.put("pytorch", version));
    failure.ifPresent(why -> json.put("failed", why));
    if (failure.isEmpty()) {
      JsonObject values = new JsonObject();
      figures.forEach((figure, value) -> values.put(figure.key(), value));
      json.put("figures", values);
    }
    return json;
  }

  /** Returns whether this is a measurement of the same thing in the same turn. */
  boolean repeats(Measured other) {
    return turn == other.turn && cell.equals(other.cell) && peer.equals(other.peer);
  }
}
