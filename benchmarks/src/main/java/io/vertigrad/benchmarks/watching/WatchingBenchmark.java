package io.vertigrad.benchmarks.watching;

import io.vertigrad.benchmarks.process.ChildJvm;
import io.vertigrad.benchmarks.process.Processors;
import io.vertigrad.benchmarks.report.Benchmark;
import io.vertigrad.benchmarks.report.BenchmarkReport;
import io.vertigrad.benchmarks.report.BenchmarkRow;
import io.vertigrad.benchmarks.report.Contest;
import io.vertigrad.benchmarks.report.Repetitions;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * Measures samples per second, processor time and heap of one continuing run. The turns alternate:
 * alone; watched by 200 sockets that read and one that never does; asked by 250 sockets for 5
 * snapshots a second each.
 *
 * <p>The watchers run on their own processor if there is one, because the run does not pay for what
 * they do with the messages.
 */
public final class WatchingBenchmark implements Benchmark {

  private static final int SOCKETS = 200;
  private static final int ASKING = 250;
  private static final int ASKS_PER_SECOND = 5;
  private static final long LIMIT_SECONDS = 180;
  private static final long SETTLING_MILLIS = 6_000;
  private static final boolean APART = Processors.canBeSplit();
  private static final Map<String, String> ENVIRONMENT =
      Map.of("OMP_NUM_THREADS", "1", "OMP_WAIT_POLICY", "PASSIVE");

  private final List<JsonObject> alone = new ArrayList<>();
  private final List<JsonObject> watched = new ArrayList<>();
  private final List<JsonObject> asked = new ArrayList<>();
  private long messages;

  @Override
  public String name() {
    return "watching";
  }

  @Override
  public void run(BenchmarkReport report, boolean quick) throws Exception {
    for (String model : List.of("convnet", "mlp")) {
      measure(report, model, quick ? 3 : 2, quick ? 2 : 60);
    }
    report.remark(
        "%s sockets that read and one that does not, in a process of their own, %s."
            .formatted(
                SOCKETS,
                APART
                    ? "on a processor of its own that the run cannot use"
                    : "on the run's processors: what it uses is inside"));
    report.remark(
        "asked: %s sockets that ask for %s snapshots a second each, and do not listen."
            .formatted(ASKING, ASKS_PER_SECOND));
    report.remark(String.format(Locale.ROOT, "They received %,d messages in all.", messages));
  }

  private void measure(BenchmarkReport report, String model, int seconds, int turns)
      throws Exception {
    alone.clear();
    watched.clear();
    asked.clear();
    Processors theRuns = APART ? Processors.first() : Processors.any();
    Processors theOthers = APART ? Processors.last() : Processors.any();
    try (ChildJvm run = child("the run", WatchedRun.class, "1g", theRuns);
        ChildJvm watchers = child("the watchers", Watchers.class, "512m", theOthers)) {
      JsonObject start = new JsonObject().put("task", WatchedRun.START).put("model", model);
      JsonObject page = run.ask(start, LIMIT_SECONDS);
      Contest contest =
          new Contest()
              .enter("alone", () -> window(run, seconds, alone))
              .enter("watched", () -> watched(run, watchers, page, seconds, SOCKETS, 0))
              .enter("asked", () -> watched(run, watchers, page, seconds, ASKING, ASKS_PER_SECOND));
      contest.run(turns);
      add(report, model);
    }
  }

  private double watched(
      ChildJvm run, ChildJvm watchers, JsonObject page, int seconds, int sockets, int asksPerSecond)
      throws InterruptedException {
    JsonObject come = page.copy().put("task", Watchers.COME).put("sockets", sockets);
    watchers.ask(come.put("asksPerSecond", asksPerSecond), LIMIT_SECONDS);
    // The first requests of a socket are answered, however fast they come.
    Thread.sleep(SETTLING_MILLIS);
    double rate = window(run, seconds, asksPerSecond == 0 ? watched : asked);
    JsonObject left = watchers.ask(new JsonObject().put("task", Watchers.GO), LIMIT_SECONDS);
    messages += left.getLong("messages");
    return rate;
  }

  private static double window(ChildJvm run, int seconds, List<JsonObject> kept)
      throws InterruptedException {
    JsonObject question = new JsonObject().put("task", WatchedRun.MEASURE).put("seconds", seconds);
    JsonObject found = run.ask(question, LIMIT_SECONDS);
    kept.add(found);
    return found.getDouble("samplesPerSecond");
  }

  private void add(BenchmarkReport report, String model) {
    compare(report, model, "samples/s", "samplesPerSecond", 1, "ratio 1");
    overNeighbours(report, model + ", samples/s", "samplesPerSecond");
    compare(report, model + ", processor time", "us/sample", "cpuSecondsPerSample", 1e6, "ratio 1");
    overNeighbours(report, model + ", processor time", "cpuSecondsPerSample");
    compare(report, model + ", heap", "MiB", "heapBytes", 1 / 0x1p20, "flat");
  }

  /**
   * Adds the ratio of each watched or asked turn to the mean of the turns alone before and after
   * it. A machine that slows down or speeds up then favours neither.
   */
  private void overNeighbours(BenchmarkReport report, String what, String key) {
    overNeighbours(report, what, "watched", key, watched);
    overNeighbours(report, what, "asked", key, asked);
  }

  private void overNeighbours(
      BenchmarkReport report, String what, String turn, String key, List<JsonObject> found) {
    double[] before = measured(alone, key, 1).values();
    double[] after = measured(found, key, 1).values();
    List<Double> turns =
        IntStream.range(0, before.length - 1)
            .mapToObj(i -> after[i] / ((before[i] + before[i + 1]) / 2))
            .toList();
    Repetitions ratios = Repetitions.of(turns);
    Repetitions interval = ratios.medianInterval();
    report.add(BenchmarkRow.of(what + ", " + turn + " over alone, by turns", "ratio", ratios));
    report.remark(
        String.format(
            Locale.ROOT,
            "%s: the median of %s over alone by turns is %.3f, and lies within %.3f and %.3f with"
                + " 95 %% certainty.",
            what,
            turn,
            ratios.median(),
            interval.min(),
            interval.max()));
  }

  private void compare(
      BenchmarkReport report, String what, String unit, String key, double scale, String aim) {
    BenchmarkRow reference = BenchmarkRow.of(what + ", alone", unit, measured(alone, key, scale));
    report.add(reference);
    report.add(
        BenchmarkRow.of(what + ", watched", unit, measured(watched, key, scale))
            .over(reference)
            .withAim(aim));
    report.add(
        BenchmarkRow.of(what + ", asked", unit, measured(asked, key, scale))
            .over(reference)
            .withAim(aim));
  }

  /** Returns the figures without the warm-up turn. */
  private static Repetitions measured(List<JsonObject> found, String key, double scale) {
    return Repetitions.of(found.stream().skip(1).map(one -> scale * one.getDouble(key)).toList());
  }

  private static ChildJvm child(String name, Class<?> main, String heap, Processors processors)
      throws IOException {
    return ChildJvm.start(name, main, ChildJvm.productOptions(heap), ENVIRONMENT, processors);
  }
}
