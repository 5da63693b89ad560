package io.vertigrad.benchmarks.gpu;

import io.vertigrad.benchmarks.gpu.CheckRow.Figure;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The throughput of a whole job, from its start command to the files it writes: it trains for a
 * given time, and the first seconds are left out.
 */
final class JobRate {

  private static final double MINUTE = 60;

  private JobRate() {}

  /**
   * Trains a job until its time is over, and returns its samples per second.
   *
   * @param job a job file without {@code stop}
   * @param warmUpSeconds time after the first progress that is left out
   * @param seconds time that is measured
   */
  static Figure measure(
      Sitting sitting, String label, JsonObject job, double warmUpSeconds, double seconds)
      throws IOException, InterruptedException {
    JsonObject limited =
        job.copy().put("stop", new JsonObject().put("minutes", (warmUpSeconds + seconds) / MINUTE));
    Path file = sitting.options().out().resolve("jobs").resolve(label + ".json");
    Files.createDirectories(file.getParent());
    Files.writeString(file, limited.encodePrettily());
    Path run = sitting.train(label, List.of(file.toString()), Map.of());
    JsonObject summary = Sitting.summary(run);
    double busy = summary.getDouble("secondsComputing") + summary.getDouble("secondsExchanging");
    return new Figure(
        samplesPerSecond(Sitting.events(run), warmUpSeconds),
        String.format(
            Locale.ROOT,
            "%.0f %% of the time exchanging, %d steps",
            busy > 0 ? 100 * summary.getDouble("secondsExchanging") / busy : 0,
            summary.getLong("version")));
  }

  /**
   * Returns the samples per second of all workers between the first and the last report after the
   * warm-up.
   *
   * @param events the lines of {@code events.jsonl}
   */
  static double samplesPerSecond(List<JsonObject> events, double warmUpSeconds) {
    Map<Integer, List<JsonObject>> byRank =
        events.stream()
            .filter(event -> event.getString("type").equals("workerProgress"))
            .collect(
                Collectors.groupingBy(
                    event -> event.getInteger("rank"), TreeMap::new, Collectors.toList()));
    if (byRank.isEmpty()) {
      throw new IllegalStateException("found no report of a worker, expected some");
    }
    return byRank.values().stream().mapToDouble(rank -> rate(rank, warmUpSeconds)).sum();
  }

  private static double rate(List<JsonObject> reports, double warmUpSeconds) {
    long start = reports.get(0).getLong("timeMillis");
    List<JsonObject> later =
        reports.stream()
            .filter(report -> report.getLong("timeMillis") - start >= 1e3 * warmUpSeconds)
            .toList();
    if (later.size() < 2) {
      throw new IllegalStateException(
          String.format(
              Locale.ROOT,
              "found %d reports of worker %d after the first %.0f s, expected 2 or more: a step takes too long",
              later.size(),
              reports.get(0).getInteger("rank"),
              warmUpSeconds));
    }
    JsonObject first = later.get(0);
    JsonObject last = later.get(later.size() - 1);
    double seconds = (last.getLong("timeMillis") - first.getLong("timeMillis")) / 1e3;
    return (last.getLong("samples") - first.getLong("samples")) / seconds;
  }
}
