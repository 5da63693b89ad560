package io.vertigrad.benchmarks.scaling;

import io.vertigrad.benchmarks.process.ChildJvm;
import io.vertigrad.benchmarks.report.Benchmark;
import io.vertigrad.benchmarks.report.BenchmarkReport;
import io.vertigrad.benchmarks.report.BenchmarkRow;
import io.vertigrad.benchmarks.report.Contest;
import io.vertigrad.benchmarks.report.Repetitions;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Samples per second of one and two workers over one worker's loop without any exchange. */
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
    report.remark(
        "Every run starts cold and trains the same number of samples, start-up not counted.");
  }

  private static void add(BenchmarkReport report, String model, long samples, boolean quick)
      throws Exception {
    List<TrainingCase> cases = cases(model, samples);
    Contest contest = new Contest();
    contest.enter("local", () -> localLoop(cases.get(0)));
    cases.forEach(
        one -> contest.enter(one.toString(), () -> TrainCommandLine.samplesPerSecond(one)));
    Map<String, Repetitions> measured = contest.runCold(quick ? 1 : 3);
    BenchmarkRow local =
        BenchmarkRow.of(model + ", local loop", "samples/s", measured.get("local"));
    report.add(local);
    for (TrainingCase one : cases) {
      BenchmarkRow row =
          BenchmarkRow.of(one.toString(), "samples/s", measured.get(one.toString())).over(local);
      report.add(one.workers() == 2 ? row.withAim("ratio 1.7") : row);
    }
  }

  private static List<TrainingCase> cases(String model, long samples) {
    List<TrainingCase> cases = new ArrayList<>();
    for (boolean processes : new boolean[] {false, true}) {
      cases.add(new TrainingCase(model, "sync", 1, processes, samples));
      cases.add(new TrainingCase(model, "sync", 2, processes, samples));
      cases.add(new TrainingCase(model, "async", 2, processes, samples));
    }
    return cases;
  }

  private static double localLoop(TrainingCase training) throws Exception {
    try (ChildJvm loop =
        ChildJvm.start("local loop", LocalLoop.class, ChildJvm.productOptions("2g"), ENVIRONMENT)) {
      JsonObject question =
          new JsonObject()
              .put("job", training.job())
              .put("steps", (int) (training.samples() / TrainingCase.BATCH));
      return loop.ask(question, LIMIT_SECONDS).getDouble("samplesPerSecond");
    }
  }
}
