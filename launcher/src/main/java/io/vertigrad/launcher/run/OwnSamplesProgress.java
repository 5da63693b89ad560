package io.vertigrad.launcher.run;

import io.vertigrad.events.TrainingEvent.SamplesCounted;
import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertigrad.observability.UpdateOutliers;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** What each worker has if workers have samples of their own, and how the model does on these. */
final class OwnSamplesProgress {

  /** What the name of a worker's figure begins with. */
  private static final String OWN = "own.";

  private final Map<Integer, SamplesCounted> samples = new TreeMap<>();
  private final Map<String, Map<Integer, Double>> figures = new TreeMap<>();
  private final List<String> exchanged = new ArrayList<>();

  /** Processes the samples of a worker that begins. */
  void apply(SamplesCounted counted) {
    SamplesCounted before = samples.put(counted.rank(), counted);
    if (before != null && !isAlike(before, counted)) {
      exchanged.add(
          String.format(
              Locale.ROOT,
              "worker %d has other samples than before (%,d, before %,d): another node has taken"
                  + " its rank, and what the job remembers of that rank",
              counted.rank(),
              counted.samples(),
              before.samples()));
    }
  }

  private static boolean isAlike(SamplesCounted before, SamplesCounted now) {
    return before.samples() == now.samples() && before.labels().equals(now.labels());
  }

  /** Returns sentences about ranks whose samples have changed, each once. */
  List<String> takeExchanged() {
    List<String> all = List.copyOf(exchanged);
    exchanged.clear();
    return all;
  }

  /** Processes a figure of a worker; others have no effect. */
  void apply(ScalarReported figure) {
    if (figure.name().startsWith(OWN)) {
      String name = figure.name().substring(OWN.length());
      UpdateOutliers.rankOf(figure)
          .ifPresent(
              rank ->
                  figures
                      .computeIfAbsent(name, first -> new TreeMap<>())
                      .put(rank, figure.value()));
    }
  }

  /** Returns true when workers have samples of their own. */
  boolean present() {
    return !samples.isEmpty();
  }

  /**
   * Returns the values for {@code summary.json}: samples, labels and figures of each worker, and
   * the lowest, the median and the highest value of each figure.
   */
  JsonObject toJson() {
    JsonArray workers = new JsonArray();
    samples.forEach(
        (rank, counted) -> {
          JsonObject one = JsonObject.of("rank", rank, "samples", counted.samples());
          if (!counted.labels().isEmpty()) {
            one.put("labels", new JsonArray(new ArrayList<>(counted.labels())));
          }
          figures.forEach((name, byRank) -> put(one, name, byRank.getOrDefault(rank, Double.NaN)));
          workers.add(one);
        });
    JsonObject json = JsonObject.of("workers", workers);
    figures.forEach(
        (name, byRank) -> {
          double[] sorted =
              byRank.values().stream()
                  .filter(Double::isFinite)
                  .mapToDouble(Double::doubleValue)
                  .sorted()
                  .toArray();
          if (sorted.length > 0) {
            double low = sorted[(sorted.length - 1) / 2];
            double high = sorted[sorted.length / 2];
            json.put(
                name,
                JsonObject.of("lowest", sorted[0])
                    .put("median", (low + high) / 2)
                    .put("highest", sorted[sorted.length - 1]));
          }
        });
    return json;
  }

  private static void put(JsonObject json, String key, double value) {
    if (Double.isFinite(value)) {
      json.put(key, value);
    }
  }
}
