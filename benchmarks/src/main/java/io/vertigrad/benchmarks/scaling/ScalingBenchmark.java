package io.vertigrad.benchmarks.scaling;

import io.vertigrad.benchmarks.process.ChildJvm;
import io.vertigrad.benchmarks.process.TrainCommandLine;
import io.vertigrad.benchmarks.report.Benchmark;
import io.vertigrad.benchmarks.report.BenchmarkReport;
import io.vertigrad.benchmarks.report.BenchmarkRow;
import io.vertigrad.benchmarks.report.Contest;
import io.vertigrad.benchmarks.report.Repetitions;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Measures the samples per second of one, two and four workers, as a ratio over a local loop
 * without any exchange.
 */
public final class ScalingBenchmark implements Benchmark {

  private static final long LIMIT_SECONDS = 600;
  private static final Map<String, String> ENVIRONMENT =
      Map.of("OMP_NUM_THREADS", "1", "OMP_WAIT_POLICY", "PASSIVE");

  @Override
  public String name() {
    return "scaling";
  }

  @Override
  public void run(BenchmarkReport report, boolean quick) throws Exception {
    add(report, "convnet", quick ? 100_000 : 600_000, quick);
    add(report, "mlp", quick ? 100_000 : 600_000, quick);
    add(report, "resnet20", quick ? 3_072 : 30_720, quick);
    report.remark(
        "Every run starts cold and trains the same number of samples, start-up not counted.");
  }

  private static void add(BenchmarkReport report, String model, long samples, boolean quick)
      throws Exception {
    List<TrainingCase> cases = cases(model, samples);
    Map<String, List<Double>> hidden = new HashMap<>();
    Contest contest = new Contest();
    contest.enter("local", () -> localLoops(cases.get(0), 1));
    contest.enter("two", () -> localLoops(cases.get(0), 2));
    cases.forEach(one -> contest.enter(one.toString(), () -> train(one, hidden)));
    Map<String, Repetitions> measured = contest.runCold(quick ? 1 : 3);
    BenchmarkRow local =
        BenchmarkRow.of(model + ", local loop", "samples/s", measured.get("local"));
    report.add(local);
    report.add(
        BenchmarkRow.of(model + ", two local loops at once", "samples/s", measured.get("two"))
            .over(local));
    for (TrainingCase one : cases) {
      BenchmarkRow row =
          BenchmarkRow.of(one.toString(), "samples/s", measured.get(one.toString())).over(local);
      report.add(one.workers() == 2 ? row.withAim("ratio 1.7") : row);
      if (hidden.containsKey(one.toString())) {
        Repetitions shares = Repetitions.of(hidden.get(one.toString()));
        report.add(BenchmarkRow.of(one + ", exchange hidden", "%", shares));
      }
    }
  }

  /** Returns the runs of a model: one, two and four workers, in one JVM and in processes. */
  public static List<TrainingCase> cases(String model, long samples) {
    List<TrainingCase> cases = new ArrayList<>();
    for (boolean processes : new boolean[] {false, true}) {
      cases.add(new TrainingCase(model, "sync", 1, processes, samples));
      for (String strategy : List.of("sync", "async", "dpsgd", "allreduce")) {
        cases.add(new TrainingCase(model, strategy, 2, processes, samples));
        cases.add(new TrainingCase(model, strategy, 4, processes, samples));
      }
    }
    return cases;
  }

  /**
   * Returns the samples per second, and adds the share of the exchange that overlapped with
   * gradients to {@code hidden}.
   */
  private static double train(TrainingCase one, Map<String, List<Double>> hidden)
      throws IOException, InterruptedException {
    TrainCommandLine.Trained run = TrainCommandLine.train(one.job(), one.processes());
    JsonObject replicas = run.summary().getJsonObject("replicas");
    if (replicas != null) {
      hidden
          .computeIfAbsent(one.toString(), name -> new ArrayList<>())
          .add(100 * replicas.getDouble("hiddenShare"));
    }
    return run.samplesPerSecond();
  }

  /** Returns the samples per second of parallel loops that share nothing but the machine. */
  public static double localLoops(TrainingCase training, int count) throws Exception {
    JsonObject question =
        new JsonObject()
            .put("job", training.job())
            .put("steps", (int) (training.samples() / TrainingCase.BATCH));
    List<ChildJvm> loops = new ArrayList<>();
    try {
      for (int i = 0; i < count; i++) {
        loops.add(
            ChildJvm.start(
                "local loop " + i, LocalLoop.class, ChildJvm.productOptions("2g"), ENVIRONMENT));
      }
      loops.forEach(loop -> loop.send(question));
      double all = 0;
      for (ChildJvm loop : loops) {
        all += loop.answer(LIMIT_SECONDS).getDouble("samplesPerSecond");
      }
      return all;
    } finally {
      loops.forEach(ChildJvm::close);
    }
  }
}
