package io.vertigrad.benchmarks.compute;

import io.vertigrad.benchmarks.process.ChildJvm;
import io.vertigrad.benchmarks.report.Benchmark;
import io.vertigrad.benchmarks.report.BenchmarkReport;
import io.vertigrad.benchmarks.report.BenchmarkRow;
import io.vertigrad.benchmarks.report.Contest;
import io.vertigrad.benchmarks.report.Repetitions;
import io.vertx.core.json.JsonObject;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Measures the milliseconds of one gradient step (forward and backward, no update) on one thread.
 * It compares stock DL4J with the same network in each of Vertigrad's engines.
 *
 * <p>Each runs in its own JVM, because the settings of one apply to a whole process. They are
 * measured in turn.
 */
public final class ComputeBenchmark implements Benchmark {

  private static final long LIMIT_SECONDS = 600;
  private static final List<String> OPTIONS =
      List.of(
          "-Xmx2g",
          "-Dorg.bytedeco.javacpp.maxphysicalbytes=0",
          "-Dlogback.configurationFile=logback-benchmarks.xml");
  private static final Map<String, String> ONE_THREAD = Map.of("OMP_NUM_THREADS", "1");
  private static final Map<GradientCase, String> AIMS = new LinkedHashMap<>();

  static {
    AIMS.put(new GradientCase("convnet", 128), "2.5 ms");
    AIMS.put(new GradientCase("mlp", 64), "1.4 ms");
    AIMS.put(new GradientCase("resnet20", 128), "350 ms");
  }

  @Override
  public String name() {
    return "compute";
  }

  @Override
  public void run(BenchmarkReport report, boolean quick) throws Exception {
    for (Map.Entry<GradientCase, String> entry : AIMS.entrySet()) {
      GradientCase measured = entry.getKey();
      if (quick && measured.isSlow()) {
        report.remark(measured + " takes minutes and was left out of the quick run");
      } else {
        add(report, measured, entry.getValue(), quick);
      }
    }
    report.remark("Median step of each repetition; the ratio is ours over stock, small is good.");
  }

  /**
   * Measures a gradient step in a JVM of its own.
   *
   * @param engine {@code dl4j}, {@code pytorch}, or {@code stock} for DL4J as it comes
   * @return the median milliseconds
   */
  public static double millis(String model, int batch, String engine, boolean quick)
      throws Exception {
    GradientCase measured = new GradientCase(model, batch);
    String name = engine + " " + measured;
    try (ChildJvm child = start(name)) {
      return new Contest()
          .enter(name, () -> medianMillis(child, measured, engine, quick ? 1 : 3))
          .run(quick ? 1 : 3)
          .get(name)
          .median();
    }
  }

  private static void add(BenchmarkReport report, GradientCase measured, String aim, boolean quick)
      throws Exception {
    double seconds = quick ? 1 : 3;
    try (ChildJvm stock = start("stock " + measured);
        ChildJvm dl4j = start("dl4j " + measured);
        ChildJvm pytorch = start("pytorch " + measured)) {
      Map<String, Repetitions> millis =
          new Contest()
              .enter("stock", () -> medianMillis(stock, measured, "stock", seconds))
              .enter("dl4j", () -> medianMillis(dl4j, measured, "dl4j", seconds))
              .enter("pytorch", () -> medianMillis(pytorch, measured, "pytorch", seconds))
              .run(quick ? 2 : 7);
      BenchmarkRow limit = BenchmarkRow.of(measured + ", stock DL4J", "ms", millis.get("stock"));
      report.add(limit);
      report.add(
          BenchmarkRow.of(measured + ", dl4j", "ms", millis.get("dl4j")).over(limit).withAim(aim));
      report.add(BenchmarkRow.of(measured + ", pytorch", "ms", millis.get("pytorch")).over(limit));
    }
  }

  private static ChildJvm start(String name) throws Exception {
    return ChildJvm.start(name, GradientStepTimer.class, OPTIONS, ONE_THREAD);
  }

  private static double medianMillis(
      ChildJvm child, GradientCase measured, String engine, double seconds)
      throws InterruptedException {
    JsonObject question =
        new JsonObject()
            .put("model", measured.model())
            .put("batch", measured.batch())
            .put("engine", engine)
            .put("seconds", seconds);
    return child.ask(question, LIMIT_SECONDS).getDouble("medianMillis");
  }
}
