package io.vertigrad.benchmarks.exchange;

import io.vertigrad.benchmarks.process.ChildJvm;
import io.vertigrad.benchmarks.report.Benchmark;
import io.vertigrad.benchmarks.report.BenchmarkReport;
import io.vertigrad.benchmarks.report.BenchmarkRow;
import io.vertigrad.benchmarks.report.Repetitions;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Measures the heap of a server that is alone in its process, with a growing number of workers; the
 * heap should stay the same.
 *
 * <p>All workers run in one other process and share one model's memory, but not the data that they
 * send.
 */
public final class MemoryBenchmark implements Benchmark {

  private static final int PARAMETERS = 25_000_000;
  private static final List<Integer> WORKERS = List.of(1, 8, 32);
  private static final List<String> KEYS = List.of("heapBytes", "mostHeapBytes", "directBytes");
  private static final List<String> NAMES =
      List.of("heap at the end", "largest heap after a collection", "direct memory at the end");

  @Override
  public String name() {
    return "memory";
  }

  @Override
  public void run(BenchmarkReport report, boolean quick) throws Exception {
    Map<String, BenchmarkRow> ofOneWorker = new HashMap<>();
    for (int workers : WORKERS) {
      List<JsonObject> measured = measure(workers, quick ? 1 : 3);
      for (int i = 0; i < KEYS.size(); i++) {
        BenchmarkRow row = row(measured, KEYS.get(i), NAMES.get(i), workers);
        BenchmarkRow one = ofOneWorker.putIfAbsent(KEYS.get(i), row);
        report.add(one == null ? row : row.over(one).withAim("flat"));
      }
    }
    report.remark(
        String.format(
            Locale.ROOT,
            "%,d parameters, sync; the parameters themselves are %,d MiB.",
            PARAMETERS,
            4L * PARAMETERS >> 20));
  }

  private static BenchmarkRow row(List<JsonObject> measured, String key, String name, int workers) {
    List<Double> mebibytes = measured.stream().map(json -> json.getLong(key) / 0x1p20).toList();
    return BenchmarkRow.of(
        "%s, %s workers".formatted(name, workers), "MiB", Repetitions.of(mebibytes));
  }

  private static List<JsonObject> measure(int workers, int repetitions) throws Exception {
    List<JsonObject> reports = new ArrayList<>();
    for (int repetition = 0; repetition < repetitions; repetition++) {
      try (ExchangeNodes nodes = ExchangeNodes.sharing(ChildJvm.settledOptions("1g"))) {
        String job = "memory-%s-%s".formatted(workers, repetition);
        nodes.bus(new ExchangeCase(job, "sync", PARAMETERS, workers, 2, 1));
        reports.add(nodes.serverMemory());
      }
    }
    return reports;
  }
}
